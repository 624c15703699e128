package transcript

import (
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// BenchmarkRound is what a round of a sumcheck writes: two elements, and a challenge.
func BenchmarkRound(b *testing.B) {
	for _, suite := range hash.All() {
		b.Run(suite.String(), func(b *testing.B) {
			w := NewWriter(New(suite, "round"))
			v := field.NewQM31(1, 2, 3, 4)
			for b.Loop() {
				w.SendQM31(v, v)
				v = w.Challenge()
				if len(w.proof) > 1<<16 {
					w.proof = w.proof[:0]
				}
			}
		})
	}
}

// BenchmarkGrind does work of 16 bits.
func BenchmarkGrind(b *testing.B) {
	for _, suite := range hash.All() {
		b.Run(suite.String(), func(b *testing.B) {
			w := NewWriter(New(suite, "grind"))
			for b.Loop() {
				w.Grind(16)
			}
		})
	}
}
