package fixed

import (
	"fmt"
	"testing"
)

// TestRecall: what is asked for again is made once, in this pass or another; what would be more than mostKept is made
// each time, and the next pass begins anew then.
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
	r.Next() // which forgets all
	of(3)
	r.Next()
	of(3)
	r.Next()
	of(4)
	of(3)
	if want := mostKept + 22; made != want {
		t.Errorf("made %d times, want %d", made, want)
	}
}
