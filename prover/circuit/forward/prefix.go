package forward

import (
	"context"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// NewRowsAfter is NewRows of a causal circuit of which the first rows are known: first is
// the instance of the same template for these alone, with its inputs. Only they are
// computed now; what is behind them is zero until it is set. inputs are those of g, of
// which the rows to come are filled with anything in range. If some step has to be
// computed as a whole for every row, all is computed.
func NewRowsAfter(ctx context.Context, first *model.Graph, known [][]int32, g *model.Graph, weights model.Weights, inputs [][]int32, axes []int) (*Rows, error) {
	own := make([][]int32, len(inputs))
	for i, v := range inputs {
		own[i] = slices.Clone(v)
	}
	w, err := begin(g, weights, own, nil)
	if err != nil {
		return nil, err
	}
	r := newRows(w, own, axes)
	if whole, _ := r.Whole(); whole > 0 {
		return NewRows(ctx, g, weights, inputs, axes)
	}
	// Rows are not counted: Witness counts the whole.
	begun, err := begin(first, weights, known, nil)
	if err == nil {
		err = newExecutor(begun).all(ctx)
	}
	if err != nil {
		return nil, err
	}
	room := make([]int32, entries(g))
	r.begun = make([][]bool, len(inputs))
	for i, id := range g.Inputs {
		if axes[i] >= 0 {
			to, from := g.Tensors[id].Shape, first.Tensors[id].Shape
			r.begun[i] = make([]bool, to[axes[i]])
			for at := range from[axes[i]] {
				r.begun[i][at] = slices.Equal(take(known[i], from, axes[i], at), take(own[i], to, axes[i], at))
			}
		}
	}
	var list []growing
	grow := func(v []int32, from, to []int) []int32 {
		n := model.Size(to)
		out := room[:n:n]
		room, list = room[n:], append(list, growing{out, v, from, to})
		return out
	}
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Kind == model.StepZero {
			continue
		}
		if r.steps[i].input == nothing { // it is the same for all rows that there may be
			if err := r.step(i); err != nil {
				return nil, err
			}
			continue
		}
		if s.Kind == model.StepLookup {
			r.Keys[i] = grow(begun.Keys[i], first.Steps[i].Shape, s.Shape)
		}
		for _, id := range []model.TensorID{s.Out, s.Lo} {
			if id != model.None {
				w.Values[id] = grow(begun.Values[id], first.Tensors[id].Shape, g.Tensors[id].Shape)
			}
		}
	}
	parallel.For(len(list), 1, func(lo, hi int) {
		for i := range list[lo:hi] {
			list[lo+i].fill()
		}
	})
	clear(r.cache)
	return r, nil
}

// newRows are the rows of a witness whose inputs are own.
func newRows(w *Witness, own [][]int32, axes []int) *Rows {
	return &Rows{
		executor: newExecutor(w),
		inputs:   own, layout: newLayout(w.graph, axes), at: make([]int, len(own)), kept: map[rowOf]ints.Ints{}, laid: map[productOf]*contraction{},
	}
}

// entries returns how many values and keys the steps of a run give.
func entries(g *model.Graph) int {
	n := 0
	for i := range g.Steps {
		s := &g.Steps[i]
		size := model.Size(s.Shape)
		if s.Kind == model.StepLookup {
			n += size
		}
		for _, id := range []model.TensorID{s.Out, s.Lo} {
			if id != model.None {
				n += size
			}
		}
	}
	return n
}

// growing is a tensor of a larger shape, of zeros, that gets the entries of v where it has their
// indexes.
type growing struct {
	out, v   []int32
	from, to []int
}

func (g *growing) fill() {
	between(g.to, g.from, func(dst, src, n int) { copy(g.out[dst:dst+n], g.v[src:]) })
}

// between calls f for the entries that a tensor and a smaller one of as many axes have in
// common, in the order of their indexes: n of them are next to each other from large, and
// from small on.
func between(largeShape, smallShape []int, f func(large, small, n int)) {
	if len(smallShape) == 0 {
		f(0, 0, 1)
		return
	}
	last := len(smallShape) - 1
	var axis func(a, large, small int)
	axis = func(a, large, small int) {
		if a == last {
			f(large*largeShape[last], small*smallShape[last], smallShape[last])
			return
		}
		for i := range smallShape[a] {
			axis(a+1, large*largeShape[a]+i, small*smallShape[a]+i)
		}
	}
	axis(0, 0, 0)
}
