package poly

import (
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"pgregory.net/rapid"
)

func TestSplitEq(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.IntRange(0, 7).Draw(t, "eq variables")
		free := rapid.IntRange(0, 7).Draw(t, "free variables")
		r := point(t, e)
		s := NewSplitEq(r, free)
		for m := e + free; ; m-- {
			for x := range 1 << m {
				if got, want := s.At(x), naiveEq(r, x>>free); got != want {
					t.Fatalf("weight of %d over %d+%d variables: %v, want %v", x, len(r), free, got, want)
				}
			}
			lo := rapid.IntRange(0, 1<<m).Draw(t, "lo")
			hi := rapid.IntRange(lo, 1<<m).Draw(t, "hi")
			at := lo
			s.Rows(lo, hi, func(from, to int, weight field.QM31, inner []field.QM31) {
				if from != at || inner != nil && len(inner) != to-from {
					t.Fatalf("piece [%d,%d) with %d weights after %d", from, to, len(inner), at)
				}
				for ; at < to; at++ {
					w := weight
					if inner != nil {
						w = w.Mul(inner[at-from])
					}
					if w != s.At(at) {
						t.Fatalf("weight of %d in its row", at)
					}
				}
			})
			if at != hi {
				t.Fatalf("rows end at %d of %d", at, hi)
			}
			if m == 0 {
				return
			}
			s.DropFirst()
			if len(r) > 0 {
				r = r[1:]
			} else {
				free--
			}
		}
	})
}

// At returns w(x) for x in [0, 2^m).
func (s *SplitEq) At(x int) field.QM31 {
	w := s.Outer[x>>s.InnerVars]
	if s.Inner != nil {
		w = w.Mul(s.Inner[x&(1<<s.InnerVars-1)])
	}
	return w
}
