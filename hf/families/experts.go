package families

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// experts is a layer of many feed-forward parts, the experts (a mixture of experts). Every token uses
// the few experts with the greatest router scores.
type experts struct {
	count, chosen, inner int     // experts in all, experts that a token uses, and the inner width of an expert
	router               string  // name of the linear layer that gives the scores
	expert               string  // prefix of an expert's names, with %d for its number
	gate, up, down       string  // names of an expert's linear layers
	share                bool    // the weights of a token's chosen experts are scaled to add up to 1
	shared               int     // inner width of a shared expert, which all tokens use; 0: there is none
	sharedAt             string  // prefix of the shared expert's names
	gated                bool    // the result of the shared expert is multiplied by a gate
	factor               float64 // of the weights of the chosen experts, if not 0

	sigmoid bool   // weights are the Sigmoid of the scores, not their Softmax
	bias    string // name of a bias that is added to the weights for the choice only; "": there is none
	// The experts are in groups of equal size, if groups is more than 1. Then chosenGroups groups are chosen first, by the sum of the
	// greatest best weights of each, and the experts from these.
	groups, chosenGroups, best int
}

// route returns, for tokens x, which experts every token uses, as slots of shape [tokens, chosen, experts] ([graph.Slots]), and the weights
// of these experts, of shape [tokens, chosen]. The choice compares the router's scores without Softmax or Sigmoid where that gives the
// same order, that is, unless a bias or groups take part.
func (n *net) route(e *experts, x graph.Value, name string) (slots, weights graph.Value) {
	scores := n.linear(x, name+e.router, e.count, false)
	choice := scores
	var all graph.Value // Softmax over all experts, if it is needed
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
		choice = n.Add(choice, n.Sub(bias, n.Number(least-0.125))) // the same shift for all experts makes them positive, as inGroups asks
	}
	if e.groups > 1 {
		choice = n.inGroups(e, choice)
	}
	slots = n.Slots(choice, e.chosen)
	switch {
	case e.sigmoid && e.share:
		// Sigmoids scaled to add up to 1 are the Softmax of their logarithms, which divides no small number by another. The logarithm of
		// Sigmoid(x) is −Softplus(−x).
		weights = n.Softmax(n.Negative(n.Apply(graph.Softplus, n.Negative(n.InSlots(scores, slots)))), 1)
	case e.sigmoid:
		weights = n.Apply(graph.Sigmoid, n.InSlots(scores, slots))
	case e.share: // the chosen entries of a Softmax, scaled to add up to 1, are the Softmax of the chosen scores
		weights = n.Softmax(n.InSlots(scores, slots), 1)
	default:
		weights = n.InSlots(all, slots)
	}
	return slots, n.scaled(weights, cmp.Or(e.factor, 1))
}

// inGroups returns choice, of shape [tokens, experts], for the experts in the chosen groups, and 0 for the others. choice must be
// positive, so that an expert with 0 is never preferred.
func (n *net) inGroups(e *experts, choice graph.Value) graph.Value {
	t, each := n.dim(choice, 0), e.count/e.groups
	x := n.Reshape(choice, []int{t, e.groups, each})
	var of graph.Value // by which the groups are chosen, of shape [tokens, groups]
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

// choose returns, for each row of x, the sum of the chosen experts' results times their weights, plus the result of the shared expert
// if there is one. The experts that a row does not use are not computed for it.
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

// eachExpert multiplies each row of x by the matrices of the experts in its slots. layer is the name of the matrix in an expert. The
// matrices of all experts are one constant.
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
