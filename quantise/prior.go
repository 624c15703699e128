package quantise

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// Bits that values of a transformer need, by what they are: measured on language
// models whose largest activations are hundreds of times the others.
const (
	scoreBits    = 15 // of what goes into a Softmax
	factorBits   = 12 // of what attention multiplies
	turnedBits   = 13 // of what that is made of, such as what positions turn
	hiddenBits   = 14 // of other values: the layers between
	normBits     = 15 // of normalised rows, 2^−10 up to 1024 elements; and of what attention gives
	productBits  = 18 // of products of two values that weights multiply, or more
	sumBits      = 26 // of the sums that norms read and sums add to
	usualWeights = 13 // of the weights that multiply wide products
)

// defUse answers questions about how the values of a float graph hang together.
type defUse struct {
	fg      *graph.Graph
	by      map[string]*graph.Node
	readers map[string][]*graph.Node
}

func newDefUse(fg *graph.Graph) *defUse {
	a := &defUse{fg, map[string]*graph.Node{}, map[string][]*graph.Node{}}
	for _, n := range fg.Nodes {
		a.by[n.Output] = n
		for i, in := range n.Inputs {
			if slices.Index(n.Inputs, in) == i {
				a.readers[in] = append(a.readers[in], n)
			}
		}
	}
	return a
}

// needs are the bits of values whose roles do not tell them: of products of two values that
// weights multiply, and of the scores of attention.
type needs struct {
	product   func(name string) int
	attention func(a *defUse, n *graph.Node) attentionFormat
}

// priorNeeds are those of values of which nothing is known.
var priorNeeds = needs{
	product:   func(string) int { return productBits },
	attention: func(*defUse, *graph.Node) attentionFormat { return priorAttention },
}

// transformerPrior returns formats that suit transformers: nothing if the graph has no norms.
// With the first step of more precision all weights have usualWeights, with each
// that follows values and weights one bit more.
func transformerPrior(fg *graph.Graph, steps int, is needs) Formats {
	more := max(0, steps-1)
	norms := slices.ContainsFunc(fg.Nodes, func(n *graph.Node) bool {
		op, ok := n.Op.(graph.Norm)
		return ok && !(op.Sum && op.Count(fg.Shapes[n.Output]) <= graph.MaxComponents) // of a magnitude
	})
	if !norms {
		return nil
	}
	a, f := newDefUse(fg), Formats{}
	for _, in := range fg.Inputs {
		f[in.Name] = Format{Bits: hiddenBits + more}
		if !slices.ContainsFunc(a.readers[in.Name], func(n *graph.Node) bool { t := traitsOf(n.Op); return !t.sums && !t.means }) {
			f[in.Name] = Format{Bits: formatBits - 4} // public values cost nothing
		}
	}
	for _, n := range fg.Nodes {
		bits := hiddenBits
		switch t := traitsOf(n.Op); {
		case t.softmax:
			continue
		case t.norm:
			bits = normBits
		case a.residual(n):
			bits = sumBits
		case n.Op == graph.Mul && a.ofTwo(n) && a.weighed(n.Output):
			bits = is.product(n.Output)
		}
		f[n.Output] = Format{Bits: bits + more}
	}
	for _, n := range fg.Nodes {
		if a.attends(n) {
			a.attention(f, n, more, is)
		}
	}
	for _, n := range fg.Nodes {
		x := a.unmoved(a.weighs(n))
		if by := a.by[x]; by != nil && (steps > 0 || f[x].Bits > narrowBits || a.attends(by)) {
			f[n.Output] = Format{f[n.Output].Bits, usualWeights + more}
		}
	}
	return f
}

// computed reports whether a value is no constant.
func (a *defUse) computed(name string) bool { return a.fg.Consts[name] == nil }

// onlyMoves reports whether a node only moves the entries of values.
func onlyMoves(n *graph.Node) bool { return traitsOf(n.Op).moves != computes }

// unmoved returns the value whose entries a value has, through moves of one value.
func (a *defUse) unmoved(name string) string {
	for n := a.by[name]; n != nil && onlyMoves(n) && len(n.Inputs) == 1; n = a.by[name] {
		name = n.Inputs[0]
	}
	return name
}

