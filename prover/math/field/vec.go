package field

import "github.com/prove-model/prove-model/internal/simd"

// Vector operations. All slices of a call must have the lengths stated or the
// call panics: a mismatch is a programmer's error. A destination may be the
// same slice as a source unless said otherwise, but must not overlap one
// partially. None of them starts goroutines, except EqTableInto.
//
// Where the processor has AVX2 or AVX-512, assembly handles the longest prefix of each
// slice that consists of whole blocks. The loop behind the call handles the rest. Without
// assembly it handles everything, and tests compare assembly with it.

// Block sizes of the kernels, in elements.
const (
	blockM31  = 16
	blockQM31 = 4
)

// sumLimit is the most products that one call of a kernel adds up, so that its
// accumulators of 64 bits cannot overflow. It is a multiple of the block sizes.
const sumLimit = 1 << 27

// level is the instruction set in use; tests lower it.
var level = simd.Best()

// blocks returns how many of n elements a kernel handles: as many whole blocks of that size, a power of two, as there
// are. It returns 0 without assembly. A kernel must not be called for 0 elements.
func blocks(n, size int) int {
	if level == simd.None {
		return 0
	}
	return n &^ (size - 1)
}

// mustMatch panics unless all lengths are equal to the first one.
func mustMatch(n int, lengths ...int) {
	for _, l := range lengths {
		if l != n {
			panic("field: vectors of different lengths")
		}
	}
}

// limbs returns the address of the first limb of a non-empty vector of K.
func limbs(v []QM31) *uint32 { return (*uint32)(&v[0].C0.A0) }

// base returns the address of the first element of a non-empty vector.
func base(v []M31) *uint32 { return (*uint32)(&v[0]) }

