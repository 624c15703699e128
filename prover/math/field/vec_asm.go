//go:build amd64 && !purego

package field

import "github.com/prove-model/prove-model/internal/simd"

//go:generate go run -C ../../../scripts/asm ./field -out ../../prover/math/field/kernels_amd64.s -stubs ../../prover/math/field/kernels_amd64.go -pkg field

// Each function here does the longest prefix of its operation that the
// assembly can, and returns its length. The kernels take whole blocks and at
// least one.

// level is the instruction set in use; tests lower it.
var level = simd.Best()

// Block sizes of the kernels, in elements.
const (
	blockM31  = 16
	blockQM31 = 4
)

// sumLimit bounds the products one call may add up, so that the accumulators
// of 64 bits cannot overflow. It is a multiple of the blocks.
const sumLimit = 1 << 27

// blocks returns the greatest multiple of size that is at most n, or 0 when
// no assembly is to be used.
func blocks(n, size int) int {
	if level == simd.None {
		return 0
	}
	return n &^ (size - 1)
}

// table lays out the factors of a multiplier as the kernels load them: pairs
// for the even and the odd limbs, see scripts/asm/field/qm31.go.
func (m *multiplier) table() *[6][2]uint64 {
	return &[6][2]uint64{{m.b0, m.b0}, {m.b1, m.b1}, {m.n1, m.n1}, {m.e, m.b2}, {m.f, m.b3}, {m.nf, m.n3}}
}

// reduce returns the element of K with limbs congruent to s.
func reduce(s *[4]uint64) QM31 {
	return NewQM31(Reduce64(s[0]), Reduce64(s[1]), Reduce64(s[2]), Reduce64(s[3]))
}

// limbs returns the address of the first limb of a non-empty vector of K.
func limbs(v []QM31) *uint32 { return (*uint32)(&v[0].C0.A0) }

// base returns the address of the first element of a non-empty vector.
func base(v []M31) *uint32 { return (*uint32)(&v[0]) }

func addVecFast(dst, a, b []M31) int {
	n := blocks(len(dst), blockM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		addVecAVX512(base(dst), base(a), base(b), uint64(n))
	default:
		addVecAVX2(base(dst), base(a), base(b), uint64(n))
	}
	return n
}

func subVecFast(dst, a, b []M31) int {
	n := blocks(len(dst), blockM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		subVecAVX512(base(dst), base(a), base(b), uint64(n))
	default:
		subVecAVX2(base(dst), base(a), base(b), uint64(n))
	}
	return n
}

func mulVecFast(dst, a, b []M31) int {
	n := blocks(len(dst), blockM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		mulVecAVX512(base(dst), base(a), base(b), uint64(n))
	default:
		mulVecAVX2(base(dst), base(a), base(b), uint64(n))
	}
	return n
}

func scaleVecFast(dst, a []M31, s M31) int {
	n := blocks(len(dst), blockM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		scaleVecAVX512(base(dst), base(a), uint32(s), uint64(n))
	default:
		scaleVecAVX2(base(dst), base(a), uint32(s), uint64(n))
	}
	return n
}

func fromInt32VecFast(dst []M31, src []int32) int {
	n := blocks(len(dst), blockM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		fromInt32VecAVX512(base(dst), &src[0], uint64(n))
	default:
		fromInt32VecAVX2(base(dst), &src[0], uint64(n))
	}
	return n
}

func mulQM31VecFast(dst, a, b []QM31) int {
	n := blocks(len(dst), blockQM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		mulQM31VecAVX512(limbs(dst), limbs(a), limbs(b), uint64(n))
	default:
		mulQM31VecAVX2(limbs(dst), limbs(a), limbs(b), uint64(n))
	}
	return n
}

func foldVecFast(dst, lo, hi []QM31, r QM31) int {
	n := blocks(len(dst), blockQM31)
	if n == 0 {
		return 0
	}
	m := newMultiplier(r)
	if level == simd.AVX512 {
		foldVecAVX512(limbs(dst), limbs(lo), limbs(hi), m.table(), uint64(n))
	} else {
		foldVecAVX2(limbs(dst), limbs(lo), limbs(hi), m.table(), uint64(n))
	}
	return n
}

