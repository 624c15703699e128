package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
)

// experts is a layer of feed-forward parts of which every token takes some: those
// that the router gives most.
type experts struct {
	count, chosen, inner int
	router               string // prefixes of names in the layer
	expert               string // with %d for the number
	gate, up, down       string
	share                bool // weights of the chosen add up to 1
}

// route returns the weight of every expert for every token, [tokens, count]: 0 for
// those that are not chosen.
func (n *net) route(e *experts, x graph.Value, name string) graph.Value {
	p := n.Softmax(n.linear(x, name+e.router, e.count, false), 1)
	p = n.Greatest(p, e.chosen)
	if e.share {
		p = n.Div(p, n.Reduce(graph.Sum, p, []int{1}, true))
	}
	return p
}

// choose adds what the chosen experts make of x, each with its weight.
func (n *net) choose(e *experts, act activation, x graph.Value, name string, width int) graph.Value {
	weights := n.route(e, x, name)
	var sum graph.Value
	for i := range e.count {
		at := name + fmt.Sprintf(e.expert, i)
		gate := n.activate(act, n.linear(x, at+e.gate, e.inner, false))
		y := n.linear(n.Mul(gate, n.linear(x, at+e.up, e.inner, false)), at+e.down, width, false)
		y = n.Mul(y, n.columns(weights, i, 1))
		if i == 0 {
			sum = y
		} else {
			sum = n.Add(sum, y)
		}
	}
	return sum
}
