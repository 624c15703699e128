package precision

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/lower"
)

// Bits that values of a transformer need, by what they are: measured on language
// models whose largest activations are hundreds of times the others.
const (
	scoreBits    = 15 // of the scores that a Softmax takes
	factorBits   = 12 // of the factors of attention's two products
	turnedBits   = 13 // of the values that such factors are made of, as those that rotary positions turn
	hiddenBits   = 14 // of other values: the layers between
	normBits     = 15 // of normalised rows, in units of 2^−10 in rows of up to 1024 elements; and of the results of attention
	productBits  = 18 // at least, of products of two values that weights multiply
	sumBits      = 26 // of the residual stream: the sums that norms read and sums add to
	usualWeights = 13 // of weights that multiply wide values, and of all weights if the first formats miss the target
)

// prior makes formats that suit transformers.
type prior struct {
	*defUse
	s       *search
	formats lower.Formats
	more    int // how many bits values get more than usual
}

// usual returns formats that suit transformers, by the role of each value; none if the graph has no
// norms. steps makes them finer than usual: with one step, all weights have usualWeights; each
// further one gives values and weights one bit more. product is the bits of products of two values that
// weights multiply; if it is 0, they follow from the ranges and the first sample (productBits).
func (s *search) usual(steps, product int) lower.Formats {
	if !hasNorms(s.fg) {
		return nil
	}
	a, f, more := newDefUse(s.fg), lower.Formats{}, max(0, steps-1)
	for _, in := range s.fg.Inputs {
		f[in.Name] = lower.Format{Bits: hiddenBits + more}
		if a.OnlySummed(in.Name) {
			f[in.Name] = lower.Format{Bits: fixed.FormatBits - 4} // public values cost nothing
		}
	}
	for _, n := range s.fg.Nodes {
		bits := hiddenBits
		switch t := lower.TraitsOf(n.Op); {
		case t.Softmax || t.LogSoftmax:
			continue
		case t.Norm:
			bits = normBits
		case a.residual(n):
			bits = sumBits
		case n.Op == graph.Mul && a.ofTwo(n) && a.weighed(n.Output):
			if bits = product; bits == 0 {
				bits = s.productBits(n.Output)
			}
		}
		f[n.Output] = lower.Format{Bits: bits + more}
	}
	p := prior{a, s, f, more}
	for _, n := range s.fg.Nodes {
		if a.attends(n) {
			p.attention(n)
		}
	}
	for _, n := range s.fg.Nodes {
		x := a.unmoved(a.weighs(n))
		if by := a.By[x]; by != nil && (steps > 0 || f[x].Bits > fixed.NarrowBits || a.attends(by)) {
			f[n.Output] = lower.Format{Bits: f[n.Output].Bits, Weights: usualWeights + more}
		}
	}
	return f
}

// hasNorms reports whether a graph has norms other than the magnitudes of a few components.
func hasNorms(fg *graph.Graph) bool {
	return slices.ContainsFunc(fg.Nodes, func(n *graph.Node) bool {
		op, ok := n.Op.(graph.Norm)
		return ok && !(op.Sum && op.Count(fg.Shapes[n.Output]) <= graph.MaxComponents)
	})
}

// attention sets the formats around a product of two computed matrices: of its
// factors and the values that these are made of, back to products with weights (back), and of the
// result, up to where a function takes it or weights multiply it (ahead).
func (p *prior) attention(n *graph.Node) {
	scores := p.scores(n)
	bits := attentionFormat{normBits, factorBits, factorBits}
	if scores {
		bits = p.s.attention(p.defUse, n)
	}
	seen := map[string]bool{}
	p.back(n.Inputs[0], bits.a+p.more, seen)
	p.back(n.Inputs[1], bits.b+p.more, seen)
	p.ahead(n.Output, bits.scores+p.more)
	if scores {
		p.formats[n.Output] = lower.Format{Bits: bits.scores + p.more, Weights: factorBits + p.more}
	}
}

// back sets the format of a factor of attention, and of the values that it is made of: those have
// turnedBits from the first node on that does not only move entries. It goes back to products with
// weights, whose format it sets, and stops before norms, products of two computed matrices and residual
// sums.
func (p *prior) back(name string, bits int, seen map[string]bool) {
	n := p.By[name]
	if _, ok := p.formats[name]; !ok || n == nil || seen[name] || p.residual(n) {
		return
	}
	seen[name] = true
	t := lower.TraitsOf(n.Op)
	if product := t.Product != lower.NoProduct; t.Norm || product && p.weighs(n) == "" {
		return
	} else if p.formats[name] = (lower.Format{Bits: bits}); product {
		return
	}
	if !lower.OnlyMoves(n) {
		bits = turnedBits + p.more
	}
	for _, in := range n.Inputs {
		if p.computed(in) {
			p.back(in, bits, seen)
		}
	}
}

// ahead sets the format of a product, and of the values that are made of it by moving entries or with a
// constant, entry by entry.
func (p *prior) ahead(name string, bits int) {
	p.formats[name] = lower.Format{Bits: bits}
	for _, n := range p.Readers[name] {
		byConstant := lower.TraitsOf(n.Op).PerEntry && len(n.Inputs) == 2 && (!p.computed(n.Inputs[0]) || !p.computed(n.Inputs[1]))
		if lower.OnlyMoves(n) || byConstant {
			p.ahead(n.Output, bits)
		}
	}
}

