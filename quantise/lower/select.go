package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerPRelu, always[graph.PRelu](Traits{}))
	register(lowerWhere, always[graph.Where](Traits{broadcasts: allBroadcast}))
}

// lowerPRelu lowers relu(x) + slope·(x − relu(x)).
func lowerPRelu(l *lowering, n *graph.Node, _ graph.PRelu, v *value) {
	x, slope := l.values[n.Inputs[0]], l.fg.Consts[n.Inputs[1]]
	if x == nil || slope == nil {
		refuse.With("only a computed input with a constant slope is supported")
	}
	if c, same := l.uniform(slope); same {
		l.apply(v, x, graph.Kind(n.Op), curveOf(graph.Scalar{Func: graph.LeakyRelu, Params: []float64{c}}), nil)
		return
	}
	id := l.narrowed(x, l.narrowBitsOf(x))
	t := l.Circuit.Tensors[id]
	relu := l.Mapped("positive part", l.Of(id), l.ReluTable(l.Magnitude(id)), t.Frac, 0, max(t.Max, 0))
	neg := l.VirtualOf("negative part", l.Of(id).Minus(l.Of(relu)).Within(min(t.Min, 0), 0))
	part := &value{name: v.name, shape: x.shape, rng: Range{Min: math.Min(x.rng.Min, 0)}, id: neg, shaped: neg}
	below := &value{name: v.name, shape: v.shape, rng: v.rng, uses: 1, id: model.None, shaped: model.None}
	l.mulConstant(below, part, n.Inputs[1], slope, nil)
	above := &value{name: v.name, shape: x.shape, rng: v.rng, id: relu, shaped: relu}
	v.acc = l.align([]term{{below, below.acc}, {above, l.broadcast(above, v.shape)}}, 0, v)
}

// lowerWhere lowers Where with a constant condition: each branch is masked by
// a constant of zeros and ones.
func lowerWhere(l *lowering, n *graph.Node, _ graph.Where, v *value) {
	cond := l.fg.Consts[n.Inputs[0]]
	if cond == nil {
		refuse.With("only a constant condition is supported")
	}
	mask := cond.Float64s() // of 0 and 1
	var terms []term
	type branch struct {
		name   string
		t      *graph.Tensor
		mask   []float64
		values numbers
	}
	var constants []branch
	rng := v.rng
	for i, name := range n.Inputs[1:] {
		m := slices.Clone(mask)
		for j := range m {
			m[j] = math.Abs(float64(i) - m[j]) // the second branch is where the condition is 0
		}
		x := l.values[name]
		if x == nil {
			constants = append(constants, branch{name, l.fg.Consts[name], m, l.numbersOf(l.fg.Consts[name])})
			continue
		}
		labels, kept := fixed.BroadcastLabels(cond.Shape, v.shape)
		mid, labels := l.Mask("mask", kept, labels, func(i int) bool { return m[i] != 0 })
		id, lx := l.Squeezed(l.tensor(x), v.shape)
		e := l.Product(v.shape, id, lx, mid, labels, 1)
		terms = append(terms, term{x, e})
	}
	if len(terms) == 0 {
		refuse.With("both branches are constant")
	}
	most := 0.0
	for _, b := range constants {
		if r, ok := l.softenMask(v, b.values, terms[0].v.rng); ok {
			rng = r
		}
		most = math.Max(most, b.values.most())
	}
	v.rng = rng
	e := l.align(terms, most, v)
	for _, b := range constants {
		// mask·constant over the shape that both broadcast to.
		shape, _ := graph.Broadcast(cond.Shape, b.t.Shape) // they do: the graph is valid
		values := madeOf(model.Size(shape), b.values.most(), func(from ...[]float64) []float64 {
			out := make([]float64, model.Size(shape))
			for i := range out {
				out[i] = b.mask[broadcastIndex(i, shape, cond.Shape)] * from[0][broadcastIndex(i, shape, b.t.Shape)]
			}
			return out
		}, b.values)
		e = l.refine(v, e, values, most, rng)
		e = l.plusConstant(e, b.name, shape, values, nil)
	}
	v.acc = e
}

// broadcastIndex is the index into a tensor of shape in that entry i of a
// tensor of shape out reads.
func broadcastIndex(i int, out, in []int) int {
	at, stride := 0, 1
	for j := len(out) - 1; j >= 0; j-- {
		if k := j - len(out) + len(in); k >= 0 {
			if in[k] > 1 {
				at += i % out[j] * stride
			}
			stride *= in[k]
		}
		i /= out[j]
	}
	return at
}