func eqStepFast(lo, hi []QM31, r QM31) int {
	n := blocks(len(lo), blockQM31)
	if n == 0 {
		return 0
	}
	m := newMultiplier(r)
	if level == simd.AVX512 {
		eqStepAVX512(limbs(lo), limbs(hi), m.table(), uint64(n))
	} else {
		eqStepAVX2(limbs(lo), limbs(hi), m.table(), uint64(n))
	}
	return n
}

func foldM31VecFast(dst []QM31, lo, hi []M31, r QM31) int {
	n := blocks(len(dst), blockM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		foldM31VecAVX512(limbs(dst), base(lo), base(hi), (*uint32)(&r.C0.A0), uint64(n))
	default:
		foldM31VecAVX2(limbs(dst), base(lo), base(hi), (*uint32)(&r.C0.A0), uint64(n))
	}
	return n
}

func mulAccVecFast(dst []QM31, a []M31, s QM31) int {
	n := blocks(len(dst), blockM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		mulAccVecAVX512(limbs(dst), base(a), (*uint32)(&s.C0.A0), uint64(n))
	default:
		mulAccVecAVX2(limbs(dst), base(a), (*uint32)(&s.C0.A0), uint64(n))
	}
	return n
}

func mulAccInt32VecFast(dst []QM31, a []int32, s QM31) int {
	n := blocks(len(dst), blockM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		mulAccInt32VecAVX512(limbs(dst), &a[0], (*uint32)(&s.C0.A0), uint64(n))
	default:
		mulAccInt32VecAVX2(limbs(dst), &a[0], (*uint32)(&s.C0.A0), uint64(n))
	}
	return n
}

func embedVecFast(dst []QM31, a []M31) int {
	n := blocks(len(dst), blockM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		embedVecAVX512(limbs(dst), base(a), uint64(n))
	default:
		embedVecAVX2(limbs(dst), base(a), uint64(n))
	}
	return n
}

func subInt32VecFast(dst []QM31, a []int32, s QM31) int {
	n := blocks(len(dst), blockM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		subInt32VecAVX512(limbs(dst), &a[0], (*uint32)(&s.C0.A0), uint64(n))
	default:
		subInt32VecAVX2(limbs(dst), &a[0], (*uint32)(&s.C0.A0), uint64(n))
	}
	return n
}

func dotFast(a, b []QM31) (int, QM31) {
	n := blocks(len(a), blockQM31)
	var total QM31
	for lo := 0; lo < n; lo += sumLimit {
		var s [4]uint64
		if c := uint64(min(n-lo, sumLimit)); level == simd.AVX512 {
			dotAVX512(&s, limbs(a[lo:]), limbs(b[lo:]), c)
		} else {
			dotAVX2(&s, limbs(a[lo:]), limbs(b[lo:]), c)
		}
		total = total.Add(reduce(&s))
	}
	return n, total
}

func dotM31Fast(a []M31, w []QM31) (int, QM31) {
	n := blocks(len(a), blockM31)
	var total QM31
	for lo := 0; lo < n; lo += sumLimit {
		var s [4]uint64
		if c := uint64(min(n-lo, sumLimit)); level == simd.AVX512 {
			dotM31AVX512(&s, base(a[lo:]), limbs(w[lo:]), c)
		} else {
			dotM31AVX2(&s, base(a[lo:]), limbs(w[lo:]), c)
		}
		total = total.Add(reduce(&s))
	}
	return n, total
}

func dotInt32Fast(a []int32, w []QM31) (int, QM31) {
	n := blocks(len(a), blockM31)
	var total QM31
	for lo := 0; lo < n; lo += sumLimit {
		var s [4]uint64
		if c := uint64(min(n-lo, sumLimit)); level == simd.AVX512 {
			dotInt32AVX512(&s, &a[lo], limbs(w[lo:]), c)
		} else {
			dotInt32AVX2(&s, &a[lo], limbs(w[lo:]), c)
		}
		total = total.Add(reduce(&s))
	}
	return n, total
}
