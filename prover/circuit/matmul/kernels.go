package matmul

import "github.com/prove-model/prove-model/prover/math/ints"

// intRows adds Σ_c x[c]·rows[c·stride+j] to s[j].
func intRows[T ints.Integer](s []int64, x []int32, rows []T, stride int) {
	n := intRowsFast(s, x, rows, stride)
	if n < len(s) {
		intRowsGeneric(s[n:], x, rows[n:], stride)
	}
}

func intRowsGeneric[T ints.Integer](s []int64, x []int32, rows []T, stride int) {
	// Four rows at a time load and store s a quarter as often.
	for len(x) >= 4 {
		r0, r1, r2, r3 := rows[:len(s)], rows[stride:][:len(s)], rows[2*stride:][:len(s)], rows[3*stride:][:len(s)]
		x0, x1, x2, x3 := int64(x[0]), int64(x[1]), int64(x[2]), int64(x[3])
		if x0|x1|x2|x3 != 0 { // after a Relu, many are zero
			for j := range s {
				s[j] += x0*int64(r0[j]) + x1*int64(r1[j]) + x2*int64(r2[j]) + x3*int64(r3[j])
			}
		}
		if x = x[4:]; len(x) > 0 {
			rows = rows[4*stride:]
		}
	}
	for i, v := range x {
		for j, r := range rows[i*stride:][:len(s)] {
			s[j] += int64(v) * int64(r)
		}
	}
}

// floatRows is intRows in float64: products are rounded, and added one after
// the other.
func floatRows(s, x, rows []float64, stride int) {
	n := floatRowsFast(s, x, rows, stride)
	if n < len(s) {
		floatRowsGeneric(s[n:], x, rows[n:], stride)
	}
}

func floatRowsGeneric(s, x, rows []float64, stride int) {
	for i, v := range x {
		for j, r := range rows[i*stride:][:len(s)] {
			s[j] += float64(v * r) // the conversion forbids a fused multiply-add
		}
	}
}

// pairRows adds Σ_c x[2c]·rows[2(c·stride+j)] + x[2c+1]·rows[2(c·stride+j)+1] to s[j], for
// len(x)/2 pairs. The sum of the magnitudes of all terms must be below 2^31.
func pairRows(s []int64, x, rows []int16, stride int) {
	n := pairRowsFast(s, x, rows, stride)
	if n < len(s) {
		pairRowsGeneric(s[n:], x, rows[2*n:], stride)
	}
}

func pairRowsGeneric(s []int64, x, rows []int16, stride int) {
	for c := 0; c < len(x); c += 2 {
		x0, x1 := int64(x[c]), int64(x[c+1])
		row := rows[c*stride:][:2*len(s)]
		for j := range s {
			s[j] += x0*int64(row[2*j]) + x1*int64(row[2*j+1])
		}
	}
}

// Dot returns Σ a[i]·b[i] modulo 2^64, for b as long as a.
func Dot(a, b []int32) int64 { return intDot(a, b) }

// intDot is Σ a[i]·b[i].
func intDot[T ints.Integer](a []int32, b []T) int64 {
	n, sum := intDotFast(a, b)
	return sum + intDotGeneric(a[n:], b[n:])
}

// dotWith is intDot for entries of one type, chosen once for many sums.
func dotWith[T ints.Integer]() func(a []int32, b []T) int64 {
	if f, ok := any(dot32).(func(a []int32, b []T) int64); ok {
		return f
	}
	return intDot[T]
}

// intDotGeneric keeps four partial sums, so that additions need not wait for each other.
func intDotGeneric[T ints.Integer](a []int32, b []T) int64 {
	var s0, s1, s2, s3 int64
	b = b[:len(a)]
	for len(a) >= 4 {
		s0 += int64(a[0]) * int64(b[0])
		s1 += int64(a[1]) * int64(b[1])
		s2 += int64(a[2]) * int64(b[2])
		s3 += int64(a[3]) * int64(b[3])
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s0 += int64(x) * int64(b[i])
	}
	return s0 + s1 + s2 + s3
}
