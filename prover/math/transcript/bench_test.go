package transcript

import (
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
)

// BenchmarkRound is what a round of a sumcheck writes: two elements, and a challenge.
func BenchmarkRound(b *testing.B) {
	w := NewWriter(New("round"))
	v := field.NewQM31(1, 2, 3, 4)
	for b.Loop() {
		w.SendQM31(v, v)
		v = w.Challenge()
		if len(w.proof) > 1<<16 {
			w.proof = w.proof[:0]
		}
	}
}
