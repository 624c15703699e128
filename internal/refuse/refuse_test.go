package refuse

import (
	"errors"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/internal/must"
)

// A refusal becomes an error with all that it is within, and a panic of another kind stays one.
func TestRefuse(t *testing.T) {
	cause := errors.New("cause")
	v, err := Result(func() int {
		Within("part", func() { must.Get(1, cause) })
		return 1
	})
	if v != 0 || !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "part: ") {
		t.Errorf("%d, %v", v, err)
	}
	if v, err := Result(func() int { return must.Get(2, nil) }); v != 2 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("an index out of range became an error")
		}
	}()
	var list []int
	_ = Caught(func() { list[len(list)]++ })
}
