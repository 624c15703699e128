package lower

import (
	"errors"
	"maps"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// maxBatch is the bound of a free batch, unless a circuit of that size is over
// the limits of a graph.
const maxBatch = 1 << 16

// A free batch is tried with these sizes: not 1, where axes are taken to
// broadcast, and two of which neither divides the other, which tells what scales.
var fewSizes = []int{2, 3}

// And with the first of these that the float model can have, since a batch of
// three does not tell that a model only looks at the first ten, or at every other.
var manySizes = []int{1021, 251, 61, 13, 7}

// Batch returns the symbol of the batch: the leading axis of every input, which
// the model leaves open. It is "" if there is none, or if an input has no elements that
// would tell its size.
func Batch(fg *graph.Graph) string {
	if fg.Rebind == nil || len(fg.Inputs) == 0 {
		return ""
	}
	batch := ""
	for i, in := range fg.Inputs {
		if model.Size(in.Shape) == 0 || len(in.Symbols) == 0 || in.Symbols[0] == "" || i > 0 && in.Symbols[0] != batch {
			return ""
		}
		batch = in.Symbols[0]
	}
	return batch
}

// Pair returns the float model for a batch of two, whose values a model with a free
// batch has ranges of.
func Pair(fg *graph.Graph) (*graph.Graph, error) {
	batch := Batch(fg)
	if batch == "" {
		return nil, errors.New("the model leaves no batch open")
	}
	return fg.Rebind(map[string]int{batch: fewSizes[0]})
}

// quantiseFree quantises fg with a free batch: it lowers the model for several
// sizes, with one choice of formats, and lifts what comes out to a template.
func quantiseFree(fg *graph.Graph, ranges map[string]Range, opts Options, memory *Memory, batch string) *Result {
	if memory.variants == nil || memory.variants.of != fg {
		memory.variants = &variants{of: fg, list: rebind(fg, batch, fewSizes, manySizes)}
	}
	list := memory.variants.list
	t, first := lowerAll(list, []model.FreeDim{{Name: batch, Bound: 1}}, func(i int, _ *lowering) *lowering {
		l := newLowering(list[i].graph, withMoves(list[i].graph, ranges), opts, memory)
		l.Batch = list[i].sizes[0]
		return l
	})
	t.Free[0].Bound = maxBatch
	bound(t, fewSizes[0])
	return first.finish(t, model.Instance{Sizes: []int{fg.Inputs[0].Shape[0]}})
}

// lowerAll lowers a model for several sizes of its free dimensions, with the choices that suit the first, and lifts what
// comes out to a template. begin returns the lowering for a size, given what the first has become. It returns that as well.
func lowerAll(list []sized, free []model.FreeDim, begin func(i int, first *lowering) *lowering) (t *model.Template, first *lowering) {
	first = begin(0, nil).choose()
	all, errs := make([]*lowering, len(list)), make([]error, len(list))
	var others []func() // side by side
	for i := range list[1:] {
		others = append(others, func() {
			all[i+1], errs[i+1] = refuse.Result(func() *lowering {
				l := begin(i+1, first)
				l.Plan = first.Plan
				l.run()
				return l
			})
		})
	}
	parallel.Do(others...)
	all[0] = first
	builds := make([]model.Build, len(list))
	for i, l := range all {
		must.OK(errs[i])
		builds[i] = model.Build{Sizes: list[i].sizes, Graph: l.Circuit}
	}
	for i := range free {
		free[i].Name = model.PrintableName(free[i].Name)
	}
	t = must.Get(model.Lift(free, builds...))
	for _, l := range all[1:] {
		sameFixed(first, l)
	}
	return t, first
}

// bound checks that a template gives a circuit for the least sizes, since constant indices may name the second, and the
// greatest. It halves the bound of the last dimension, a batch or the positions of logits, say, until so many are within the
// limits of a circuit, if there are more than least.
func bound(t *model.Template, least int) {
	if _, err := t.At(t.Unit()); err != nil {
		refuse.With("of 1: %w", err)
	}
	for last := &t.Free[len(t.Free)-1].Bound; ; *last /= 2 {
		var most []int
		for _, d := range t.Free {
			most = append(most, d.Bound)
		}
		_, err := t.At(model.Instance{Sizes: most})
		if err == nil {
			return
		}
		if *last <= least {
			refuse.With("of %d: %w", most[0], err)
		}
	}
}

// sameFixed checks that the fixed tensors of two lowerings, which are alike in
// all that a circuit says of them, have the same values.
func sameFixed(a, b *lowering) {
	for i := range a.FixedTensors {
		x, y := &a.FixedTensors[i], &b.FixedTensors[i]
		if v, w := a.weights[x.ID], b.weights[y.ID]; v != nil && w != nil && x.Key == y.Key && v.Same(w) {
			continue
		}
		if t := &a.Circuit.Tensors[x.ID]; !sameFill(x.Fill, y.Fill, model.Size(t.Shape)) {
			refuse.With("the values of %q depend on it", t.Name)
		}
	}
}

// sameFill reports whether two fixed tensors have the same n entries.
func sameFill(x, y fixed.Filler, n int) bool {
	v, w := make([]int32, min(n, 1<<14)), make([]int32, min(n, 1<<14))
	for from := 0; from < n; from += len(v) {
		v, w = v[:min(len(v), n-from)], w[:min(len(w), n-from)]
		x(v, from)
		y(w, from)
		if !slices.Equal(v, w) {
			return false
		}
	}
	return true
}

// withMoves returns ranges with those of values that only move the entries of
// another: for one size such a node may be there, for that of calibration not.
func withMoves(fg *graph.Graph, ranges map[string]Range) map[string]Range {
	ranges = maps.Clone(ranges)
	for _, n := range fg.Nodes {
		if _, ok := ranges[n.Output]; ok {
			continue
		}
		if m := TraitsOf(n.Op).moves; m == rearranges || m == keeps || m == selects {
			if r, ok := ranges[n.Inputs[0]]; ok {
				ranges[n.Output] = r
			}
		}
	}
	checkRanges(fg, ranges)
	return ranges
}

// sized is the float model for some sizes of its free dimensions.
type sized struct {
	sizes []int
	graph *graph.Graph
}

// variants are a float model for all sizes that it is tried with, and of a model of texts the
// constants that differ, for the bound of the length, which is the first.
type variants struct {
	of    *graph.Graph
	list  []sized
	whole map[string]*graph.Tensor
}

// rebind returns the model for all of some sizes of the batch, and for the first
// of others that it can have.
func rebind(fg *graph.Graph, batch string, all, first []int) (list []sized) {
	for _, n := range all {
		list = append(list, sized{[]int{n}, must.Get(fg.Rebind(map[string]int{batch: n}))})
	}
	var err error
	for _, n := range first {
		var g *graph.Graph
		if g, err = fg.Rebind(map[string]int{batch: n}); err == nil {
			list = append(list, sized{[]int{n}, g})
			break
		}
	}
	must.OK(err)
	shrinkConstants(list)
	return list
}

// shrinkConstants gives constants that repeat themselves along an axis as long as
// the batch one entry there, in all graphs, if every node that reads them
// broadcasts it again: what an Expand to the batch's size has been folded to.
func shrinkConstants(list []sized) {
	for name, t := range list[0].graph.Consts {
		for axis := range t.Shape {
			shrunk := make([]*graph.Tensor, 0, len(list))
			for _, b := range list {
				t := b.graph.Consts[name]
				if t == nil || axis >= len(t.Shape) || t.Shape[axis] != b.sizes[0] || !broadcasts(b.graph, name, axis) {
					break
				}
				if t = first(t, axis); t == nil {
					break
				}
				shrunk = append(shrunk, t)
			}
			if len(shrunk) < len(list) {
				continue
			}
			for i, b := range list {
				b.graph.Consts[name], b.graph.Shapes[name] = shrunk[i], shrunk[i].Shape
			}
		}
	}
}

// broadcasts reports whether all nodes that read a constant treat an axis of
// dimension 1 as one that repeats, and none gives it out.
func broadcasts(g *graph.Graph, name string, axis int) bool {
	if slices.Contains(g.Outputs, name) {
		return false
	}
	for _, n := range g.Nodes {
		for i, in := range n.Inputs {
			if in != name {
				continue
			}
			if b := TraitsOf(n.Op).broadcasts; b == nil || !b(i, axis, len(g.Shapes[name])) {
				return false
			}
		}
	}
	return true
}

// first returns the first entry of a tensor along an axis, nil if another one
// differs.
func first(t *graph.Tensor, axis int) *graph.Tensor {
	out := &graph.Tensor{Shape: slices.Clone(t.Shape), DType: t.DType}
	out.Shape[axis] = 1
	inner := model.Size(t.Shape[axis+1:])
	ok := true
	if t.I64 == nil {
		out.F32, ok = firstOf(t.Floats(), t.Shape[axis], inner)
	} else {
		out.I64, ok = firstOf(t.I64, t.Shape[axis], inner)
	}
	if !ok {
		return nil
	}
	return out
}

func firstOf[T float32 | int64](v []T, n, inner int) (out []T, ok bool) {
	for ; len(v) > 0; v = v[n*inner:] {
		for i := 1; i < n; i++ {
			if !slices.Equal(v[:inner], v[i*inner:][:inner]) {
				return nil, false
			}
		}
		out = append(out, v[:inner]...)
	}
	return out, true
}
