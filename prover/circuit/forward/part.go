package forward

import (
	"context"
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/arena"
)

// RunPart is Run for callers that need only outputs and the wanted tensors, not a
// witness. Every step is computed and checked as in Run, but keys and multiplicities
// are not kept, and other values are dropped after the last step that reads them.
// Memory comes from the arena; its owner frees it.
func RunPart(ctx context.Context, g *model.Graph, weights model.Weights, inputs [][]int32, wanted []model.TensorID, a *arena.Arena) (*Witness, error) {
	w, err := begin(g, weights, inputs, a)
	if err != nil {
		return nil, err
	}
	e := newExecutor(w)
	e.live = newLiveness(w.graph, wanted)
	return w, e.all(ctx)
}

// liveness says how long the values of tensors are needed.
type liveness struct {
	last []int              // by tensor: the last step that reads it, directly or through virtual tensors; −1 for none, or forever
	ends [][]model.TensorID // by step: the results that need not be kept after it
}

// forever is liveness.last of tensors that must be kept.
const forever = math.MaxInt

// newLiveness finds the liveness of tensors if outputs and wanted tensors are kept.
func newLiveness(g *model.Graph, wanted []model.TensorID) *liveness {
	l := &liveness{make([]int, len(g.Tensors)), make([][]model.TensorID, len(g.Steps))}
	for id := range l.last {
		l.last[id] = -1
	}
	var read func(id model.TensorID, at int)
	read = func(id model.TensorID, at int) {
		if l.last[id] >= at {
			return
		}
		l.last[id] = at
		for of := range g.Tensors[id].Sources {
			read(of, at)
		}
	}
	for _, list := range [][]model.TensorID{g.Outputs, wanted} {
		for _, id := range list {
			read(id, forever)
		}
	}
	for i := range g.Steps {
		for id := range g.Steps[i].Sources {
			read(id, i)
		}
	}
	for i := range g.Steps {
		s := &g.Steps[i]
		for _, id := range []model.TensorID{s.Out, s.Lo} {
			if id != model.None && l.last[id] != forever {
				at := max(l.last[id], i)
				l.ends[at] = append(l.ends[at], id)
			}
		}
	}
	return l
}

// drop frees the values that no step after i needs.
func (e *executor) drop(i int) {
	for _, id := range e.live.ends[i] {
		arena.Free(e.arena, e.Values[id])
		e.Values[id] = nil
	}
}
