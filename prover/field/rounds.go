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
