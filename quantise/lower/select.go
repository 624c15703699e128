package lower

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerPRelu, always[graph.PRelu](Traits{}))
	register(lowerWhere, always[graph.Where](Traits{broadcasts: allBroadcast}))
	register(lowerTest, always[graph.Test](Traits{jumps: true}))
}

// lowerPRelu lowers relu(x) + slope·(x − relu(x)), for a constant slope. If all its entries are equal, that is a LeakyRelu.
func lowerPRelu(l *lowering, _ graph.PRelu, v *value, in []*value) {
	x, slope := in[0], l.fg.Consts[v.node.Inputs[1]]
	refuse.If(x == nil || slope == nil, "only a computed input with a constant slope is supported")
	if c, same := l.numbersOf(slope).same(); same {
		v.apply(x, graph.Kind(v.node.Op), curveOf(graph.Scalar{Func: graph.LeakyRelu, Params: []float64{c}}))
		return
	}
	id := l.narrowed(x, l.narrowBitsOf(x))
	t := l.Circuit.Tensors[id]
	relu := l.Mapped("positive part", l.Of(id), l.ReluTable(l.Magnitude(id)), t.Frac, 0, max(t.Max, 0))
	neg := l.VirtualOf("negative part", l.Of(id).Minus(l.Of(relu)).Within(min(t.Min, 0), 0))
	part := heldIn(neg, value{name: v.name, shape: x.shape, rng: Range{Min: math.Min(x.rng.Min, 0)}})
	below := pending(value{name: v.name, shape: v.shape, rng: v.rng, uses: 1})
	l.mulConstant(below, part, v.node.Inputs[1], slope, nil)
	above := heldIn(relu, value{name: v.name, shape: x.shape, rng: v.rng})
	v.acc = l.align([]term{{below, below.acc}, {above, l.broadcast(above, v.shape)}}, 0, v)
}

// lowerWhere lowers Where with a constant condition: each branch is multiplied by a constant of zeros and ones, and the products
// are added. One of the branches may be constant.
func lowerWhere(l *lowering, _ graph.Where, v *value, in []*value) {
	cond := l.fg.Consts[v.node.Inputs[0]]
	refuse.If(cond == nil, "only a constant condition is supported")
	held := cond.Float64s() // zeros and ones
	// takes is 1 if entry i of the result is that of the branch: of branch 0 where the condition is 1, of branch 1 where it is 0.
	takes := func(branch, i int) float64 { return math.Abs(float64(branch) - held[i]) }
	var terms []term
	constant := -1
	for i, name := range v.node.Inputs[1:] {
		x := l.values[name]
		if x == nil {
			constant = i
			continue
		}
		labels, kept := fixed.BroadcastLabels(cond.Shape, v.shape)
		mid, labels := l.Mask("mask", kept, labels, func(at int) bool { return takes(i, at) != 0 })
		id, lx := l.Squeezed(l.tensor(x), v.shape)
		terms = append(terms, term{x, l.Product(v.shape, id, lx, mid, labels, 1)})
	}
	if constant < 0 {
		v.acc = l.align(terms, 0, v)
		return
	}
	name := v.node.Inputs[1+constant]
	t := l.fg.Consts[name]
	values := l.softenMask(v, l.numbersOf(t), terms[0].v.rng)
	// mask·constant over the shape that both broadcast to.
	shape, _ := graph.Broadcast(cond.Shape, t.Shape) // without error: the graph is valid
	most := values.most()
	list, from := make([]float64, model.Size(shape)), values.held()
	for i := range list {
		list[i] = takes(constant, broadcastIndex(i, shape, cond.Shape)) * from[broadcastIndex(i, shape, t.Shape)]
	}
	masked := numbersAre(list, values.isSecret(), most)
	e := l.refine(v, l.align(terms, most, v), masked, most, v.rng)
	v.acc = l.plusConstant(e, name, shape, masked, nil)
}

// broadcastIndex is the row-major index of the entry that a tensor of shape in, broadcast to shape out, has at the
// row-major index i.
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

// lowerTest lowers a comparison with 0. It tests the operand's accumulator, before anything is rounded, so that it is
// exact. If the operand is a function of an earlier value, the test is a function of that value, with a table.
func lowerTest(l *lowering, op graph.Test, v *value, in []*value) {
	x := in[0]
	if x.nonlinear() {
		v.apply(x, graph.Kind(op), curve{at: op.At, key: keyOf("test", float64(op))})
		return
	}
	e := l.operandFlat(x)
	switch op {
	case graph.IsPositive:
		v.id = l.NotNegative(v.name, e.PlusConst(-1))
	case graph.IsNotNegative:
		v.id = l.NotNegative(v.name, e)
	case graph.IsZero:
		v.acc = l.IsZero(v.name, e)
	}
}
