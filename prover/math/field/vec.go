package field

// Vector operations. All slices of a call must have the lengths stated or the
// call panics: a mismatch is a programmer's error. A destination may be the
// same slice as a source unless said otherwise, but must not overlap one
// partially. None of them starts goroutines, except EqTableInto.
//
// Where the processor has AVX2 or AVX-512, a prefix of each slice is done by
// assembly and the rest by the plain versions in vec_generic.go, which are
// the reference.

// mustMatch panics unless the two lengths are equal.
func mustMatch(a, b int) {
	if a != b {
		panic("field: vectors of different lengths")
	}
}

// AddVec sets dst[i] = a[i] + b[i]. All three have one length.
func AddVec(dst, a, b []M31) {
	mustMatch(len(dst), len(a))
	mustMatch(len(dst), len(b))
	n := addVecFast(dst, a, b)
	addVecGeneric(dst[n:], a[n:], b[n:])
}

// SubVec sets dst[i] = a[i] − b[i]. All three have one length.
func SubVec(dst, a, b []M31) {
	mustMatch(len(dst), len(a))
	mustMatch(len(dst), len(b))
	n := subVecFast(dst, a, b)
	subVecGeneric(dst[n:], a[n:], b[n:])
}

// MulVec sets dst[i] = a[i]·b[i]. All three have one length.
func MulVec(dst, a, b []M31) {
	mustMatch(len(dst), len(a))
	mustMatch(len(dst), len(b))
	n := mulVecFast(dst, a, b)
	mulVecGeneric(dst[n:], a[n:], b[n:])
}

// ScaleVec sets dst[i] = a[i]·s. Both have one length.
func ScaleVec(dst, a []M31, s M31) {
	mustMatch(len(dst), len(a))
	n := scaleVecFast(dst, a, s)
	scaleVecGeneric(dst[n:], a[n:], s)
}

// FromInt32Vec sets dst[i] = src[i] mod p. Both have one length, and may be the same memory.
func FromInt32Vec(dst []M31, src []int32) {
	mustMatch(len(dst), len(src))
	n := fromInt32VecFast(dst, src)
	fromInt32VecGeneric(dst[n:], src[n:])
}

// MulQM31Vec sets dst[i] = a[i]·b[i]. All three have one length.
func MulQM31Vec(dst, a, b []QM31) {
	mustMatch(len(dst), len(a))
	mustMatch(len(dst), len(b))
	n := mulQM31VecFast(dst, a, b)
	mulQM31VecGeneric(dst[n:], a[n:], b[n:])
}

// FoldVec binds the first (most significant) variable of the table src to r:
// dst[i] = src[i] + r·(src[i+h] − src[i]) with h = len(src)/2 = len(dst).
// dst may be src[:h].
func FoldVec(dst, src []QM31, r QM31) {
	mustMatch(2*len(dst), len(src))
	FoldHalves(dst, Halves{src[:len(dst)], src[len(dst):]}, r)
}

// FoldM31Vec is FoldVec for a table of the base field:
// dst[i] = src[i] + r·(src[i+h] − src[i]) with h = len(src)/2 = len(dst).
func FoldM31Vec(dst []QM31, src []M31, r QM31) {
	mustMatch(2*len(dst), len(src))
	FoldM31Halves(dst, src[:len(dst)], src[len(dst):], r)
}

// MulAccVec sets dst[i] += s·a[i]. Both have one length.
func MulAccVec(dst []QM31, a []M31, s QM31) {
	mustMatch(len(dst), len(a))
	n := mulAccVecFast(dst, a, s)
	mulAccVecGeneric(dst[n:], a[n:], s)
}

// MulAccInt32Vec sets dst[i] += s·a[i] for signed integers a. Both have one
// length.
func MulAccInt32Vec(dst []QM31, a []int32, s QM31) {
	mustMatch(len(dst), len(a))
	n := mulAccInt32VecFast(dst, a, s)
	mulAccInt32VecGeneric(dst[n:], a[n:], s)
}

// EmbedVec sets dst[i] = a[i]. Both have one length.
func EmbedVec(dst []QM31, a []M31) {
	mustMatch(len(dst), len(a))
	n := embedVecFast(dst, a)
	embedVecGeneric(dst[n:], a[n:])
}

// SubInt32Vec sets dst[i] = s − a[i] for signed integers a. Both have one length.
func SubInt32Vec(dst []QM31, a []int32, s QM31) {
	mustMatch(len(dst), len(a))
	n := subInt32VecFast(dst, a, s)
	subInt32VecGeneric(dst[n:], a[n:], s)
}

// Dot returns Σ a[i]·b[i]. Both have one length.
func Dot(a, b []QM31) QM31 {
	mustMatch(len(a), len(b))
	n, s := dotFast(a, b)
	return s.Add(dotGeneric(a[n:], b[n:]))
}

// DotM31 returns Σ a[i]·w[i]. Both have one length.
func DotM31(a []M31, w []QM31) QM31 {
	mustMatch(len(a), len(w))
	n, s := dotM31Fast(a, w)
	return s.Add(dotM31Generic(a[n:], w[n:]))
}

// DotInt32 returns Σ a[i]·w[i] for signed integers a. Both have one length.
func DotInt32(a []int32, w []QM31) QM31 {
	mustMatch(len(a), len(w))
	n, s := dotInt32Fast(a, w)
	return s.Add(dotInt32Generic(a[n:], w[n:]))
}
