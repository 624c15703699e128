package poly

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
)

// TestEqShift compares with the sum.
func TestEqShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	point := func(n int) []field.QM31 {
		p := make([]field.QM31, n)
		for i := range p {
			p[i] = field.NewQM31(field.M31(rng.Uint32N(field.P)), 1, field.M31(rng.Uint32N(field.P)), 2)
		}
		return p
	}
	for n := range 6 {
		r := point(n)
		table := EqTable(r)
		for k := range n + 1 {
			h := point(k)
			for offset := range 1<<n - 1<<k + 1 {
				want := field.Dot(EqTable(h), table[offset:offset+1<<k])
				if got := EqShift(h, r, uint64(offset)); got != want {
					t.Errorf("2^%d entries from %d on of 2^%d: %v, want %v", k, offset, n, got, want)
				}
			}
		}
	}
}

// TestPrefixes compares with EqIndex, beyond the tables as well.
func TestPrefixes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, vars := range []int{0, 1, prefixVars, prefixVars + 1, 2 * prefixVars, 3*prefixVars - 1, 30} {
		r := make([]field.QM31, vars)
		for i := range r {
			r[i] = field.NewQM31(field.M31(rng.Uint32N(field.P)), 1, field.M31(rng.Uint32N(field.P)), 2)
		}
		p := NewPrefixes(r)
		for n := range vars + 1 {
			for range 20 {
				i := rng.Uint64N(1 << n)
				if got, want := p.At(n, i), EqIndex(r[:n], i); got != want {
					t.Errorf("%d of %d coordinates, index %d: %v, want %v", n, vars, i, got, want)
				}
			}
		}
	}
}
