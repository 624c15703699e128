package fixed

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Slots are the greatest scores of a row in order, of equal ones the first: of scores that a table has the differences of, and of
// wider ones, which are compared in pairs; where all are equal or at the ends of their range too.
func TestSlots(t *testing.T) {
	const rows, experts = 12, 5
	rng := rand.New(rand.NewPCG(3, 9))
	for _, most := range []int64{0, 1, 3, 1<<15 - 1, 1<<16 - 1, 1 << 16, 1 << 22} {
		for _, count := range []int{1, 2, experts} {
			l := newIntegers()
			x := l.input([]int{rows, experts}, -most, most)
			id := l.Slots("slots", x, count)
			in := make([]int32, rows*experts)
			for i := range in {
				switch row := i / experts; {
				case row < 2: // all alike
					in[i] = int32(2*row-1) * int32(most)
				case row < 6:
					in[i] = int32(rng.IntN(2)*2-1) * int32(most)
				default:
					in[i] = int32(rng.Int64N(2*most+1) - most)
				}
			}
			got := l.run(t, []model.TensorID{id}, in).Tensor(id)
			for row := range rows {
				own := in[row*experts:][:experts]
				for c := range count {
					expert := slices.Index(own, slices.Max(own))
					want := make([]int32, experts)
					want[expert] = 1
					if slot := got[(row*count+c)*experts:][:experts]; !slices.Equal(slot, want) {
						t.Fatalf("scores to %d: slot %d of %v is %v", most, c, in[row*experts:][:experts], slot)
					}
					own = slices.Clone(own)
					own[expert] = int32(-most - 1)
				}
			}
			pairs := !slices.ContainsFunc(l.Circuit.Steps, func(s model.Step) bool { return s.Kind == model.StepMax })
			if pairs != (most >= 1<<16) {
				t.Errorf("scores to %d are compared in pairs: %v", most, pairs)
			}
		}
	}
}
