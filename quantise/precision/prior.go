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
	scoreBits    = 15 // of what goes into a Softmax
	factorBits   = 12 // of what attention multiplies
	turnedBits   = 13 // of what that is made of, such as what positions turn
	hiddenBits   = 14 // of other values: the layers between
	normBits     = 15 // of normalised rows, 2^−10 up to 1024 elements; and of what attention gives
	productBits  = 18 // of products of two values that weights multiply, or more
	sumBits      = 26 // of the sums that norms read and sums add to
	usualWeights = 13 // of the weights that multiply wide products
)

// prior makes formats that suit transformers.
type prior struct {
	*defUse
	s       *search
	formats lower.Formats
	more    int // bits than usual
}

// usual returns formats that suit transformers; none if the graph has no norms. From one step
// of more precision on, all weights have usualWeights. Each further step gives values and weights
// one bit more. Products of two values that weights multiply have product bits; 0: as many
// as ranges and the first sample ask for.
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

// hasNorms says whether there are norms, but for those of magnitudes.
func hasNorms(fg *graph.Graph) bool {
	return slices.ContainsFunc(fg.Nodes, func(n *graph.Node) bool {
		op, ok := n.Op.(graph.Norm)
		return ok && !(op.Sum && op.Count(fg.Shapes[n.Output]) <= graph.MaxComponents)
	})
}

// attention sets the formats around a product of two computed matrices: of its
// factors and of what these are made of, back to products with weights, and of the
// result until it is a function's argument or weights multiply it.
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

// back sets the format of a factor and of what it is made of.
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

// ahead sets the format of a product and of what is made of it alone.
func (p *prior) ahead(name string, bits int) {
	p.formats[name] = lower.Format{Bits: bits}
	for _, n := range p.Readers[name] {
		byConstant := lower.TraitsOf(n.Op).PerEntry && len(n.Inputs) == 2 && (!p.computed(n.Inputs[0]) || !p.computed(n.Inputs[1]))
		if lower.OnlyMoves(n) || byConstant {
			p.ahead(n.Output, bits)
		}
	}
}

// attentionFormat are the bits of scores of attention and of the two factors.
type attentionFormat struct{ scores, a, b int }

// priorAttention suits scores of any number.
var priorAttention = attentionFormat{scoreBits, factorBits, factorBits}

// factorsOf are the bits of the factors of a sum of so many products, of at most factorBits
// each, for which one accumulator holds it; false if they are too few. The second may have
// one more: the keys of attention have fewer entries than the queries.
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

// attention returns the formats of scores and their factors. In a large model of texts, a score is
// a sum that one accumulator holds, rounded by one look-up to the finest scale that its table
// has: one more table is little beside those that there are. In a small model texts are mostly
// short, and the search finds what the scores need.
func (s *search) attention(a *defUse, n *graph.Node) attentionFormat {
	shape := s.fg.Shapes[n.Inputs[0]]
	count := shape[len(shape)-1]
	fa, fb, ok := factorsOf(count)
	if !s.large || s.opts.Length == 0 || lower.Length(s.fg) == "" || !ok || !a.softened(n.Output) {
		return priorAttention
	}
	f := attentionFormat{scoreBits, fa, fb}
	room := lower.ScoreTable - 1 - model.Log2Ceil(count) // of a score's scale
	for i, bits := range []int{fa, fb} {
		r := s.ranges[n.Inputs[i]].Abs() * s.opts.Headroom
		if r == 0 {
			return f
		}
		room -= bits - fixed.FloorLog2((fixed.Pow2(bits)-1)/r)
	}
	room = max(room, min(lower.LeastScore, room+model.MaxTableBits-lower.ScoreTable))
	r := s.ranges[n.Output].Abs() * s.opts.Headroom
	if room < lower.LeastScore || r == 0 {
		return f
	}
	f.scores = min(max(fixed.FloorLog2(r*fixed.Pow2(room))+1, 4), scoreBits)
	return f
}

// Formats of models that take the logarithm of a power, as models of sounds do. Small powers count
// as much as large ones, so values before the logarithm have as many bits as products with limbs
// leave, and weights in two parts. Values after it are like those of any other model.
const (
	spectrumBits  = 24
	spectrumAfter = 15
)

// spectral are the formats that such models begin with; none for others.
func spectral(fg *graph.Graph, groups []group) lower.Formats {
	return fineBefore(fg, groups, func(n *graph.Node) (before, finest []string) {
		if lower.TraitsOf(n.Op).Powers {
			before = n.Inputs
		}
		if _, bands := n.Op.(graph.LogBands); bands { // what these are the powers of
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

// fineBefore are the formats of models in which small numbers count in some values: those that
// reads returns for a node. What these are made of has as many bits as spectra have. Some are the
// finest, which have all bits that there are; so are the operands that alike returns of a node
// whose value is one of them. It returns none if there are no such values.
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

// leastFactors is the least size of factors in one accumulator; limbs do for fewer.
const leastFactors = 11
