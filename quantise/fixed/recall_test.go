package fixed

import (
	"fmt"
	"testing"
)

// TestRecall: what is asked for again is made once, in a pass and the one after it; and what would be more than
// mostKept is made each time.
func TestRecall(t *testing.T) {
	var r Recall[int]
	made := 0
	of := func(i int) {
		if x := r.Of(fmt.Sprint(i), func() int { made++; return i }); x != i {
			t.Errorf("%d for %d", x, i)
		}
	}
	for range 2 {
		for i := range mostKept + 10 {
			of(i)
		}
	}
	if want := mostKept + 20; made != want {
		t.Errorf("made %d times, want %d", made, want)
	}
	r.Next()
	of(3)
	r.Next()
	of(3) // which the last pass asked for
	r.Next()
	r.Next()
	of(3)
	if want := mostKept + 21; made != want {
		t.Errorf("made %d times, want %d", made, want)
	}
}
