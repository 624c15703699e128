package field

import (
	"testing"

	"pgregory.net/rapid"
)

// vectors draws vectors of one length, 0 to 70, so that every remainder
// modulo the kernels' blocks occurs.
type vectors struct {
	t *rapid.T
	n int
}

func newVectors(t *rapid.T) vectors { return vectors{t, rapid.IntRange(0, 70).Draw(t, "n")} }

func (v vectors) k(name string) []QM31 {
	return rapid.SliceOfN(genQM31(), v.n, v.n).Draw(v.t, name)
}

func (v vectors) m31(name string) []M31 {
	return rapid.SliceOfN(genM31(), v.n, v.n).Draw(v.t, name)
}

func (v vectors) halves(name string) Halves { return Halves{v.k(name + ".Lo"), v.k(name + ".Hi")} }

// check fails the test at the first entry that is not want(i).
func (v vectors) check(name string, got []QM31, want func(i int) QM31) {
	for i := range got {
		if got[i] != want(i) {
			v.t.Fatalf("%s: entry %d of %d is %v, want %v", name, i, v.n, got[i], want(i))
		}
	}
}

// at returns entry i of a table at X = x.
func (h Halves) at(i int, x QM31) QM31 { return h.Lo[i].Add(x.Mul(h.Hi[i].Sub(h.Lo[i]))) }

// checkSums compares with the round polynomial's definition, Σ term(i, X) at
// 0, 1 and 2: the leading coefficient is half the second difference.
func (v vectors) checkSums(name string, zero, top QM31, term func(i int, x QM31) QM31) {
	var at [3]QM31
	for x := range at {
		for i := range v.n {
			at[x] = at[x].Add(term(i, FromM31(M31(x))))
		}
	}
	if second := at[0].Sub(at[1].Double()).Add(at[2]); zero != at[0] || top.Double() != second {
		v.t.Fatalf("%s of %d terms is wrong", name, v.n)
	}
}

func TestRoundSums(t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			v := newVectors(t)
			w, a, b := v.k("w"), v.halves("a"), v.halves("b")
			zero, top := RoundSums(a, b)
			v.checkSums("RoundSums", zero, top, func(i int, x QM31) QM31 { return a.at(i, x).Mul(b.at(i, x)) })
			zero, top = RoundSumsWeighted(w, a, b)
			v.checkSums("RoundSumsWeighted", zero, top, func(i int, x QM31) QM31 {
				return w[i].Mul(a.at(i, x)).Mul(b.at(i, x))
			})
		})
	})
}

func TestFractionRoundSums(t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			v := newVectors(t)
			w, n0, n1, d0, d1 := v.k("w"), v.halves("n0"), v.halves("n1"), v.halves("d0"), v.halves("d1")
			zero, top := FractionRoundSums(w, n0, n1, d0, d1)
			v.checkSums("FractionRoundSums", zero, top, func(i int, x QM31) QM31 {
				return w[i].Mul(n0.at(i, x).Mul(d1.at(i, x)).Add(n1.at(i, x).Mul(d0.at(i, x))))
			})
		})
	})
}

// TestRoundSumsExtremes sums products of the largest limbs, which is where
// delayed reductions would overflow.
func TestRoundSumsExtremes(t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		limbs := []M31{0, 1, P - 1}
		for code := range 81 {
			v := NewQM31(limbs[code%3], limbs[code/3%3], limbs[code/9%3], limbs[code/27])
			const n = 68
			w, zeros := make([]QM31, n), make([]QM31, n)
			for i := range w {
				w[i] = v
			}
			full := Halves{w, zeros} // differences are −v
			square, count := v.Mul(v), FromM31(n)
			zero, top := RoundSums(full, full)
			if want := square.Mul(count); zero != want || top != want {
				t.Errorf("RoundSums of %v", v)
			}
			zero, top = RoundSumsWeighted(w, full, full)
			if want := square.Mul(v).Mul(count); zero != want || top != want {
				t.Errorf("RoundSumsWeighted of %v", v)
			}
			zero, top = FractionRoundSums(w, full, full, full, full)
			if want := square.Mul(v).Mul(count).Double(); zero != want || top != want {
				t.Errorf("FractionRoundSums of %v", v)
			}
		}
	})
}

func TestAddFractions(t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			v := newVectors(t)
			n0, n1, d0, d1 := v.k("n0"), v.k("n1"), v.k("d0"), v.k("d1")
			num, den := make([]QM31, v.n), make([]QM31, v.n)
			check := func(name string) {
				v.check(name+" numerators", num, func(i int) QM31 { return n0[i].Mul(d1[i]).Add(n1[i].Mul(d0[i])) })
				v.check(name+" denominators", den, func(i int) QM31 { return d0[i].Mul(d1[i]) })
			}
			AddFractions(num, den, n0, n1, d0, d1)
			check("AddFractions")
			b0, b1 := v.m31("b0"), v.m31("b1")
			AddFractionsM31(num, den, b0, b1, d0, d1)
			for i := range b0 {
				n0[i], n1[i] = FromM31(b0[i]), FromM31(b1[i])
			}
			check("AddFractionsM31")
		})
	})
}

func TestMulAccQM31Vec(t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			v := newVectors(t)
			dst, a, s := v.k("dst"), v.k("a"), genQM31().Draw(t, "s")
			before := append([]QM31(nil), dst...)
			MulAccQM31Vec(dst, a, s)
			v.check("MulAccQM31Vec", dst, func(i int) QM31 { return before[i].Add(s.Mul(a[i])) })
		})
	})
}

func TestFoldHalves(t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			v := newVectors(t)
			table, r := v.halves("table"), genQM31().Draw(t, "r")
			before := append([]QM31(nil), table.Lo...)
			FoldHalves(table.Lo, table, r)
			v.check("FoldHalves", table.Lo, func(i int) QM31 { return before[i].Add(r.Mul(table.Hi[i].Sub(before[i]))) })
			lo, hi := v.m31("lo"), v.m31("hi")
			FoldM31Halves(table.Hi, lo, hi, r)
			v.check("FoldM31Halves", table.Hi, func(i int) QM31 { return r.MulM31(hi[i].Sub(lo[i])).AddM31(lo[i]) })
		})
	})
}

func TestRoundsPanic(t *testing.T) {
	q, short := make([]QM31, 3), make([]QM31, 2)
	h, bad := Halves{q, q}, Halves{q, short}
	b := make([]M31, 3)
	for name, f := range map[string]func(){
		"FoldHalves":        func() { FoldHalves(q, bad, One) },
		"FoldM31Halves":     func() { FoldM31Halves(q, b, b[:2], One) },
		"RoundSums":         func() { RoundSums(h, bad) },
		"RoundSumsWeighted": func() { RoundSumsWeighted(short, h, h) },
		"FractionRoundSums": func() { FractionRoundSums(q, h, h, h, bad) },
		"AddFractions":      func() { AddFractions(q, q, q, q, q, short) },
		"AddFractionsM31":   func() { AddFractionsM31(q, q, b, b[:2], q, q) },
		"MulAccQM31Vec":     func() { MulAccQM31Vec(q, short, One) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("different lengths went unnoticed")
				}
			}()
			f()
		})
	}
}
