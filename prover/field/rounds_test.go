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

func TestFractionRoundSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		draw := func(name string) []QM31 { return rapid.SliceOfN(genQM31(), n, n).Draw(t, name) }
		halves := func(name string) Halves { return Halves{draw(name), draw(name)} }
		w, n0, n1, d0, d1 := draw("w"), halves("n0"), halves("n1"), halves("d0"), halves("d1")
		zero, top := FractionRoundSums(w, n0, n1, d0, d1)
		z0, t0 := RoundSumsWeighted(w, n0.Lo, n0.Hi, d1.Lo, d1.Hi)
		z1, t1 := RoundSumsWeighted(w, n1.Lo, n1.Hi, d0.Lo, d0.Hi)
		if zero != z0.Add(z1) || top != t0.Add(t1) {
			t.Fatalf("%d terms", n)
		}
	})
}

func TestAddFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		draw := func(name string) []QM31 { return rapid.SliceOfN(genQM31(), n, n).Draw(t, name) }
		n0, n1, d0, d1 := draw("n0"), draw("n1"), draw("d0"), draw("d1")
		num, den := make([]QM31, n), make([]QM31, n)
		check := func() {
			t.Helper()
			for i := range num {
				if num[i] != n0[i].Mul(d1[i]).Add(n1[i].Mul(d0[i])) || den[i] != d0[i].Mul(d1[i]) {
					t.Fatalf("entry %d of %d", i, n)
				}
			}
		}
		AddFractions(num, den, n0, n1, d0, d1)
		check()
		b0 := rapid.SliceOfN(genM31(), n, n).Draw(t, "b0")
		b1 := rapid.SliceOfN(genM31(), n, n).Draw(t, "b1")
		AddFractionsM31(num, den, b0, b1, d0, d1)
		for i := range b0 {
			n0[i], n1[i] = FromM31(b0[i]), FromM31(b1[i])
		}
		check()
	})
}

func TestMulAccQM31Vec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		dst := rapid.SliceOfN(genQM31(), n, n).Draw(t, "dst")
		a := rapid.SliceOfN(genQM31(), n, n).Draw(t, "a")
		s := genQM31().Draw(t, "s")
		want := make([]QM31, n)
		for i := range want {
			want[i] = dst[i].Add(s.Mul(a[i]))
		}
		MulAccQM31Vec(dst, a, s)
		for i := range want {
			if dst[i] != want[i] {
				t.Fatalf("entry %d of %d", i, n)
			}
		}
	})
}

func TestFoldM31Halves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		table := rapid.SliceOfN(genM31(), 2*n, 2*n).Draw(t, "table")
		r := genQM31().Draw(t, "r")
		want, got := make([]QM31, n), make([]QM31, n)
		FoldM31Vec(want, table, r)
		FoldM31Halves(got, table[:n], table[n:], r)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("entry %d of %d", i, n)
			}
		}
	})
}
