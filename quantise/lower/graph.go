package lower

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// exactly reports whether a node gives its operands' entries, or sums and multiples of them,
// without rounding.
func exactly(fg *graph.Graph, n *graph.Node) bool {
	t := TraitsOf(n.Op)
	if n.Op == graph.Mul && fg.Consts[n.Inputs[0]] == nil && fg.Consts[n.Inputs[1]] == nil {
		return false
	}
	return t.linear || t.moves != computes && t.moves != pads
}

// isInteger reports whether a value of a float graph has an integer type; truth values count as
// integers.
func isInteger(fg *graph.Graph, name string) bool {
	dt := fg.DTypes[name]
	return dt.Known() && !dt.IsFloat()
}

// integers reports whether a value of the graph that is lowered has an integer type (isInteger).
func (l *lowering) integers(name string) bool { return isInteger(l.fg, name) }

// discontinuous returns the values that an operator whose result jumps (Traits.jumps) reads, directly or through nodes
// that do not round (exactly).
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

// OnlyMoves reports whether a node only moves the entries of its operands and computes nothing.
func OnlyMoves(n *graph.Node) bool { return TraitsOf(n.Op).moves != computes }

// Uses has, for the values of a graph, by name, the nodes that compute and read them.
type Uses struct {
	By      map[string]*graph.Node   // the node that computes the value
	Readers map[string][]*graph.Node // in the order of the nodes; a node that reads the value twice is there twice
	outputs map[string]int           // how many outputs of the graph the value is
}

// UsesOf returns the uses of a graph's values.
func UsesOf(fg *graph.Graph) Uses {
	u := Uses{fg.Makers(), map[string][]*graph.Node{}, map[string]int{}}
	for _, n := range fg.Nodes {
		for _, in := range n.Inputs {
			u.Readers[in] = append(u.Readers[in], n)
		}
	}
	for _, o := range fg.Outputs {
		u.outputs[o]++
	}
	return u
}

// OnlySummed reports whether a value is read only by sums and by operators that take operands of any width
// (Traits.Means).
func (u *Uses) OnlySummed(name string) bool {
	return !slices.ContainsFunc(u.Readers[name], func(n *graph.Node) bool { t := TraitsOf(n.Op); return !t.Sums && !t.Means })
}

// number is how often nodes read a value, plus how many outputs of the graph it is.
func (u *Uses) number(name string) int { return len(u.Readers[name]) + u.outputs[name] }

// only is the node that reads a value, if that is the value's only use; nil otherwise.
func (u *Uses) only(name string) *graph.Node {
	if u.number(name) != 1 || u.outputs[name] > 0 {
		return nil
	}
	return u.Readers[name][0]
}

// powers returns the values that only logarithms of powers (Traits.Powers) read, directly or with their entries moved.
func powers(fg *graph.Graph) map[string]bool {
	only, other := map[string]bool{}, map[string]bool{}
	for _, name := range fg.Outputs {
		other[name] = true
	}
	for _, n := range slices.Backward(fg.Nodes) {
		ok := TraitsOf(n.Op).Powers || OnlyMoves(n) && only[n.Output] && !other[n.Output]
		for _, in := range n.Inputs {
			only[in], other[in] = ok && !other[in], other[in] || !ok
		}
	}
	return only
}