// AddVec sets dst[i] = a[i] + b[i]. All three have one length.
func AddVec(dst, a, b []M31) {
	mustMatch(len(dst), len(a), len(b))
	n := blocks(len(dst), blockM31)
	if n > 0 {
		addVec(base(dst), base(a), base(b), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = a[i].Add(b[i])
	}
}

// SubVec sets dst[i] = a[i] − b[i]. All three have one length.
func SubVec(dst, a, b []M31) {
	mustMatch(len(dst), len(a), len(b))
	n := blocks(len(dst), blockM31)
	if n > 0 {
		subVec(base(dst), base(a), base(b), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = a[i].Sub(b[i])
	}
}

// MulVec sets dst[i] = a[i]·b[i]. All three have one length.
func MulVec(dst, a, b []M31) {
	mustMatch(len(dst), len(a), len(b))
	n := blocks(len(dst), blockM31)
	if n > 0 {
		mulVec(base(dst), base(a), base(b), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = a[i].Mul(b[i])
	}
}

// ScaleVec sets dst[i] = a[i]·s. Both have one length.
func ScaleVec(dst, a []M31, s M31) {
	mustMatch(len(dst), len(a))
	n := blocks(len(dst), blockM31)
	if n > 0 {
		scaleVec(base(dst), base(a), uint32(s), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = a[i].Mul(s)
	}
}

// FromInt32Vec sets dst[i] = src[i] mod p. Both have one length, and may be the same memory.
func FromInt32Vec(dst []M31, src []int32) {
	mustMatch(len(dst), len(src))
	n := blocks(len(dst), blockM31)
	if n > 0 {
		fromInt32Vec(base(dst), &src[0], uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = FromInt32(src[i])
	}
}

// MulQM31Vec sets dst[i] = a[i]·b[i]. All three have one length.
func MulQM31Vec(dst, a, b []QM31) {
	mustMatch(len(dst), len(a), len(b))
	n := blocks(len(dst), blockQM31)
	if n > 0 {
		mulQM31Vec(limbs(dst), limbs(a), limbs(b), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = a[i].Mul(b[i])
	}
}

// FoldVec binds the first (most significant) variable of the table src to r:
// dst[i] = src[i] + r·(src[i+h] − src[i]) with h = len(src)/2 = len(dst).
// dst may be src[:h].
func FoldVec(dst, src []QM31, r QM31) {
	mustMatch(2*len(dst), len(src))
	FoldHalves(dst, Halves{src[:len(dst)], src[len(dst):]}, r)
}

// mulAdd returns d + s·a, with one reduction a limb.
func mulAdd(d QM31, a M31, s QM31) QM31 {
	m := uint64(a)
	return QM31{
		CM31{Reduce64(uint64(d.C0.A0) + m*uint64(s.C0.A0)), Reduce64(uint64(d.C0.A1) + m*uint64(s.C0.A1))},
		CM31{Reduce64(uint64(d.C1.A0) + m*uint64(s.C1.A0)), Reduce64(uint64(d.C1.A1) + m*uint64(s.C1.A1))},
	}
}

// MulAccVec sets dst[i] += s·a[i]. Both have one length.
func MulAccVec(dst []QM31, a []M31, s QM31) {
	mustMatch(len(dst), len(a))
	n := blocks(len(dst), blockM31)
	if n > 0 {
		mulAccVec(limbs(dst), base(a), (*uint32)(&s.C0.A0), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = mulAdd(dst[i], a[i], s)
	}
}

// MulAccInt32Vec sets dst[i] += s·a[i] for signed integers a. Both have one
// length.
func MulAccInt32Vec(dst []QM31, a []int32, s QM31) {
	mustMatch(len(dst), len(a))
	n := blocks(len(dst), blockM31)
	if n > 0 {
		mulAccInt32Vec(limbs(dst), &a[0], (*uint32)(&s.C0.A0), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = mulAdd(dst[i], FromInt32(a[i]), s)
	}
}

// EmbedVec sets dst[i] = a[i]. Both have one length.
func EmbedVec(dst []QM31, a []M31) {
	mustMatch(len(dst), len(a))
	n := blocks(len(dst), blockM31)
	if n > 0 {
		embedVec(limbs(dst), base(a), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = FromM31(a[i])
	}
}

// SubInt32Vec sets dst[i] = s − a[i] for signed integers a. Both have one length.
func SubInt32Vec(dst []QM31, a []int32, s QM31) {
	mustMatch(len(dst), len(a))
	n := blocks(len(dst), blockM31)
	if n > 0 {
		subInt32Vec(limbs(dst), &a[0], (*uint32)(&s.C0.A0), uint64(n))
	}
	for i := n; i < len(dst); i++ {
		dst[i] = s
		dst[i].C0.A0 = s.C0.A0.Sub(FromInt32(a[i]))
	}
}

// An accumulator sums products of limbs, with a partial reduction after each
// addition. Its words stay below 2^34 between additions, so that adding up to
// three products of two limbs, each below 2^62, does not overflow 64 bits.
type accumulator [4]uint64

// fold returns a number below 2^34 that is congruent to v modulo p.
func fold(v uint64) uint64 { return v&P + v>>31 }

// addScaled adds a·w.
func (s *accumulator) addScaled(a M31, w QM31) {
	m := uint64(a)
	s[0] = fold(s[0] + m*uint64(w.C0.A0))
	s[1] = fold(s[1] + m*uint64(w.C0.A1))
	s[2] = fold(s[2] + m*uint64(w.C1.A0))
	s[3] = fold(s[3] + m*uint64(w.C1.A1))
}

// sum returns the total.
func (s accumulator) sum() QM31 {
	return NewQM31(Reduce64(s[0]), Reduce64(s[1]), Reduce64(s[2]), Reduce64(s[3]))
}

// Dot returns Σ a[i]·b[i]. Both have one length.
func Dot(a, b []QM31) QM31 {
	mustMatch(len(a), len(b))
	n, total := blocks(len(a), blockQM31), Zero
	for i := 0; i < n; i += sumLimit {
		var s [4]uint64
		dot(&s, limbs(a[i:]), limbs(b[i:]), uint64(min(n-i, sumLimit)))
		total = total.Add(accumulator(s).sum())
	}
	for i := n; i < len(a); i++ {
		total = total.Add(a[i].Mul(b[i]))
	}
	return total
}

// DotM31 returns Σ a[i]·w[i]. Both have one length.
func DotM31(a []M31, w []QM31) QM31 {
	mustMatch(len(a), len(w))
	n, total := blocks(len(a), blockM31), Zero
	for i := 0; i < n; i += sumLimit {
		var s [4]uint64
		dotM31(&s, base(a[i:]), limbs(w[i:]), uint64(min(n-i, sumLimit)))
		total = total.Add(accumulator(s).sum())
	}
	var rest accumulator
	for i := n; i < len(a); i++ {
		rest.addScaled(a[i], w[i])
	}
	return total.Add(rest.sum())
}

// DotInt32 returns Σ a[i]·w[i] for signed integers a. Both have one length.
func DotInt32(a []int32, w []QM31) QM31 {
	mustMatch(len(a), len(w))
	n, total := blocks(len(a), blockM31), Zero
	for i := 0; i < n; i += sumLimit {
		var s [4]uint64
		dotInt32(&s, &a[i], limbs(w[i:]), uint64(min(n-i, sumLimit)))
		total = total.Add(accumulator(s).sum())
	}
	var rest accumulator
	for i := n; i < len(a); i++ {
		rest.addScaled(FromInt32(a[i]), w[i])
	}
	return total.Add(rest.sum())
}
