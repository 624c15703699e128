package fixed

import (
	"fmt"
	"testing"
)

// TestRecall: what is asked for again is made once; if it is more than mostKept, so much is kept, and most of what is
// asked for again is there.
func TestRecall(t *testing.T) {
	var r Recall[int]
	made := 0
	of := func(key string, i int) {
		if x := r.Of(key, func() int { made++; return i }); x != i {
			t.Errorf("%d for %d", x, i)
		}
	}
	for range 2 {
		for i := range mostKept {
			of(fmt.Sprint(i), i)
		}
		of("", 7)
	}
	if want := mostKept + 2; made != want {
		t.Errorf("made %d times, want %d", made, want)
	}
	for range 2 {
		for i := range mostKept + 10 {
			of(fmt.Sprint(i), i)
		}
	}
	if len(r.known) != mostKept || made > mostKept+2+10+mostKept {
		t.Errorf("%d known, made %d times", len(r.known), made)
	}
}
