package field

// FoldHalves binds a variable whose two halves are given apart:
// dst[i] = lo[i] + r·(hi[i] − lo[i]). All three have one length; dst may be lo
// or hi. It is FoldVec for a range of a table.
func FoldHalves(dst, lo, hi []QM31, r QM31) {
	mustMatch(len(dst), len(lo))
	mustMatch(len(dst), len(hi))
	foldVecGeneric(dst, lo, hi, r)
}

// RoundSums returns what a sumcheck round needs of the quadratic polynomial
// Σ_i A_i(X)·B_i(X), where A_i(X) = a0[i] + X·(a1[i] − a0[i]) and B_i likewise:
// its value at 0 and its leading coefficient,
//
//	zero = Σ a0[i]·b0[i]
//	top  = Σ (a1[i] − a0[i])·(b1[i] − b0[i])
//
// The value at 1 follows from the claim. All four have one length.
func RoundSums(a0, a1, b0, b1 []QM31) (zero, top QM31) {
	mustMatch(len(a0), len(a1))
	mustMatch(len(a0), len(b0))
	mustMatch(len(a0), len(b1))
	return roundSumsGeneric(a0, a1, b0, b1)
}

// RoundSumsWeighted is RoundSums of Σ_i w[i]·A_i(X)·B_i(X). All five have one
// length.
func RoundSumsWeighted(w, a0, a1, b0, b1 []QM31) (zero, top QM31) {
	mustMatch(len(w), len(a0))
	mustMatch(len(a0), len(a1))
	mustMatch(len(a0), len(b0))
	mustMatch(len(a0), len(b1))
	return roundSumsWeightedGeneric(w, a0, a1, b0, b1)
}

func roundSumsGeneric(a0, a1, b0, b1 []QM31) (zero, top QM31) {
	for i := range a0 {
		zero = zero.Add(a0[i].Mul(b0[i]))
		top = top.Add(a1[i].Sub(a0[i]).Mul(b1[i].Sub(b0[i])))
	}
	return zero, top
}

func roundSumsWeightedGeneric(w, a0, a1, b0, b1 []QM31) (zero, top QM31) {
	for i := range w {
		m := newMultiplier(w[i])
		zero = zero.Add(m.mul(a0[i].Mul(b0[i])))
		top = top.Add(m.mul(a1[i].Sub(a0[i]).Mul(b1[i].Sub(b0[i]))))
	}
	return zero, top
}

// Halves is a table with its first variable left free: Lo[i] + X·(Hi[i] − Lo[i]).
// Both have one length.
type Halves struct{ Lo, Hi []QM31 }

// FractionRoundSums returns the value at 0 and the leading coefficient of
//
//	Σ_i w[i]·( n0_i(X)·d1_i(X) + n1_i(X)·d0_i(X) ),
//
// the numerators' part of a sum of fractions n0/d0 + n1/d1, as RoundSums does
// for one product. All nine slices have one length.
func FractionRoundSums(w []QM31, n0, n1, d0, d1 Halves) (zero, top QM31) {
	for _, t := range [4]Halves{n0, n1, d0, d1} {
		mustMatch(len(w), len(t.Lo))
		mustMatch(len(w), len(t.Hi))
	}
	return fractionRoundSumsGeneric(w, n0, n1, d0, d1)
}

func fractionRoundSumsGeneric(w []QM31, n0, n1, d0, d1 Halves) (zero, top QM31) {
	for i := range w {
		m := newMultiplier(w[i])
		at0 := n0.Lo[i].Mul(d1.Lo[i]).Add(n1.Lo[i].Mul(d0.Lo[i]))
		zero = zero.Add(m.mul(at0))
		lead := n0.Hi[i].Sub(n0.Lo[i]).Mul(d1.Hi[i].Sub(d1.Lo[i])).
			Add(n1.Hi[i].Sub(n1.Lo[i]).Mul(d0.Hi[i].Sub(d0.Lo[i])))
		top = top.Add(m.mul(lead))
	}
	return zero, top
}

// AddFractions sets num[i]/den[i] = n0[i]/d0[i] + n1[i]/d1[i] without
// cancelling: num = n0·d1 + n1·d0, den = d0·d1. All six have one length.
func AddFractions(num, den, n0, n1, d0, d1 []QM31) {
	for _, t := range [5][]QM31{den, n0, n1, d0, d1} {
		mustMatch(len(num), len(t))
	}
	for i := range num {
		a, b := newMultiplier(d0[i]), newMultiplier(d1[i])
		num[i] = b.mul(n0[i]).Add(a.mul(n1[i]))
		den[i] = b.mul(d0[i])
	}
}

// AddFractionsM31 is AddFractions for numerators in the base field.
func AddFractionsM31(num, den []QM31, n0, n1 []M31, d0, d1 []QM31) {
	for _, n := range [5]int{len(den), len(n0), len(n1), len(d0), len(d1)} {
		mustMatch(len(num), n)
	}
	for i := range num {
		num[i] = mulAdd(d1[i].MulM31(n0[i]), n1[i], d0[i]) // n0·d1 + n1·d0
		den[i] = d0[i].Mul(d1[i])
	}
}

// MulAccQM31Vec sets dst[i] += s·a[i]. Both have one length.
func MulAccQM31Vec(dst, a []QM31, s QM31) {
	mustMatch(len(dst), len(a))
	m := newMultiplier(s)
	for i := range dst {
		dst[i] = dst[i].Add(m.mul(a[i]))
	}
}

// FoldM31Halves is FoldHalves for halves in the base field.
func FoldM31Halves(dst []QM31, lo, hi []M31, r QM31) {
	mustMatch(len(dst), len(lo))
	mustMatch(len(dst), len(hi))
	foldM31VecGeneric(dst, lo, hi, r)
}
