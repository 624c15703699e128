package precision

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/lower"
)

// defUse answers questions about the values of a float graph: what they are made of, and what reads
// them.
type defUse struct {
	fg *graph.Graph
	lower.Uses
}

func newDefUse(fg *graph.Graph) *defUse { return &defUse{fg, lower.UsesOf(fg)} }

// computed reports whether a value is not a constant.
func (a *defUse) computed(name string) bool { return a.fg.Consts[name] == nil }

// unmoved follows a value back through nodes that only move the entries of one operand, as a transpose
// does, and returns the value whose entries were moved.
func (a *defUse) unmoved(name string) string {
	for n := a.By[name]; n != nil && lower.OnlyMoves(n) && len(n.Inputs) == 1; n = a.By[name] {
		name = n.Inputs[0]
	}
	return name
}

// residual reports whether a node is part of a residual stream, a chain of sums: it is a sum
// of two computed values, and so is the node of its operand or one that reads it.
func (a *defUse) residual(n *graph.Node) bool {
	sum := func(n *graph.Node) bool {
		return n != nil && lower.TraitsOf(n.Op).Sums && a.computed(n.Inputs[0]) && a.computed(n.Inputs[1])
	}
	return sum(n) && (sum(a.By[n.Inputs[0]]) || sum(a.By[n.Inputs[1]]) || slices.ContainsFunc(a.Readers[n.Output], sum))
}

// ofTwo reports whether a product is of two computed values that are not both functions of one value,
// as x and sigmoid(x) are.
func (a *defUse) ofTwo(n *graph.Node) bool {
	return a.computed(n.Inputs[0]) && a.computed(n.Inputs[1]) && a.argument(n.Inputs[0]) != a.argument(n.Inputs[1])
}

// argument follows a value back through nodes that compute it entry by entry from one
// value, and returns that value; the value itself if its node is no such node.
func (a *defUse) argument(name string) string {
	n := a.By[name]
	if n == nil {
		return name
	}
	if !lower.TraitsOf(n.Op).PerEntry {
		return name
	}
	computed := slices.DeleteFunc(slices.Clone(n.Inputs), func(in string) bool { return !a.computed(in) })
	if len(computed) == 2 && a.argument(computed[0]) != a.argument(computed[1]) {
		return name
	}
	return a.argument(computed[0])
}

// weighs returns the operand that a node multiplies by constant weights and sums, as a
// matrix product or a convolution does; "" if it is no such node.
func (a *defUse) weighs(n *graph.Node) string {
	if lower.TraitsOf(n.Op).Product == lower.NoProduct {
		return ""
	}
	switch x, y := n.Inputs[0], n.Inputs[1]; {
	case a.computed(x) && !a.computed(y):
		return x
	case a.computed(y) && !a.computed(x):
		return y
	}
	return ""
}

// weighed reports whether a node multiplies a value by constant weights (weighs), perhaps after its
// entries have been moved.
func (a *defUse) weighed(name string) bool {
	return slices.ContainsFunc(a.Readers[name], func(n *graph.Node) bool {
		return a.weighs(n) == name || lower.OnlyMoves(n) && a.weighed(n.Output)
	})
}

// attends reports whether a node is the product of two computed matrices, as in attention.
func (a *defUse) attends(n *graph.Node) bool {
	return lower.TraitsOf(n.Op).Product == lower.MatMulProduct && a.computed(n.Inputs[0]) && a.computed(n.Inputs[1])
}

// scores reports whether a product of two computed matrices gives the scores of attention: its first
// factor is not the result of a Softmax.
func (a *defUse) scores(n *graph.Node) bool {
	x := a.By[a.unmoved(n.Inputs[0])]
	return x == nil || !lower.TraitsOf(x.Op).Softmax
}

// softened reports whether a value is the scores of a Softmax, which alone reads it.
func (a *defUse) softened(name string) bool {
	list := a.Readers[name]
	return len(list) == 1 && lower.TraitsOf(list[0].Op).Softmax && list[0].Inputs[0] == name
}
