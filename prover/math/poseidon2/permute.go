package poseidon2

import (
	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Sizes of the permutation and of what is built on it, in field elements.
const (
	Width     = 16 // state
	Rate      = 8  // absorbed or squeezed per permutation by a sponge
	DigestLen = 8  // a digest: 8 elements, 248 bits

	externalRounds = 8
	internalRounds = 14
)

// State is the permutation's state.
type State [Width]field.M31

// words is a state whose words are congruent to the field's elements but not
// reduced. The bounds at each step are stated where they matter.
type words [Width]uint64

// Permute applies the permutation to s.
func Permute(s *State) {
	if level == simd.AVX512 {
		permuteStateAVX512(word(&s[0]), &kernelConstants[0])
		return
	}
	var w words
	for i, v := range s {
		w[i] = uint64(v)
	}
	w.externalLayer() // < 35p < 2^37
	for r := range externalInitial {
		w.externalRound(&externalInitial[r])
	}
	for _, c := range internalConstants {
		w.internalRound(uint64(c))
	}
	for r := range externalFinal {
		w.externalRound(&externalFinal[r])
	}
	for i := range s {
		s[i] = field.Reduce64(w[i])
	}
}

// fold subtracts a multiple of p: v < 2^64 becomes at most p + v/2^31.
func fold(v uint64) uint64 { return v&field.P + v>>31 }

// pow5 returns a number below 2^33 congruent to v^5, for v below 2^31 + 2^20.
func pow5(v uint64) uint64 {
	v2 := fold(fold(v * v)) // v² < 2^63: below 2^33, then at most 2^31 + 2
	v4 := fold(v2 * v2)     // < 2^32 + 8
	return fold(v4 * v)     // v4·v < 2^63 + 2^53: below 3·2^31 + 2^22
}

// externalRound adds the constants, applies the S-box to every word and then
// the external matrix. Words are below 2^39 before and after.
func (w *words) externalRound(c *[Width]field.M31) {
	for i := range w {
		w[i] = pow5(fold(w[i] + uint64(c[i]))) // fold: < 2^31 + 2^9
	}
	w.externalLayer() // < 35·2^33 < 2^39
}

// externalLayer multiplies by M_E = circ(2·M4, M4, M4, M4): every word grows
// at most 35-fold.
func (w *words) externalLayer() {
	m4(&w[0], &w[1], &w[2], &w[3])
	m4(&w[4], &w[5], &w[6], &w[7])
	m4(&w[8], &w[9], &w[10], &w[11])
	m4(&w[12], &w[13], &w[14], &w[15])
	for i := range 4 {
		column := w[i] + w[i+4] + w[i+8] + w[i+12]
		w[i] += column
		w[i+4] += column
		w[i+8] += column
		w[i+12] += column
	}
}

// m4 multiplies (a, b, c, d) by M4 = circ(2, 3, 1, 1): each word becomes the
// sum of all four, plus itself, plus twice the next.
func m4(a, b, c, d *uint64) {
	x0, x1, x2, x3 := *a, *b, *c, *d
	sum := x0 + x1 + x2 + x3
	*a = sum + x0 + 2*x1
	*b = sum + x1 + 2*x2
	*c = sum + x2 + 2*x3
	*d = sum + x3 + 2*x0
}

// internalRound adds c to word 0, applies the S-box to it and then the
// internal matrix. Words are below 2^39 before, and below 2^31 + 2^25 after.
func (w *words) internalRound(c uint64) {
	w0 := pow5(fold(w[0] + c)) // < 4p
	sum := w0 + (w[1] + w[2] + w[3] + w[4] + w[5]) + (w[6] + w[7] + w[8] + w[9] + w[10]) +
		(w[11] + w[12] + w[13] + w[14] + w[15]) // < 2^43
	// The diagonal −2 leaves sum − 2·w0; sum has w0 in it once, and 4p keeps
	// the rest from going below zero.
	w[0] = fold(sum + 4*field.P - 2*w0)
	w[1] = fold(w[1] + sum)
	w[2] = fold(w[2]<<1 + sum)
	w[3] = fold(w[3]<<2 + sum)
	w[4] = fold(w[4]<<3 + sum)
	w[5] = fold(w[5]<<4 + sum)
	w[6] = fold(w[6]<<5 + sum)
	w[7] = fold(w[7]<<6 + sum)
	w[8] = fold(w[8]<<7 + sum)
	w[9] = fold(w[9]<<8 + sum)
	w[10] = fold(w[10]<<10 + sum)
	w[11] = fold(w[11]<<12 + sum)
	w[12] = fold(w[12]<<13 + sum)
	w[13] = fold(w[13]<<14 + sum)
	w[14] = fold(w[14]<<15 + sum)
	w[15] = fold(w[15]<<16 + sum) // < 2^55 + 2^43 before
}
