package lower

import (
	"github.com/prove-model/prove-model/graph"
)

func init() { register(lowerTest, always[graph.Test](Traits{jumps: true})) }

// lowerTest lowers a comparison with 0, which is exact: of the accumulator of the
// operand, before anything is rounded, or in the table of the function that this is.
func lowerTest(l *lowering, n *graph.Node, op graph.Test, v *value) {
	x := l.values[n.Inputs[0]]
	if x.nonlinear() {
		l.apply(v, x, graph.Kind(op), curve{at: op.At}, nil)
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
