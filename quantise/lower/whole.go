package lower

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// lowerWhole lowers Floor, Ceil, Round and Trunc: exactly, of the accumulator of
// the operand, unless that is a function of another value, whose table then has the
// whole numbers.
func lowerWhole(l *lowering, n *graph.Node, op graph.Scalar, v *value) {
	x := l.values[n.Inputs[0]]
	if x.nonlinear() {
		lowerFunction(l, n, op, v)
		return
	}
	e := l.operandFlat(x)
	if e.Frac <= 0 { // whole already
		v.acc = e
		return
	}
	switch op.Func {
	case graph.Floor:
		v.acc, _ = l.Floor(v.name, e)
	case graph.Ceil:
		down, _ := l.Floor(v.name, e.Times(-1))
		v.acc = down.Times(-1)
	case graph.Trunc:
		v.acc = l.Trunc(v.name, e)
	case graph.Round:
		v.acc = l.Round2even(v.name, e)
	default:
		fixed.Refuse("%s is no way to round to whole numbers", op.Func.Name)
	}
}
