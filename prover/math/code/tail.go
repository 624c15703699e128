package code

import "github.com/prove-model/prove-model/prover/math/field"

// A row of 2^n values with a tail of up to 2^n values is the table (row, tail, 0, …) of n + 1 variables. Its codeword at x is
// that of the row plus t_n(x) times that of the tail. For each of the 2^(m−n) blocks of X_m the transform starts from a copy of
// the row. On such a block t_n is a constant other than 0. So with a tail each block starts from row + t_n·tail, and nothing
// else changes.

// EncodeTail is [Encode] for a row coeffs with a tail, which may be empty. If there is a tail, it panics
// unless len(tail) ≤ len(coeffs) < len(dst).
func EncodeTail(dst, coeffs, tail []field.M31) {
	n, m := lens(coeffs, tail, logLen(len(dst)))
	// In the first m − n layers b is zero in all butterflies, so they only copy a. Each
	// node at level m − n therefore starts from a copy of the table.
	input := func(int) []field.M31 { return coeffs }
	if len(tail) > 0 {
		domain := NewDomain(m - n)
		input = func(k int) []field.M31 { return dst[k<<n : (k+1)<<n] }
		for k := range 1 << (m - n) {
			addTail(input(k), coeffs, tail, domain.Point(uint64(k)))
		}
	}
	transform(twiddles(m)).nodes(dst, 1<<(m-n), input)
}

// lens returns n and m for a row of 2^n values, perhaps with a tail, and a domain of 2^m points.
func lens(coeffs, tail []field.M31, m int) (int, int) {
	n := logLen(len(coeffs))
	if len(tail) > len(coeffs) || m < n || m == n && len(tail) > 0 || m > MaxLogSize {
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
