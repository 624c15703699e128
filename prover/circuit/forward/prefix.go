package forward

import (
	"context"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/matmul"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// NewRowsAfter is NewRows for a causal circuit whose first rows are known. first is the circuit of the same template for
// these rows alone, and known has its inputs. Only these rows are computed; later rows are zero until they are set. inputs
// are the inputs of g, whose later rows may have any values in range. late is the number of an input of which only row 0
// is computed now, such as the positions of logits, which a text needs one after the other; −1 for none. If some step
// has to be computed as a whole for every row, NewRowsAfter does what NewRows does.
func NewRowsAfter(ctx context.Context, first *model.Graph, known [][]int32, g *model.Graph, weights model.Weights, inputs [][]int32, axes []int, late int) (*Rows, error) {
	r, err := beginRows(g, weights, inputs, axes)
	if err != nil {
		return nil, err
	}
	if whole, _ := r.Whole(); whole > 0 {
		return NewRows(ctx, g, weights, inputs, axes)
	}
	// Multiplicities are not counted here: Witness counts them for the whole run.
	begun, err := begin(first, weights, known, nil)
	if err != nil {
		return nil, err
	}
	r.allocate()
	e := newExecutor(begun)
	e.skip = func(i int) bool { return late >= 0 && r.steps[i].input == late || r.held[i] }
	e.into = func(id model.TensorID, step int) []int32 {
		switch {
		case step >= 0 && begins(first.Steps[step].Shape, g.Steps[step].Shape):
			return r.Keys[step]
		case step < 0 && begins(first.Tensors[id].Shape, g.Tensors[id].Shape):
			return r.Values[id]
		}
		return nil
	}
	if err := e.all(ctx); err != nil {
		return nil, err
	}
	r.markBegun(first, known, late)
	if err := r.growFrom(begun); err != nil {
		return nil, err
	}
	clear(r.cache)
	if late >= 0 {
		shape := g.Tensors[g.Inputs[late]].Shape
		return r, r.SetOne(ctx, late, 0, slices.Clone(take(r.inputs[late], shape, axes[late], 0)))
	}
	return r, nil
}

// allocate allocates the results and keys of all steps that have rows, in one piece of memory.
func (r *Rows) allocate() {
	g := r.graph
	room := make([]int32, entries(g))
	own := func(shape []int) []int32 {
		n := model.Size(shape)
		v := room[:n:n]
		room = room[n:]
		return v
	}
	r.held = make([]bool, len(g.Steps))
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Kind == model.StepZero || r.steps[i].input == nothing { // the results of the latter do not depend on rows; eachOfRows computes them
			continue
		}
		for _, id := range s.Results() {
			r.Values[id] = own(g.Tensors[id].Shape)
		}
		if id, ok := heldKeys(g, i); ok && r.Values[id] != nil {
			r.Keys[i], r.held[i] = r.Values[id], true
		} else if s.Kind == model.StepLookup {
			r.Keys[i] = own(s.Shape)
		}
	}
}

// markBegun sets begun for the rows of inputs that are the same in the run of the first rows, from which values were taken. Of input late
// no row was computed.
func (r *Rows) markBegun(first *model.Graph, known [][]int32, late int) {
	g := r.graph
	r.begun = make([][]bool, len(r.inputs))
	for i, id := range g.Inputs {
		axis := r.layout.axes[i]
		if axis < 0 {
			continue
		}
		to, from := g.Tensors[id].Shape, first.Tensors[id].Shape
		r.begun[i] = make([]bool, to[axis])
		for at := range from[axis] {
			if i == late {
				break
			}
			r.begun[i][at] = slices.Equal(take(known[i], from, axis, at), take(r.inputs[i], to, axis, at))
		}
	}
}

