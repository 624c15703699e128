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

// isInteger says whether a value of a float graph has an integer type, of which truth values
// are one.
func isInteger(fg *graph.Graph, name string) bool {
	dt := fg.DTypes[name]
	return dt.Known() && !dt.IsFloat()
}

// integers is isInteger in the graph that is lowered.
func (l *lowering) integers(name string) bool { return isInteger(l.fg, name) }

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

// Uses says how the values of a graph hang together.
type Uses struct {
	By      map[string]*graph.Node   // the node that computes a value
	Readers map[string][]*graph.Node // in the order of the nodes, once for each time that one reads a value
	outputs map[string]int           // how many outputs of the graph a value is
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

// OnlySummed reports whether all that reads a value are sums, and what takes operands of any width.
func (u *Uses) OnlySummed(name string) bool {
	return !slices.ContainsFunc(u.Readers[name], func(n *graph.Node) bool { t := TraitsOf(n.Op); return !t.Sums && !t.Means })
}

// number is how often a value is read or given out.
func (u *Uses) number(name string) int { return len(u.Readers[name]) + u.outputs[name] }

// only is the one node that reads a value which is no output; nil if there is none.
func (u *Uses) only(name string) *graph.Node {
	if u.number(name) != 1 || u.outputs[name] > 0 {
		return nil
	}
	return u.Readers[name][0]
}

// powers lists the values of which nothing is read but logarithms of powers, maybe moved.
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
