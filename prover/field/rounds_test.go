package field

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRoundSums compares with the round polynomials' definition at 0, 1 and 2:
// the leading coefficient is half the second difference.
func TestRoundSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 70).Draw(t, "n")
		draw := func(name string) []QM31 { return rapid.SliceOfN(genQM31(), n, n).Draw(t, name) }
		w, a0, a1, b0, b1 := draw("w"), draw("a0"), draw("a1"), draw("b0"), draw("b1")
		ones := make([]QM31, n)
		for i := range ones {
			ones[i] = One
		}
		at := func(w []QM31, x QM31) (s QM31) {
			for i := range w {
				a := a0[i].Add(x.Mul(a1[i].Sub(a0[i])))
				b := b0[i].Add(x.Mul(b1[i].Sub(b0[i])))
				s = s.Add(w[i].Mul(a).Mul(b))
			}
			return s
		}
		check := func(name string, w []QM31, zero, top QM31) {
			second := at(w, Zero).Sub(at(w, One).Double()).Add(at(w, FromM31(2)))
			if zero != at(w, Zero) || top.Double() != second {
				t.Fatalf("%s of %d terms is wrong", name, n)
			}
		}
		zero, top := RoundSums(a0, a1, b0, b1)
		check("RoundSums", ones, zero, top)
		zero, top = RoundSumsWeighted(w, a0, a1, b0, b1)
		check("RoundSumsWeighted", w, zero, top)
	})
}

func TestFoldHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 70).Draw(t, "n")
		table := rapid.SliceOfN(genQM31(), 2*n, 2*n).Draw(t, "table")
		r := genQM31().Draw(t, "r")
		want := make([]QM31, n)
		FoldVec(want, table, r)
		FoldHalves(table[:n], table[:n], table[n:], r)
		for i := range want {
			if table[i] != want[i] {
				t.Fatalf("entry %d of %d", i, n)
			}
		}
	})
}
