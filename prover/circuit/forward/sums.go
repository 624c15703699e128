package forward

import (
	"slices"
	"sync"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Final is a witness whose values do not change any more. It caches the last few virtual tensors
// that were asked for. So the next one in a chain of sums, such as a residual stream,
// is computed from the one before, and not from the first on.
type Final struct {
	*Witness
	mu   sync.Mutex
	sums []sum // the oldest first
}

// sum is a virtual tensor that has been computed.
type sum struct {
	id     model.TensorID
	values ints.Ints
}

// mostSums is the largest number of virtual tensors that Final caches.
const mostSums = 8

// Final returns the witness as one that does not change any more.
func (w *Witness) Final() *Final { return &Final{Witness: w} }

// Tensor is Witness.Tensor. The caller must not change the result.
func (f *Final) Tensor(id model.TensorID) []int32 {
	t := &f.graph.Tensors[id]
	if t.Kind != model.Virtual || moved(t) != nil {
		return f.Witness.Tensor(id)
	}
	v := f.eval(id, f.known())
	f.keep(id, v)
	return ints.All(v)
}

// known returns the cached virtual tensors.
func (f *Final) known() map[model.TensorID]ints.Ints {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := make(map[model.TensorID]ints.Ints, len(f.sums))
	for _, x := range f.sums {
		m[x.id] = x.values
	}
	return m
}

// keep caches a virtual tensor, in place of the oldest one if the cache is full.
func (f *Final) keep(id model.TensorID, values ints.Ints) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sums = slices.DeleteFunc(f.sums, func(x sum) bool { return x.id == id })
	if len(f.sums) == mostSums {
		f.sums = slices.Delete(f.sums, 0, 1)
	}
	f.sums = append(f.sums, sum{id, values})
}
