package quantise

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// jumps says whether an operator has jumps, so that what it reads should be as exact
// as it can be.
func jumps(op graph.Op) bool {
	switch op := op.(type) {
	case graph.Test, graph.FloorDiv, graph.FloorMod, graph.Bits, graph.Rescale, graph.Exceeds:
		return true
	case graph.Scalar:
		return op.Func == graph.Floor || op.Func == graph.Ceil || op.Func == graph.Round || op.Func == graph.Trunc
	case graph.Reduce:
		return op.Func == graph.MaxOf
	}
	return false
}

// exactly says whether a node gives what it reads, or sums and multiples of that,
// without rounding it.
func exactly(fg *graph.Graph, n *graph.Node) bool {
	switch op := n.Op.(type) {
	case graph.Reshape, graph.Transpose, graph.Slice, graph.Gather, graph.Expand, graph.Tile, graph.Concat, graph.Convert, graph.Identity:
		return true
	case graph.Arithmetic:
		scaled := op == graph.Mul && (fg.Consts[n.Inputs[0]] != nil || fg.Consts[n.Inputs[1]] != nil)
		return op == graph.Add || op == graph.Sub || scaled
	case graph.Scalar:
		return op.Func == graph.Neg
	}
	return false
}

// integers says whether a value of the float graph has an integer type.
func (l *lowering) integers(name string) bool {
	dt := l.fg.DTypes[name]
	return dt.Known() && !dt.IsFloat()
}

// discontinuous lists the values that something with jumps reads, as they are or in a sum.
func discontinuous(fg *graph.Graph) map[string]bool {
	discontinuous := map[string]bool{}
	for _, n := range slices.Backward(fg.Nodes) {
		if jumps(n.Op) || discontinuous[n.Output] && exactly(fg, n) {
			for _, in := range n.Inputs {
				discontinuous[in] = true
			}
		}
	}
	return discontinuous
}
