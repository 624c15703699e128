package forward

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// A final witness gives a chain of sums as the witness does, whatever is asked for in
// which order, and more often than it keeps.
func TestFinal(t *testing.T) {
	g := &model.Graph{Tensors: []model.Tensor{{Name: "x", Shape: []int{3}, Kind: model.Input, Min: -9, Max: 9}}}
	for i := range 2 * mostSums {
		def := []model.Linear{{Coef: 1, Src: model.TensorID(i)}, {Coef: int64(i), Src: 0}}
		if i%5 == 4 { // the same entries in another place
			def = def[:1]
		}
		g.Tensors = append(g.Tensors, model.Tensor{Name: fmt.Sprint(i), Shape: []int{3}, Kind: model.Virtual, Def: def})
	}
	w := &Witness{Values: make([][]int32, len(g.Tensors)), graph: g}
	w.Values[0] = []int32{1, -2, 3}
	f := w.Final()
	n := len(g.Tensors)
	for k := range 4 * n {
		for _, id := range []int{k % n, n - 1 - k%n, 7 * k % n} {
			if got, want := f.Tensor(model.TensorID(id)), w.Tensor(model.TensorID(id)); !slices.Equal(got, want) {
				t.Fatalf("tensor %d: %v, not %v", id, got, want)
			}
		}
		if len(f.sums) > mostSums {
			t.Fatalf("%d sums are kept", len(f.sums))
		}
	}
}
