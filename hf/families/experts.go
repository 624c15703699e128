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
	shared               int  // size of one that all tokens use; 0: there is none
	sharedAt             string
	gated                bool    // that one is multiplied by a gate
	factor               float64 // of all weights, if not 0

	sigmoid bool   // weights are Sigmoid of the scores, not Softmax
	bias    string // added to these for the choice alone; "": nothing
	// Experts are in so many groups, of which few are chosen first, by the sum of their best; 1 or less: they are not.
	groups, chosenGroups, best int
}

// route returns the weight of every expert for every token, [tokens, count]: 0 for
// experts that are not chosen. The choice compares the router's scores before
// Softmax, which keeps their order, if nothing else goes into it.
func (n *net) route(e *experts, x graph.Value, name string) graph.Value {
	scores := n.linear(x, name+e.router, e.count, false)
	var p graph.Value
	if e.sigmoid {
		p = n.Apply(graph.Sigmoid, scores)
	} else {
		p = n.Softmax(scores, 1)
	}
	choice := scores
	if e.sigmoid || e.groups > 1 {
		choice = p
	}
	if e.bias != "" {
		bias := n.weight(name+e.bias, []int{e.count})
		if !n.Valid(bias) {
			return bias
		}
		least := 0.0
		for _, b := range n.Tensor(bias).Floats() {
			least = min(least, float64(b))
		}
		choice = n.Add(p, n.Sub(bias, n.Number(least-0.125))) // all of them positive
	}
	if e.groups > 1 {
		choice = n.inGroups(e, choice)
	}
	switch {
	case e.share && e.sigmoid:
		// Sigmoids that add up to 1 are Softmax of their logarithms, which has no quotient of two small numbers.
		logs := n.Negative(n.Apply(graph.Softplus, n.Negative(scores)))
		p = n.Softmax(n.Where(n.Chosen(choice, e.chosen), logs, n.Number(-1e30)), 1)
	default:
		p = n.Mul(p, n.Among(choice, e.chosen))
	}
	if e.share && !e.sigmoid {
		p = n.Div(p, n.Reduce(graph.Sum, p, []int{1}, true))
	}
	if e.factor != 0 && e.factor != 1 {
		p = n.Mul(p, n.Number(e.factor))
	}
	return p
}

// inGroups returns what experts are chosen by, which is positive, in the chosen groups, and 0 in others.
func (n *net) inGroups(e *experts, choice graph.Value) graph.Value {
	if !n.Valid(choice) {
		return choice
	}
	t, each := n.Shape(choice)[0], e.count/e.groups
	x := n.Reshape(choice, []int{t, e.groups, each})
	var of graph.Value
	switch {
	case e.best == 1:
		of = n.ReduceMax(x, []int{2}, false)
	case e.best < each:
		of = n.Reduce(graph.Sum, n.Mul(x, n.Among(x, e.best)), []int{2}, false)
	default:
		of = n.Reduce(graph.Sum, x, []int{2}, false)
	}
	return n.Reshape(n.Mul(x, n.Reshape(n.Among(of, e.chosenGroups), []int{t, e.groups, 1})), []int{t, e.count})
}

// choose returns the sum of the chosen experts' results on x, times their weights.
func (n *net) choose(e *experts, act activation, x graph.Value, name string, width int) graph.Value {
	weights := n.route(e, x, name)
	expert := func(at string, inner int, weight graph.Value) graph.Value {
		gate := n.activate(act, n.linear(x, at+e.gate, inner, false))
		y := n.linear(n.Mul(gate, n.linear(x, at+e.up, inner, false)), at+e.down, width, false)
		if !n.Valid(weight) {
			return y
		}
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
		var gate graph.Value
		if e.gated {
			gate = n.Apply(graph.Sigmoid, n.linear(x, name+"mlp.shared_expert_gate", 1, false))
		}
		sum = n.Add(sum, expert(name+e.sharedAt, e.shared, gate))
	}
	return sum
}
