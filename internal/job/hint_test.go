package job

import (
	"errors"
	"testing"
)

func TestHints(t *testing.T) {
	base := errors.New("base")
	err := WithHint(base, "advice")
	if Hint(err) != "advice" || !errors.Is(err, base) || err.Error() != "base" {
		t.Errorf("%v, hint %q", err, Hint(err))
	}
	if WithHint(nil, "advice") != nil || Hint(base) != "" {
		t.Error("a hint from nothing")
	}
}
