package gguf

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

// TestFinite compares with the numbers, in blocks of random bytes.
func TestFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, kind := range types {
		finite := kind.finite()
		if finite == nil {
			continue
		}
		var answers []bool
		for range 2000 {
			const blocks = 2
			b := make([]byte, blocks*kind.bytes)
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			if at := rng.IntN(blocks)*kind.bytes + kind.halves[rng.IntN(len(kind.halves))]; rng.IntN(2) == 0 {
				b[at+1] |= 0x7c // an infinity or no number
			}
			y := make([]float32, blocks*kind.elems)
			kind.blocks()(y, b)
			got := finite(b)
			if want := graph.FirstNonFinite(y) < 0; got != want {
				t.Fatalf("%s: %x: %t, want %t", kind.name, b, got, want)
			}
			answers = append(answers, got)
		}
		if !slices.Contains(answers, true) || !slices.Contains(answers, false) {
			t.Errorf("%s: one answer for all blocks", kind.name)
		}
	}
}
