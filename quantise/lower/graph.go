package lower

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// exactly says whether a node gives what it reads, or sums and multiples of that,
// without rounding it.
func exactly(fg *graph.Graph, n *graph.Node) bool {
	t := TraitsOf(n.Op)
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
		if TraitsOf(n.Op).jumps || discontinuous[n.Output] && exactly(fg, n) {
			for _, in := range n.Inputs {
				discontinuous[in] = true
			}
		}
	}
	return discontinuous
}

// OnlyMoves reports whether a node only moves the entries of values.
func OnlyMoves(n *graph.Node) bool { return TraitsOf(n.Op).moves != computes }

// onlyReader is the one node that reads a value which is no output; nil if there is
// none.
func (l *lowering) onlyReader(name string) *graph.Node {
	for _, o := range l.fg.Outputs {
		if o == name {
			return nil
		}
	}
	var reader *graph.Node
	for _, n := range l.fg.Nodes {
		for _, in := range n.Inputs {
			if in != name {
				continue
			}
			if reader != nil {
				return nil
			}
			reader = n
		}
	}
	return reader
}

// powers lists the values of which nothing is read but logarithms of powers, maybe moved.
func powers(fg *graph.Graph) map[string]bool {
	only := map[string]bool{}
	other := map[string]bool{}
	for _, name := range fg.Outputs {
		other[name] = true
	}
	for _, n := range slices.Backward(fg.Nodes) {
		_, log := n.Op.(graph.LogPower)
		ok := log || OnlyMoves(n) && only[n.Output] && !other[n.Output]
		for _, in := range n.Inputs {
			only[in], other[in] = ok && !other[in], other[in] || !ok
		}
	}
	return only
}
