package field

// What the rounds of sumchecks need of tables over K. As in vec.go, lengths
// that do not match are a programmer's error and panic, a prefix is done by
// assembly where there is any, and nothing here starts goroutines.

// Halves is a table over K with its first variable left free, or a range of
// one: entry i is Lo[i] + X·(Hi[i] − Lo[i]). Both have one length.
type Halves struct{ Lo, Hi []QM31 }

// from returns the entries from i on.
func (h Halves) from(i int) Halves { return Halves{h.Lo[i:], h.Hi[i:]} }

// mustHave panics unless all halves have n entries.
func mustHave(n int, tables ...Halves) {
	for _, t := range tables {
		mustMatch(n, len(t.Lo))
		mustMatch(n, len(t.Hi))
	}
}

// FoldHalves binds a table's free variable to r:
// dst[i] = src.Lo[i] + r·(src.Hi[i] − src.Lo[i]). All three have one length;
// dst may be either half. It is FoldVec for a range of a table.
func FoldHalves(dst []QM31, src Halves, r QM31) {
	mustHave(len(dst), src)
	n := foldVecFast(dst, src.Lo, src.Hi, r)
	foldVecGeneric(dst[n:], src.Lo[n:], src.Hi[n:], r)
}

// FoldM31Halves is FoldHalves for halves lo, hi in the base field.
func FoldM31Halves(dst []QM31, lo, hi []M31, r QM31) {
	mustMatch(len(dst), len(lo))
	mustMatch(len(dst), len(hi))
	n := foldM31VecFast(dst, lo, hi, r)
	foldM31VecGeneric(dst[n:], lo[n:], hi[n:], r)
}

// RoundSums returns what a sumcheck round needs of the quadratic polynomial
// q(X) = Σ_i a_i(X)·b_i(X): its value at 0 and its leading coefficient,
//
//	zero = Σ a.Lo[i]·b.Lo[i]
//	top  = Σ (a.Hi[i] − a.Lo[i])·(b.Hi[i] − b.Lo[i])
//
// The value at 1 follows from the claim. All four slices have one length.
func RoundSums(a, b Halves) (zero, top QM31) {
	mustHave(len(a.Lo), a, b)
	n, zero, top := roundSumsFast(a, b)
	z, t := roundSumsGeneric(a.from(n), b.from(n))
	return zero.Add(z), top.Add(t)
}

// RoundSumsWeighted is RoundSums of Σ_i w[i]·a_i(X)·b_i(X). All five slices
// have one length.
func RoundSumsWeighted(w []QM31, a, b Halves) (zero, top QM31) {
	mustHave(len(w), a, b)
	n, zero, top := roundSumsWeightedFast(w, a, b)
	z, t := roundSumsWeightedGeneric(w[n:], a.from(n), b.from(n))
	return zero.Add(z), top.Add(t)
}

// FractionRoundSums is RoundSums of
//
//	Σ_i w[i]·( n0_i(X)·d1_i(X) + n1_i(X)·d0_i(X) ),
//
// the numerator of the sum of two fractions n0/d0 + n1/d1. All nine slices
// have one length.
func FractionRoundSums(w []QM31, n0, n1, d0, d1 Halves) (zero, top QM31) {
	mustHave(len(w), n0, n1, d0, d1)
	n, zero, top := fractionRoundSumsFast(w, n0, n1, d0, d1)
	z, t := fractionRoundSumsGeneric(w[n:], n0.from(n), n1.from(n), d0.from(n), d1.from(n))
	return zero.Add(z), top.Add(t)
}

// AddFractions sets num[i]/den[i] = n0[i]/d0[i] + n1[i]/d1[i] without
// cancelling: num = n0·d1 + n1·d0, den = d0·d1. All six have one length.
func AddFractions(num, den, n0, n1, d0, d1 []QM31) {
	mustHave(len(num), Halves{den, den}, Halves{n0, n1}, Halves{d0, d1})
	n := addFractionsFast(num, den, n0, n1, d0, d1)
	addFractionsGeneric(num[n:], den[n:], n0[n:], n1[n:], d0[n:], d1[n:])
}

// AddFractionsM31 is AddFractions for numerators in the base field.
func AddFractionsM31(num, den []QM31, n0, n1 []M31, d0, d1 []QM31) {
	mustHave(len(num), Halves{den, den}, Halves{d0, d1})
	mustMatch(len(num), len(n0))
	mustMatch(len(num), len(n1))
	n := addFractionsM31Fast(num, den, n0, n1, d0, d1)
	addFractionsM31Generic(num[n:], den[n:], n0[n:], n1[n:], d0[n:], d1[n:])
}

// MulAccQM31Vec sets dst[i] += s·a[i]. Both have one length.
func MulAccQM31Vec(dst, a []QM31, s QM31) {
	mustMatch(len(dst), len(a))
	n := mulAccQM31VecFast(dst, a, s)
	mulAccQM31VecGeneric(dst[n:], a[n:], s)
}
