package code

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"pgregory.net/rapid"
)

func TestEncodeAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 13).Draw(t, "table variables")
		log := n + rapid.IntRange(0, 3).Draw(t, "blowup")
		rng := newRand(rapid.Uint64().Draw(t, "seed"))
		coeffs := randomM31(rng, 1<<n)
		var positions []uint64
		for range rapid.IntRange(0, 40).Draw(t, "positions") {
			positions = append(positions, rng.Uint64N(1<<log))
		}
		slices.Sort(positions)
		positions = slices.Compact(positions)
		word := make([]field.M31, 1<<log)
		Encode(word, coeffs)
		got := make([]field.M31, len(positions))
		EncodeAt(got, coeffs, nil, log, positions, make([]field.M31, 1<<n))
		for i, p := range positions {
			if got[i] != word[p] {
				t.Fatalf("position %d of 2^%d: %d, want %d", p, log, got[i], word[p])
			}
		}
	})
}
