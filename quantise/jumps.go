package quantise

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// exactly says whether a node gives what it reads, or sums and multiples of that,
// without rounding it.
func exactly(fg *graph.Graph, n *graph.Node) bool {
	t := traitsOf(n.Op)
	if n.Op == graph.Mul && fg.Consts[n.Inputs[0]] == nil && fg.Consts[n.Inputs[1]] == nil {
		return false
	}
	return t.linear || t.moves != computes && t.moves != pads
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
		if traitsOf(n.Op).jumps || discontinuous[n.Output] && exactly(fg, n) {
			for _, in := range n.Inputs {
				discontinuous[in] = true
			}
		}
	}
	return discontinuous
}