// residual reports whether a node is a sum of two values and one of such sums, as a
// residual stream is a chain of them.
func (a *defUse) residual(n *graph.Node) bool {
	sum := func(n *graph.Node) bool {
		return n != nil && traitsOf(n.Op).sums && a.computed(n.Inputs[0]) && a.computed(n.Inputs[1])
	}
	return sum(n) && (sum(a.by[n.Inputs[0]]) || sum(a.by[n.Inputs[1]]) || slices.ContainsFunc(a.readers[n.Output], sum))
}

// ofTwo reports whether a product of two values is no function of one.
func (a *defUse) ofTwo(n *graph.Node) bool {
	return a.computed(n.Inputs[0]) && a.computed(n.Inputs[1]) && a.argument(n.Inputs[0]) != a.argument(n.Inputs[1])
}

// argument returns the value that a value is a function of, entry by entry; itself
// if there is none.
func (a *defUse) argument(name string) string {
	n := a.by[name]
	if n == nil {
		return name
	}
	if !traitsOf(n.Op).perEntry {
		return name
	}
	computed := slices.DeleteFunc(slices.Clone(n.Inputs), func(in string) bool { return !a.computed(in) })
	if len(computed) == 2 && a.argument(computed[0]) != a.argument(computed[1]) {
		return name
	}
	return a.argument(computed[0])
}

// weighs returns the value that a node multiplies by constant weights, a whole row
// at a time; "" if it does not.
func (a *defUse) weighs(n *graph.Node) string {
	if traitsOf(n.Op).product == noProduct {
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

// weighed reports whether weights multiply a value, maybe moved.
func (a *defUse) weighed(name string) bool {
	return slices.ContainsFunc(a.readers[name], func(n *graph.Node) bool {
		return a.weighs(n) == name || onlyMoves(n) && a.weighed(n.Output)
	})
}

// attends reports whether a node multiplies two computed matrices.
func (a *defUse) attends(n *graph.Node) bool {
	return traitsOf(n.Op).product == matMulProduct && a.computed(n.Inputs[0]) && a.computed(n.Inputs[1])
}

// attention sets the formats around a product of two computed matrices: of its
// factors and of what these are made of, back to products with weights, and of the
// result until it is a function's argument or weights multiply it.
func (a *defUse) attention(f Formats, n *graph.Node, more int, is needs) {
	scores := a.scores(n)
	bits := attentionFormat{normBits, factorBits, factorBits}
	if scores {
		bits = is.attention(a, n)
	}
	seen := map[string]bool{}
	a.back(f, n.Inputs[0], bits.a+more, more, seen)
	a.back(f, n.Inputs[1], bits.b+more, more, seen)
	a.ahead(f, n.Output, bits.scores+more)
	if scores {
		f[n.Output] = Format{bits.scores + more, factorBits + more}
	}
}

// back sets the format of a factor and of what it is made of.
func (a *defUse) back(f Formats, name string, bits, more int, seen map[string]bool) {
	n := a.by[name]
	if _, ok := f[name]; !ok || n == nil || seen[name] || a.residual(n) {
		return
	}
	seen[name] = true
	switch t := traitsOf(n.Op); {
	case t.norm:
		return
	case t.product != noProduct:
		if a.weighs(n) != "" {
			f[name] = Format{Bits: bits}
		}
		return
	}
	f[name] = Format{Bits: bits}
	if !onlyMoves(n) {
		bits = turnedBits + more
	}
	for _, in := range n.Inputs {
		if a.computed(in) {
			a.back(f, in, bits, more, seen)
		}
	}
}

// ahead sets the format of a product and of what is made of it alone.
func (a *defUse) ahead(f Formats, name string, bits int) {
	f[name] = Format{Bits: bits}
	for _, n := range a.readers[name] {
		byConstant := traitsOf(n.Op).perEntry && len(n.Inputs) == 2 && (!a.computed(n.Inputs[0]) || !a.computed(n.Inputs[1]))
		if onlyMoves(n) || byConstant {
			a.ahead(f, n.Output, bits)
		}
	}
}
