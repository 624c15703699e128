package code

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
)

// TestBlocks compares with Encode, for tables of one block, of blocks where they are, and in tiles.
func TestBlocks(t *testing.T) {
	rng := newRand(8)
	for _, n := range []int{0, 1, 3, 4, 5, 9, blockVars, blockVars + 1, blockVars + 2, 15, 16, 17, 18, 19} {
		for _, blowup := range []int{0, 1, 2} {
			t.Run(fmt.Sprintf("2^%d at 2^-%d", n, blowup), func(t *testing.T) {
				coeffs, want := randomM31(rng, 1<<n), make([]field.M31, 1<<(n+blowup))
				Encode(want, coeffs)
				b := NewBlocks(n, n+blowup)
				got, upper := make([]field.M31, b.Len()), randomM31(rng, 1<<n)
				for part := range b.Parts() {
					b.Upper(upper, coeffs, nil, part)
					for k := range b.Count() {
						b.Lower(got, upper[k*b.Len():(k+1)*b.Len()], part, k)
						if !slices.Equal(got, want[:b.Len()]) {
							t.Fatalf("part %d, block %d", part, k)
						}
						want = want[b.Len():]
					}
				}
			})
		}
	}
}
