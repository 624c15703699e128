package families

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
)

// experts is a layer of feed-forward parts. Every token uses the few with the
// greatest router scores.
type experts struct {
	count, chosen, inner int
	router               string // prefixes of names in the layer
	expert               string // with %d for the number
	gate, up, down       string
	share                bool // weights of the chosen add up to 1
	shared               int  // size of one that all tokens use, times a gate; 0: there is none
}

// route returns the weight of every expert for every token, [tokens, count]: 0 for
// experts that are not chosen. The choice compares the router's scores before
// Softmax, which keeps their order.
func (n *net) route(e *experts, x graph.Value, name string) graph.Value {
	scores := n.linear(x, name+e.router, e.count, false)
	p := n.Mul(n.Softmax(scores, 1), n.Among(scores, e.chosen))
	if e.share {
		p = n.Div(p, n.Reduce(graph.Sum, p, []int{1}, true))
	}
	return p
}

// choose returns the sum of the chosen experts' results on x, times their weights.
func (n *net) choose(e *experts, act activation, x graph.Value, name string, width int) graph.Value {
	weights := n.route(e, x, name)
	expert := func(at string, inner int, weight graph.Value) graph.Value {
		gate := n.activate(act, n.linear(x, at+e.gate, inner, false))
		y := n.linear(n.Mul(gate, n.linear(x, at+e.up, inner, false)), at+e.down, width, false)
		return n.Mul(y, weight)
	}
	var sum graph.Value
	for i := range e.count {
		y := expert(name+fmt.Sprintf(e.expert, i), e.inner, n.columns(weights, i, 1))
		if i == 0 {
			sum = y
		} else {
			sum = n.Add(sum, y)
		}
	}
	if e.shared > 0 {
		gate := n.Apply(graph.Sigmoid, n.linear(x, name+"mlp.shared_expert_gate", 1, false))
		sum = n.Add(sum, expert(name+"mlp.shared_expert.", e.shared, gate))
	}
	return sum
}