// growFrom copies the results and keys of the run of the first rows to their places, if that run has not written them there already
// (begins). It also computes the steps that are the same for all rows.
func (r *Rows) growFrom(begun *Witness) error {
	g, first := r.graph, begun.graph
	var list []growing
	grow := func(out, v []int32, from, to []int) {
		if v != nil && !begins(from, to) {
			list = append(list, growing{out, v, from, to})
		}
	}
	err := r.eachOfRows(func(i int, s *model.Step) {
		if s.Kind == model.StepLookup && !r.held[i] {
			grow(r.Keys[i], begun.Keys[i], first.Steps[i].Shape, s.Shape)
		}
		for _, id := range s.Results() {
			grow(r.Values[id], begun.Values[id], first.Tensors[id].Shape, g.Tensors[id].Shape)
		}
	})
	parallel.For(len(list), 1, func(lo, hi int) {
		for i := range list[lo:hi] {
			list[lo+i].fill()
		}
	})
	return err
}

// beginRows returns Rows on copies of inputs, for which no step has been computed yet.
func beginRows(g *model.Graph, weights model.Weights, inputs [][]int32, axes []int) (*Rows, error) {
	own := cloned(inputs)
	w, err := begin(g, weights, own, nil)
	if err != nil {
		return nil, err
	}
	return newRows(w, own, axes), nil
}

func cloned(inputs [][]int32) [][]int32 {
	own := make([][]int32, len(inputs))
	for i, v := range inputs {
		own[i] = slices.Clone(v)
	}
	return own
}

// eachOfRows executes the steps that do not depend on rows, and calls f for every other step that has results.
func (r *Rows) eachOfRows(f func(i int, s *model.Step)) error {
	for i := range r.graph.Steps {
		s := &r.graph.Steps[i]
		switch {
		case s.Kind == model.StepZero:
		case r.steps[i].input != nothing:
			f(i, s)
		default:
			if err := r.step(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// newRows returns Rows on a witness. own are the witness's inputs, which Set overwrites.
func newRows(w *Witness, own [][]int32, axes []int) *Rows {
	return &Rows{
		executor: newExecutor(w),
		inputs:   own, layout: newLayout(w.graph, axes), at: make([]int, len(own)), kept: make([]keptRow, len(w.graph.Tensors)),
		rowsOf: make([]*rowStep, len(w.graph.Steps)), virtuals: make([]*rowLine, len(w.graph.Tensors)), matrices: map[model.TensorID]*matmul.Matrix{},
		wholes: map[model.TensorID]*wholeRows{}, set: make([][]int, len(own)),
	}
}

// entries returns the number of values and keys that the steps of a run compute, but for keys that are a tensor's values (heldKeys).
func entries(g *model.Graph) int {
	n := 0
	for i := range g.Steps {
		s := &g.Steps[i]
		size := model.Size(s.Shape)
		if _, held := heldKeys(g, i); s.Kind == model.StepLookup && !held {
			n += size
		}
		n += size * len(s.Results())
	}
	return n
}

// growing copies a tensor v of shape from into a larger one, out, of shape to: each entry to the same indexes (fill). Other entries of out
// are left as they are.
type growing struct {
	out, v   []int32
	from, to []int
}

// begins reports whether the entries of a tensor of the small shape are, in memory, the first entries of the large one: the shapes differ
// only in the first axis of the large one that is longer than 1.
func begins(small, large []int) bool {
	for a, d := range large {
		if d != 1 {
			return slices.Equal(small[a+1:], large[a+1:])
		}
	}
	return true
}

// Grown returns the entries of a tensor at their indexes in one of a larger shape, and zeros elsewhere.
func Grown(v []int32, from, to []int) []int32 {
	g := growing{make([]int32, model.Size(to)), v, from, to}
	g.fill()
	return g.out
}

func (g *growing) fill() {
	between(g.to, g.from, func(dst, src, n int) { copy(g.out[dst:dst+n], g.v[src:]) })
}

// between goes through the entries whose indexes exist in both of two tensors with the same number of axes, of
// which the second is not larger on any axis. Each call of f is for n adjacent entries, which begin at offset
// large in the larger tensor and at offset small in the smaller one.
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
