//go:build amd64 && !purego

package field

import "github.com/prove-model/prove-model/internal/simd"

func roundSumsFast(a, b Halves) (n int, zero, top QM31) {
	n = blocks(len(a.Lo), blockQM31)
	for i := 0; i < n; i += sumLimit {
		var s [2][4]uint64
		if c := uint64(min(n-i, sumLimit)); level == simd.AVX512 {
			roundSumsAVX512(&s, limbs(a.Lo[i:]), limbs(a.Hi[i:]), limbs(b.Lo[i:]), limbs(b.Hi[i:]), c)
		} else {
			roundSumsAVX2(&s, limbs(a.Lo[i:]), limbs(a.Hi[i:]), limbs(b.Lo[i:]), limbs(b.Hi[i:]), c)
		}
		zero, top = zero.Add(reduce(&s[0])), top.Add(reduce(&s[1]))
	}
	return n, zero, top
}

func roundSumsWeightedFast(w []QM31, a, b Halves) (n int, zero, top QM31) {
	n = blocks(len(w), blockQM31)
	for i := 0; i < n; i += sumLimit {
		var s [2][4]uint64
		if c := uint64(min(n-i, sumLimit)); level == simd.AVX512 {
			roundSumsWeightedAVX512(&s, limbs(w[i:]), limbs(a.Lo[i:]), limbs(a.Hi[i:]), limbs(b.Lo[i:]), limbs(b.Hi[i:]), c)
		} else {
			roundSumsWeightedAVX2(&s, limbs(w[i:]), limbs(a.Lo[i:]), limbs(a.Hi[i:]), limbs(b.Lo[i:]), limbs(b.Hi[i:]), c)
		}
		zero, top = zero.Add(reduce(&s[0])), top.Add(reduce(&s[1]))
	}
	return n, zero, top
}

func fractionRoundSumsFast(w []QM31, n0, n1, d0, d1 Halves) (n int, zero, top QM31) {
	n = blocks(len(w), blockQM31)
	for i := 0; i < n; i += sumLimit {
		var s [2][4]uint64
		kernel := fractionRoundSumsAVX2
		if level == simd.AVX512 {
			kernel = fractionRoundSumsAVX512
		}
		kernel(&s, limbs(w[i:]), limbs(n0.Lo[i:]), limbs(n0.Hi[i:]), limbs(n1.Lo[i:]), limbs(n1.Hi[i:]),
			limbs(d0.Lo[i:]), limbs(d0.Hi[i:]), limbs(d1.Lo[i:]), limbs(d1.Hi[i:]), uint64(min(n-i, sumLimit)))
		zero, top = zero.Add(reduce(&s[0])), top.Add(reduce(&s[1]))
	}
	return n, zero, top
}

func addFractionsFast(num, den, n0, n1, d0, d1 []QM31) int {
	n := blocks(len(num), blockQM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		addFractionsAVX512(limbs(num), limbs(den), limbs(n0), limbs(n1), limbs(d0), limbs(d1), uint64(n))
	default:
		addFractionsAVX2(limbs(num), limbs(den), limbs(n0), limbs(n1), limbs(d0), limbs(d1), uint64(n))
	}
	return n
}

func addFractionsM31Fast(num, den []QM31, n0, n1 []M31, d0, d1 []QM31) int {
	n := blocks(len(num), blockM31)
	switch {
	case n == 0:
	case level == simd.AVX512:
		addFractionsM31AVX512(limbs(num), limbs(den), base(n0), base(n1), limbs(d0), limbs(d1), uint64(n))
	default:
		addFractionsM31AVX2(limbs(num), limbs(den), base(n0), base(n1), limbs(d0), limbs(d1), uint64(n))
	}
	return n
}

func mulAccQM31VecFast(dst, a []QM31, s QM31) int {
	n := blocks(len(dst), blockQM31)
	if n == 0 {
		return 0
	}
	m := newMultiplier(s)
	if level == simd.AVX512 {
		mulAccQM31VecAVX512(limbs(dst), limbs(a), m.table(), uint64(n))
	} else {
		mulAccQM31VecAVX2(limbs(dst), limbs(a), m.table(), uint64(n))
	}
	return n
}
