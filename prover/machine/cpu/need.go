package cpu

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// elementBytes is the size of an element of K.
const elementBytes = 16

// TaskNeed estimates the bytes of memory that the proof of a sub-transcript (fork) takes, beside
// the witness and the weights: the look-up tree, or the tables of the largest batch of sums,
// whichever is more.
func TaskNeed(g *model.Graph, f *plan.Fork) int64 {
	var need int64
	if n := f.Leaves.Size; n > 0 {
		// Numerators in F and denominators in K, and both in K for the layers above.
		need = int64(4+elementBytes)*int64(n) + 2*elementBytes<<logup.NumVars(n)
	}
	for i := range f.Batches {
		var tables, most int64
		for _, s := range f.Sums[f.Batches[i].From:f.Batches[i].To] {
			tables += 2 * elementBytes << s.Vars
			// A restriction also takes its table before the axes are put in order (arrange), and the weights of an axis.
			most = max(most, elementBytes<<s.Vars+elementBytes*longest(g.Tensors[s.A.Tensor].Shape))
		}
		need = max(need, tables+most)
	}
	return need
}

// longest returns the largest dimension, at least 1.
func longest(shape []int) int64 {
	most := 1
	for _, d := range shape {
		most = max(most, d)
	}
	return int64(most)
}
