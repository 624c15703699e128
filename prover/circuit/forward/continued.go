package forward

import (
	"context"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/arena"
)

// SetOne sets one row of a single input, and computes the steps whose rows are that input's.
func (r *Rows) SetOne(ctx context.Context, input, at int, values []int32) error {
	if err := r.put(input, at, values); err != nil {
		return err
	}
	return r.compute(ctx, func(i int) bool { return r.steps[i].input == input })
}

// Witness returns the witness of a run of g on inputs, and reuses the rows that have been computed. g must be causal, and an instance
// of the rows' template with the same or smaller sizes. Witness executes only those steps whose rows are not kept: steps that no
// output needs, and steps with two axes that depend on rows, since a row along one of them was computed before later rows of the other
// were known. Witness returns nil, and no error, if the rows are not from NewRowsAfter, or if a row of inputs was neither set with the
// same values nor known to it. The rows cannot be used afterwards.
func (r *Rows) Witness(ctx context.Context, g *model.Graph, weights model.Weights, inputs [][]int32) (*Witness, error) {
	if !r.covers(g, inputs) {
		return nil, nil
	}
	a := arena.ForRun()
	w, err := prepare(g, weights, inputs, a)
	if err == nil {
		err = r.finish(ctx, w)
	}
	if err != nil {
		a.Close()
		return nil, err
	}
	return w, nil
}

// covers reports whether all rows of the inputs of g are rows from which values were computed.
func (r *Rows) covers(g *model.Graph, inputs [][]int32) bool {
	if r.begun == nil || len(g.Steps) != len(r.g.Steps) || len(inputs) != len(r.inputs) {
		return false
	}
	for i, id := range g.Inputs {
		to, from := g.Tensors[id].Shape, r.g.Tensors[id].Shape
		if !within(to, from) || !slices.Equal(shrunk(r.inputs[i], from, to), inputs[i]) {
			return false
		}
		if axis := r.axes[i]; axis >= 0 {
			for at := range to[axis] {
				if !r.begun[i][at] {
					return false
				}
			}
		}
	}
	return true
}

// within reports whether a shape has as many axes as another one, and none of them is longer.
func within(shape, of []int) bool {
	if len(shape) != len(of) {
		return false
	}
	for a, d := range shape {
		if d > of[a] {
			return false
		}
	}
	return true
}

// finish takes the values of a witness that has only its inputs from the rows, and executes the other steps.
func (r *Rows) finish(ctx context.Context, w *Witness) error {
	return w.complete(ctx, func(i int, s *model.Step) ([]int32, bool) {
		if r.rows[i] < 0 || single(r.steps[i]) < 0 {
			return nil, false
		}
		for _, id := range s.Results() {
			w.Values[id] = shrunk(r.Values[id], r.g.Tensors[id].Shape, w.graph.Tensors[id].Shape)
		}
		if s.Kind != model.StepLookup {
			return nil, true
		}
		return shrunk(r.Keys[i], r.g.Steps[i].Shape, s.Shape), true
	})
}

// count adds the keys of look-up steps to multiplicities. steps has the steps by multiplicity tensor.
func (w *Witness) count(steps map[model.TensorID][]int) {
	g := w.graph
	var counts []model.TensorID
	for id := range steps {
		counts = append(counts, id)
	}
	parallel.For(len(counts), 1, func(lo, hi int) {
		for _, id := range counts[lo:hi] {
			count := w.Values[id]
			for _, i := range steps[id] {
				least := int32(g.Tables[g.Steps[i].Table].Min)
				for _, key := range w.Keys[i] {
					count[key-least]++
				}
			}
		}
	})
}

// shrunk returns the part of a tensor of shape from that has shape to, beginning at index
// 0 on every axis. It returns v itself if the shapes are the same.
func shrunk(v []int32, from, to []int) []int32 {
	if slices.Equal(from, to) {
		return v
	}
	out := make([]int32, model.Size(to))
	between(from, to, func(src, dst, n int) { copy(out[dst:dst+n], v[src:]) })
	return out
}
