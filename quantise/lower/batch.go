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

// fewSizes are sizes of the batch for which a model with a free batch is lowered, to find how the circuit
// depends on the size. With a size of 1 axes would broadcast. Neither of the two divides the other, so that
// they tell which dimensions scale (model.Lift).
var fewSizes = []int{2, 3}

// manySizes are larger sizes, of which the first is tried as well that the float model can have: batches of two and
// three do not tell that a model looks only at the first ten elements, or at every other one.
var manySizes = []int{1021, 251, 61, 13, 7}

// Batch returns the symbol of the batch's size: the leading dimension of every input, if
// the model leaves it open. It is "" if the inputs have no such symbol in common, or if an input has no elements,
// which would tell the size.
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

// Pair returns the float model for a batch of two. A model with a free batch has ranges for the
// values of this one.
func Pair(fg *graph.Graph) (*graph.Graph, error) {
	batch := Batch(fg)
	if batch == "" {
		return nil, errors.New("the model leaves no batch open")
	}
	return fg.Rebind(map[string]int{batch: fewSizes[0]})
}

// variants are a float model for several sizes of its free dimensions. It is lowered for each of them; the lowering for
// the first sizes decides on the plan and on all numbers.
type variants struct {
	of   *graph.Graph // the model as it was opened
	free []model.FreeDim
	list []sized
	// most is the greatest bound that the last free dimension may get, and least the least (bound).
	most, least int
	usual       []int // the sizes that the model is run with at first
	texts       bool  // whether the length of texts is free; the first sizes are its bound then. Otherwise a batch is free
	// whole has the constants whose shape depends on the length of a text, as they are at its bound.
	whole map[string]*graph.Tensor
}

// sized is the float model for some sizes of its free dimensions.
type sized struct {
	sizes []int
	graph *graph.Graph
}

// quantiseFree quantises a model with free dimensions: it lowers the model for several sizes of them, with
// the plan that suits the first, and joins the circuits to a template (model.Lift). It refuses if they
// differ in more than dimensions that scale with the sizes.
func (v *variants) quantiseFree(ranges map[string]Range, opts Options, memory *Memory) *Result {
	all, errs := make([]*lowering, len(v.list)), make([]error, len(v.list))
	begin := func(i int) *lowering {
		l := newLowering(v.list[i].graph, withMoves(v.list[i].graph, ranges), opts, memory)
		if v.texts {
			l.free(v.length(i, all[0]))
		} else {
			l.Batch = v.list[i].sizes[0]
		}
		return l
	}
	all[0] = begin(0).choose()
	var others []func() // run in parallel
	for i := 1; i < len(v.list); i++ {
		others = append(others, func() {
			all[i], errs[i] = refuse.Result(func() *lowering {
				l := begin(i)
				l.Plan = all[0].Plan
				l.run()
				return l
			})
		})
	}
	parallel.Do(others...)
	builds := make([]model.Build, len(v.list))
	for i, l := range all {
		must.OK(errs[i])
		builds[i] = model.Build{Sizes: v.list[i].sizes, Graph: l.Circuit}
	}
	t := must.Get(model.Lift(slices.Clone(v.free), builds...))
	for _, l := range all[1:] {
		sameFixed(all[0], l)
	}
	last := len(t.Free) - 1
	t.Free[last].Bound = v.most
	bound(t, v.least)
	usual := slices.Clone(v.usual)
	if v.texts {
		usual[last] = min(usual[last], t.Free[last].Bound)
	}
	return all[0].finish(t, model.Instance{Sizes: usual})
}

// bound checks that a template gives a circuit for the least sizes, all 1, and for the greatest. For a size of 1 it may not:
// a constant index may name the second element. If a circuit of the greatest sizes is beyond the limits of circuits, the bound of the
// last dimension (a batch, or the positions of logits, say) is halved until it is not, as long as it is more than least.
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

// sameFixed checks that the fixed tensors of two lowerings, whose circuits have the same
// tensors, have the same entries.
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

// withMoves returns the ranges and, for values of fg without one that only have the entries of another value,
// that one's range: for some sizes the graph may have such a node that it does not have for the size of
// calibration.
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

// batchesOf are the variants of a model with a free batch.
func batchesOf(fg *graph.Graph, batch string) *variants {
	return &variants{
		of: fg, free: []model.FreeDim{{Name: model.PrintableName(batch), Bound: 1}}, list: rebind(fg, batch, fewSizes, manySizes),
		most: maxBatch, least: fewSizes[0], usual: fg.Inputs[0].Shape[:1],
	}
}

// rebind returns the model for every batch size in all, and for the first size in first that the model can have.
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

// shrinkConstants shrinks an axis of constants to dimension 1, in all graphs, if its dimension is the size of the batch, the entries
// repeat themselves along it, and every node that reads the constant broadcasts it. Such constants come
// from an Expand to the batch's size that was computed when the model was read.
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

// broadcasts reports whether all nodes that read a constant would repeat its entries along the axis if that had
// dimension 1, and whether the constant is no output of the graph.
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

// first returns a tensor with only index 0 of the axis; nil if the entries at another index differ.
func first(t *graph.Tensor, axis int) *graph.Tensor {
	shape := slices.Clone(t.Shape)
	shape[axis] = 1
	one := begin(t, shape)
	if !sameEntries(t, entries(one, t.Shape, func(i int) int { return broadcastIndex(i, t.Shape, shape) })) {
		return nil
	}
	return one
}

// begin is the leading block of a tensor, of the given shape: the first shape[i] indexes of axis i.
func begin(t *graph.Tensor, shape []int) *graph.Tensor {
	return entries(t, shape, func(i int) int {
		from, stride := 0, 1
		for axis := len(shape) - 1; axis >= 0; axis-- {
			from += i % shape[axis] * stride
			i /= shape[axis]
			stride *= t.Shape[axis]
		}
		return from
	})
}

// entries is a tensor of a shape whose entry i is entry index(i) of another one.
func entries(of *graph.Tensor, shape []int, index func(i int) int) *graph.Tensor {
	out := &graph.Tensor{Shape: shape, DType: of.DType}
	floats := of.Floats()
	for i := range model.Size(shape) {
		if floats == nil {
			out.I64 = append(out.I64, of.I64[index(i)])
		} else {
			out.F32 = append(out.F32, floats[index(i)])
		}
	}
	return out
}

// sameEntries reports whether two tensors have the same entries in row-major order.
func sameEntries(a, b *graph.Tensor) bool {
	return slices.Equal(a.I64, b.I64) && slices.Equal(a.Floats(), b.Floats())
}
