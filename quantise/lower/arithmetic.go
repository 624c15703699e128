package lower

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerArithmetic, func(op graph.Arithmetic) Traits {
		sum := op == graph.Add || op == graph.Sub
		return Traits{Sums: sum, linear: sum || op == graph.Mul, PerEntry: true, broadcasts: allBroadcast}
	})
}

// allBroadcast says that all operands may have the dimension 1 in place of a longer axis.
func allBroadcast(operand, axis, rank int) bool { return true }

// lowerArithmetic lowers the four operators on two values.
func lowerArithmetic(l *lowering, n *graph.Node, op graph.Arithmetic, v *value) {
	switch op {
	case graph.Add, graph.Sub:
		lowerAdd(l, n, op, v)
	case graph.Mul:
		lowerMul(l, n, op, v)
	case graph.Div:
		lowerDiv(l, n, op, v)
	default:
		fixed.Refuse("operator not supported")
	}
}
