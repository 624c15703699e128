package field

// This file has operations on tables over K for the rounds of sumchecks. As in
// vec.go, lengths that do not match are a programmer's error and panic, assembly
// handles a prefix of each slice where there is any, and nothing here starts
// goroutines.

// Halves is a table over K, or a range of one, as a function of its first
// variable X: entry i is Lo[i] + X·(Hi[i] − Lo[i]). Lo and Hi have the same length.
type Halves struct{ Lo, Hi []QM31 }

// slope returns Hi[i] − Lo[i].
func (h Halves) slope(i int) QM31 { return h.Hi[i].Sub(h.Lo[i]) }

// mustHave panics unless all halves have n entries.
func mustHave(n int, tables ...Halves) {
	for _, t := range tables {
		mustMatch(n, len(t.Lo), len(t.Hi))
	}
}

// FoldHalves binds a table's free variable to r:
// dst[i] = src.Lo[i] + r·(src.Hi[i] − src.Lo[i]). All three have one length;
// dst may be either half. It is FoldVec for a range of a table.
func FoldHalves(dst []QM31, src Halves, r QM31) {
	mustHave(len(dst), src)
	m := newMultiplier(r)
	n := blocks(len(dst), blockQM31)
	if n > 0 {
		foldVec(limbs(dst), limbs(src.Lo), limbs(src.Hi), m.table(), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = src.Lo[i].Add(m.mul(src.slope(i)))
	}
}

// FoldM31Halves is FoldHalves for halves lo, hi in the base field.
func FoldM31Halves(dst []QM31, lo, hi []M31, r QM31) {
	mustMatch(len(dst), len(lo), len(hi))
	n := blocks(len(dst), blockM31)
	if n > 0 {
		foldM31Vec(limbs(dst), base(lo), base(hi), (*uint32)(&r.C0.A0), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = r.MulM31(hi[i].Sub(lo[i])).AddM31(lo[i])
	}
}

// RoundSums returns, for a sumcheck round, two of the three numbers that determine the quadratic polynomial
// q(X) = Σ_i a_i(X)·b_i(X): its value at 0 and its leading coefficient,
//
//	zero = Σ a.Lo[i]·b.Lo[i]
//	top  = Σ (a.Hi[i] − a.Lo[i])·(b.Hi[i] − b.Lo[i])
//
// The third is its value at 1, which follows from the claim q(0) + q(1). All four slices have the same length.
func RoundSums(a, b Halves) (zero, top QM31) {
	mustHave(len(a.Lo), a, b)
	n := blocks(len(a.Lo), blockQM31)
	for i := 0; i < n; i += sumLimit {
		var s [2][4]uint64
		roundSums(&s, limbs(a.Lo[i:]), limbs(a.Hi[i:]), limbs(b.Lo[i:]), limbs(b.Hi[i:]), uint64(min(n-i, sumLimit)))
		zero, top = zero.Add(accumulator(s[0]).sum()), top.Add(accumulator(s[1]).sum())
	}
	for i := n; i < len(a.Lo); i++ {
		zero = zero.Add(a.Lo[i].Mul(b.Lo[i]))
		top = top.Add(a.slope(i).Mul(b.slope(i)))
	}
	return zero, top
}

// RoundValue returns the value at r of a round's polynomial zero + m·X + top·X² (RoundSums). The values at 0 and 1 must add up to claim,
// which gives m = claim − 2·zero − top.
func RoundValue(zero, top, claim, r QM31) QM31 {
	m := claim.Sub(zero.Double()).Sub(top)
	return zero.Add(r.Mul(m.Add(r.Mul(top))))
}

// RoundSumsWeighted is RoundSums of Σ_i w[i]·a_i(X)·b_i(X). All five slices
// have one length.
func RoundSumsWeighted(w []QM31, a, b Halves) (zero, top QM31) {
	mustHave(len(w), a, b)
	n := blocks(len(w), blockQM31)
	for i := 0; i < n; i += sumLimit {
		var s [2][4]uint64
		roundSumsWeighted(&s, limbs(w[i:]), limbs(a.Lo[i:]), limbs(a.Hi[i:]), limbs(b.Lo[i:]), limbs(b.Hi[i:]), uint64(min(n-i, sumLimit)))
		zero, top = zero.Add(accumulator(s[0]).sum()), top.Add(accumulator(s[1]).sum())
	}
	for i := n; i < len(w); i++ {
		m := newMultiplier(w[i])
		zero = zero.Add(m.mul(a.Lo[i].Mul(b.Lo[i])))
		top = top.Add(m.mul(a.slope(i).Mul(b.slope(i))))
	}
	return zero, top
}

// FractionRoundSums is RoundSums of
//
//	Σ_i w[i]·( n0_i(X)·d1_i(X) + n1_i(X)·d0_i(X) ),
//
// the numerator of the sum of two fractions n0/d0 + n1/d1. All nine slices
// have one length.
func FractionRoundSums(w []QM31, n0, n1, d0, d1 Halves) (zero, top QM31) {
	mustHave(len(w), n0, n1, d0, d1)
	n := blocks(len(w), blockQM31)
	for i := 0; i < n; i += sumLimit {
		var s [2][4]uint64
		fractionRoundSums(&s, limbs(w[i:]), limbs(n0.Lo[i:]), limbs(n0.Hi[i:]), limbs(n1.Lo[i:]), limbs(n1.Hi[i:]),
			limbs(d0.Lo[i:]), limbs(d0.Hi[i:]), limbs(d1.Lo[i:]), limbs(d1.Hi[i:]), uint64(min(n-i, sumLimit)))
		zero, top = zero.Add(accumulator(s[0]).sum()), top.Add(accumulator(s[1]).sum())
	}
	for i := n; i < len(w); i++ {
		m := newMultiplier(w[i])
		zero = zero.Add(m.mul(n0.Lo[i].Mul(d1.Lo[i]).Add(n1.Lo[i].Mul(d0.Lo[i]))))
		top = top.Add(m.mul(n0.slope(i).Mul(d1.slope(i)).Add(n1.slope(i).Mul(d0.slope(i)))))
	}
	return zero, top
}

// AddFractions sets num[i]/den[i] = n0[i]/d0[i] + n1[i]/d1[i] without
// cancelling: num = n0·d1 + n1·d0, den = d0·d1. All six have one length.
func AddFractions(num, den, n0, n1, d0, d1 []QM31) {
	mustMatch(len(num), len(den), len(n0), len(n1), len(d0), len(d1))
	n := blocks(len(num), blockQM31)
	if n > 0 {
		addFractions(limbs(num), limbs(den), limbs(n0), limbs(n1), limbs(d0), limbs(d1), uint64(n))
	}
	for i := n; i < len(num); i++ {
		a, b := newMultiplier(d0[i]), newMultiplier(d1[i])
		num[i], den[i] = b.mul(n0[i]).Add(a.mul(n1[i])), b.mul(d0[i])
	}
}

// AddFractionsM31 is AddFractions for numerators in the base field.
func AddFractionsM31(num, den []QM31, n0, n1 []M31, d0, d1 []QM31) {
	mustMatch(len(num), len(den), len(n0), len(n1), len(d0), len(d1))
	n := blocks(len(num), blockM31)
	if n > 0 {
		addFractionsM31(limbs(num), limbs(den), base(n0), base(n1), limbs(d0), limbs(d1), uint64(n))
	}
	for i := n; i < len(num); i++ {
		num[i], den[i] = mulAdd(d1[i].MulM31(n0[i]), n1[i], d0[i]), d0[i].Mul(d1[i])
	}
}

// MulAccQM31Vec sets dst[i] += s·a[i]. Both have one length.
func MulAccQM31Vec(dst, a []QM31, s QM31) {
	mustMatch(len(dst), len(a))
	m := newMultiplier(s)
	n := blocks(len(dst), blockQM31)
	if n > 0 {
		mulAccQM31Vec(limbs(dst), limbs(a), m.table(), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = dst[i].Add(m.mul(a[i]))
	}
}
