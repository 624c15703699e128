package families

import (
	"cmp"
	"fmt"
	"strings"

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

// route returns which experts every token uses, as slots, and what they count in these, [tokens, chosen]. The choice
// compares the router's scores before Softmax, which keeps their order, if nothing else goes into it.
func (n *net) route(e *experts, x graph.Value, name string) (slots, weights graph.Value) {
	scores := n.linear(x, name+e.router, e.count, false)
	choice := scores
	var all graph.Value // of a Softmax over all experts
	switch {
	case e.sigmoid:
		if e.bias != "" || e.groups > 1 {
			choice = n.Apply(graph.Sigmoid, scores)
		}
	case !e.share || e.groups > 1:
		all = n.Softmax(scores, 1)
		if e.groups > 1 {
			choice = all
		}
	}
	if e.bias != "" {
		bias := n.weight(name+e.bias, []int{e.count})
		if !n.Valid(bias) {
			return bias, bias
		}
		least := 0.0
		for _, b := range n.Tensor(bias).Floats() {
			least = min(least, float64(b))
		}
		choice = n.Add(choice, n.Sub(bias, n.Number(least-0.125))) // all of them positive
	}
	if e.groups > 1 {
		choice = n.inGroups(e, choice)
	}
	slots = n.Slots(choice, e.chosen)
	switch {
	case e.sigmoid && e.share:
		// Sigmoids that add up to 1 are Softmax of their logarithms, which has no quotient of two small numbers.
		weights = n.Softmax(n.Negative(n.Apply(graph.Softplus, n.Negative(n.InSlots(scores, slots)))), 1)
	case e.sigmoid:
		weights = n.Apply(graph.Sigmoid, n.InSlots(scores, slots))
	case e.share: // shares of a Softmax that add up to 1 are a Softmax of theirs
		weights = n.Softmax(n.InSlots(scores, slots), 1)
	default:
		weights = n.InSlots(all, slots)
	}
	return slots, n.scaled(weights, cmp.Or(e.factor, 1))
}

// inGroups returns what experts are chosen by, which is positive, in the chosen groups, and 0 in others.
func (n *net) inGroups(e *experts, choice graph.Value) graph.Value {
	t, each := n.dim(choice, 0), e.count/e.groups
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

// choose returns the sum of the chosen experts' results on x, times their weights. Nothing is computed of others.
func (n *net) choose(e *experts, act activation, x graph.Value, name string, width int) graph.Value {
	slots, weights := n.route(e, x, name)
	each := func(x graph.Value, layer string, out int) graph.Value {
		return n.eachExpert(e, x, slots, name, layer, out)
	}
	y := n.Mul(n.activate(act, each(x, e.gate, e.inner)), each(x, e.up, e.inner))
	sum := n.MixSlots(each(y, e.down, width), weights)
	if e.shared > 0 {
		at := name + e.sharedAt
		gate := n.activate(act, n.linear(x, at+e.gate, e.shared, false))
		y := n.linear(n.Mul(gate, n.linear(x, at+e.up, e.shared, false)), at+e.down, width, false)
		if e.gated {
			y = n.Mul(y, n.Apply(graph.Sigmoid, n.linear(x, name+"mlp.shared_expert_gate", 1, false)))
		}
		sum = n.Add(sum, y)
	}
	return sum
}

// eachExpert multiplies rows of x by the matrices that the experts in their slots have in a layer. The matrices of all
// experts are one constant.
func (n *net) eachExpert(e *experts, x, slots graph.Value, name, layer string, out int) graph.Value {
	if !n.Valid(x) || !n.Valid(slots) {
		return slots
	}
	in := n.dim(x, -1)
	of := func(i int) string { return n.src.prefix + name + fmt.Sprintf(e.expert, i) + layer }
	all := n.src.prefix + name + strings.Replace(e.expert, "%d.", "", 1) + layer
	n.At("", all)
	y := n.Experts(x, n.stacked(n.src, all+".weight", e.count, []int{out, in}, func(i int) string { return of(i) + ".weight" }), slots)
	return n.adaptedExperts(x, y, slots, all, e.count, of)
}