// attentionFormat has the bits of a product of attention and of its two factors.
type attentionFormat struct{ scores, a, b int }

// priorAttention suits any number of scores.
var priorAttention = attentionFormat{scoreBits, factorBits, factorBits}

// factorsOf returns the bits of the two factors, at most factorBits each, with which one accumulator
// holds a sum of count products. b may be one more than a: the second factors, the keys of attention,
// have fewer entries than the queries. ok is false if a is too small to be of use.
func factorsOf(count int) (a, b int, ok bool) {
	a, b = factorBits, factorBits
	const limit = model.Bound/2 - 1<<fixed.MostShift
	for int64(count)*(1<<a-1)*(1<<b-1) > limit {
		if a == b {
			a--
		} else {
			b--
		}
	}
	return a, b, a >= leastFactors
}

// attention returns the formats of the scores that node n computes, and of their factors. In a large model
// of texts of any length, one accumulator holds a score, which one look-up rounds to the finest scale that
// its table allows; the cost of one more table is small there. In other models it returns
// priorAttention: texts are mostly short in a small model, and the search finds what scores need.
func (s *search) attention(a *defUse, n *graph.Node) attentionFormat {
	shape := s.fg.Shapes[n.Inputs[0]]
	count := shape[len(shape)-1]
	fa, fb, ok := factorsOf(count)
	if !s.large || s.opts.Length == 0 || lower.Length(s.fg) == "" || !ok || !a.softened(n.Output) {
		return priorAttention
	}
	f := attentionFormat{scoreBits, fa, fb}
	// room is how many bits of fraction a score can have so that a table of 2^ScoreTable rows has all keys
	// of the static bound: count products of factors that fill their bits.
	room := lower.ScoreTable - 1 - model.Log2Ceil(count)
	for i, bits := range []int{fa, fb} {
		r := s.ranges[n.Inputs[i]].Abs() * s.opts.Headroom
		if r == 0 {
			return f
		}
		room -= bits - fixed.FloorLog2((fixed.Pow2(bits)-1)/r)
	}
	// A scale coarser than 2^−LeastScore may have a larger table.
	room = max(room, min(lower.LeastScore, room+model.MaxTableBits-lower.ScoreTable))
	r := s.ranges[n.Output].Abs() * s.opts.Headroom
	if room < lower.LeastScore || r == 0 {
		return f
	}
	f.scores = min(max(fixed.FloorLog2(r*fixed.Pow2(room))+1, 4), scoreBits)
	return f
}

// The bits of values in models that take the logarithm of a power, as models of sounds do. Small powers
// count as much as large ones, so values before the logarithm have as many bits as products of limbs
// leave room for, and weights in two parts. Values after it are like those of any other model.
const (
	spectrumBits  = 24 // before the logarithm
	spectrumAfter = 15 // after it, and of the weights there
)

// spectral returns the formats that such models begin with; none for others.
func spectral(fg *graph.Graph, groups []group) lower.Formats {
	return fineBefore(fg, groups, func(n *graph.Node) (before, finest []string) {
		if lower.TraitsOf(n.Op).Powers {
			before = n.Inputs
		}
		if _, bands := n.Op.(graph.LogBands); bands { // its first operand is the values that are squared
			finest = n.Inputs[:1]
		}
		return before, finest
	}, func(n *graph.Node) []string {
		if lower.OnlyMoves(n) {
			return n.Inputs[:1]
		}
		return nil
	})
}

// fineBefore returns formats for models in which small numbers count in some values. reads returns those
// that a node reads: before are fine values, and finest are the finest. Fine values, and all values that
// they are computed from, have spectrumBits, and weights of FormatWeights. The finest have FormatBits, and
// if a node's value is among them, so are the operands that alike returns for the node. Other values
// have spectrumAfter bits. It returns none if there are no fine values.
func fineBefore(
	fg *graph.Graph, groups []group, reads func(n *graph.Node) (before, finest []string), alike func(n *graph.Node) []string,
) lower.Formats {
	before, finest := map[string]bool{}, map[string]bool{}
	mark := func(set map[string]bool, names []string) {
		for _, name := range names {
			set[name] = true
		}
	}
	for _, n := range slices.Backward(fg.Nodes) {
		b, f := reads(n)
		mark(before, b)
		mark(finest, f)
		if before[n.Output] {
			mark(before, n.Inputs)
		}
		if finest[n.Output] {
			mark(finest, alike(n))
		}
	}
	if len(before) == 0 {
		return nil
	}
	return formatsOf(groups, func(g *group, name string) lower.Format {
		f := lower.Format{Bits: spectrumAfter, Weights: spectrumAfter}
		if before[name] {
			f = lower.Format{Bits: spectrumBits, Weights: lower.FormatWeights}
		}
		if finest[name] {
			f.Bits = fixed.FormatBits
		}
		if !g.product {
			f.Weights = 0
		}
		return f
	})
}

// leastFactors is the least bits of the factors whose products one accumulator holds. If they would have
// fewer, they are cut into limbs.
const leastFactors = 11
