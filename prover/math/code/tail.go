package code

import "github.com/prove-model/prove-model/prover/math/field"

// A row of 2^n values with a tail of as many or fewer is the table (row, tail, 0, …) of n + 1
// variables: its codeword at x is the row's plus t_n(x) times the tail's. t_n is a constant other
// than 0 on each of the 2^(m−n) blocks of X_m that the transform begins with copies of the row
// for. So the tail changes what these begin with, and nothing else.

// EncodeTail is [Encode] for a row with a tail, without values for the zeros behind it. It panics
// unless len(tail) ≤ len(coeffs) < len(dst).
func EncodeTail(dst, coeffs, tail []field.M31) {
	n, m := tailLens(coeffs, tail, logLen(len(dst)))
	domain := NewDomain(m - n)
	for k := range 1 << (m - n) {
		addTail(dst[k<<n:(k+1)<<n], coeffs, tail, domain.Point(uint64(k)))
	}
	transform(twiddles(m)).nodes(dst, 1<<(m-n), func(k int) []field.M31 { return dst[k<<n : (k+1)<<n] })
}

// EncodeTailAt is [EncodeAt] for a row with a tail.
func EncodeTailAt(dst, coeffs, tail []field.M31, log int, positions []uint64, scratch []field.M31) {
	n, m := tailLens(coeffs, tail, log)
	if len(scratch) != len(coeffs) || len(dst) != len(positions) {
		panic("code: EncodeTailAt on the wrong lengths")
	}
	if len(positions) > 0 && positions[len(positions)-1]>>m != 0 {
		panic("code: position outside the domain")
	}
	t, domain := transform(twiddles(m)), NewDomain(m-n)
	first := 1 << (m - n)
	for k := range first {
		from := uint64(k) << n
		count := below(positions, from+1<<n)
		if count > 0 {
			addTail(scratch, coeffs, tail, domain.Point(uint64(k)))
			t.nodeAt(dst[:count], scratch, scratch, first+k, from, positions[:count])
		}
		dst, positions = dst[count:], positions[count:]
	}
}

// tailLens returns n and m for a row of 2^n values and a domain of 2^m points.
func tailLens(coeffs, tail []field.M31, m int) (int, int) {
	n := logLen(len(coeffs))
	if len(tail) > len(coeffs) || m <= n || m > MaxLogSize {
		panic("code: the tail is longer than the row, or the codeword too short or too long")
	}
	return n, m
}

// addTail sets dst to the row plus tau times the tail.
func addTail(dst, row, tail []field.M31, tau field.M31) {
	copy(dst[len(tail):], row[len(tail):])
	field.ScaleVec(dst[:len(tail)], tail, tau)
	field.AddVec(dst[:len(tail)], dst[:len(tail)], row[:len(tail)])
}

// UpperTail is [Blocks.Upper] for a row with a tail.
func (b Blocks) UpperTail(dst, coeffs, tail []field.M31, part int) {
	if len(tail) == 0 {
		b.Upper(dst, coeffs, part)
		return
	}
	if len(dst) != 1<<b.n || len(coeffs) != 1<<b.n {
		panic("code: a table of another length")
	}
	n, m := tailLens(coeffs, tail, b.m)
	addTail(dst, coeffs, tail, NewDomain(m-n).Point(uint64(part)))
	transform(twiddles(m)).upper(dst, dst, 1<<(m-n)+part, b.Len())
}
