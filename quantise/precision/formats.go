package precision

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/lower"
)

// group is the values of nodes that are alike, as those of a model's layers are. A search gives all of
// them one format.
type group struct {
	names   []string
	product bool // the values are products with constant weights
	sum     bool // the values are sums of two

	matrices bool // the values are products of two computed matrices
}

// alike groups the values of a graph. Values are alike if their nodes have the same operator and shapes,
// and their neighbours, too. All residual sums of one shape are one group, and each input is one.
func alike(fg *graph.Graph) []group {
	a, index := newDefUse(fg), map[string]int{}
	var groups []group
	add := func(key, name string) *group {
		i, ok := index[key]
		if !ok {
			i = len(groups)
			index[key] = i
			groups = append(groups, group{})
		}
		groups[i].names = append(groups[i].names, name)
		return &groups[i]
	}
	for _, in := range fg.Inputs {
		add("input "+in.Name, in.Name)
	}
	for _, n := range fg.Nodes {
		if a.residual(n) { // more bits for one sum of a stream are of use only if the others have them
			add(fmt.Sprintf("stream %v", fg.Shapes[n.Output]), n.Output).sum = true
			continue
		}
		key := fmt.Sprintf("%s %v", graph.Kind(n.Op), fg.Shapes[n.Output])
		for _, in := range n.Inputs {
			kind := ""
			if by := a.By[in]; by != nil {
				kind = graph.Kind(by.Op)
			}
			key += fmt.Sprintf(" (%s %v", kind, fg.Shapes[in])
			if fg.Consts[in] != nil {
				key += " constant"
			}
			key += ")"
		}
		for _, r := range a.Readers[n.Output] {
			key += fmt.Sprintf(" > %s %v", graph.Kind(r.Op), fg.Shapes[r.Output])
		}
		g := add(key, n.Output)
		g.product = a.weighs(n) != "" || n.Op == graph.Mul && (!a.computed(n.Inputs[0]) || !a.computed(n.Inputs[1]))
		g.sum, g.matrices = lower.TraitsOf(n.Op).Sums, a.attends(n)
	}
	return groups
}

// The bits of values and of weights that a search tries one after the other. Only sums get more than 20
// bits: the limbs of a wider factor would take bits from the weights.
var (
	bitSteps    = []int{lower.FirstBits, 20, 26}
	weightSteps = []int{10, 13, 15}
)

// next returns the next finer format of the values of a group, or of the weights that multiply them; f
// itself if there is none.
func (g *group) next(f lower.Format, weights bool) lower.Format {
	step := func(x *int, steps []int, most int) {
		for _, s := range steps {
			if s > *x && s <= most {
				*x = s
				return
			}
		}
	}
	switch {
	case weights:
		step(&f.Weights, weightSteps, lower.FormatWeights)
	case g.sum:
		step(&f.Bits, bitSteps, fixed.FormatBits)
	default:
		step(&f.Bits, bitSteps, lower.LimbedBits)
	}
	return f
}

// widest returns the formats that the mode "exact" begins with: the bits of the first step for every
// value, more where transformers need them, and the widest weights that a search tries.
func (s *search) widest() lower.Formats {
	wide := s.usual(mostSteps, lower.LimbedBits)
	return formatsOf(alike(s.fg), func(g *group, name string) lower.Format {
		f := lower.Format{Bits: max(bitSteps[0], wide[name].Bits)}
		if g.product {
			f.Weights = weightSteps[len(weightSteps)-1]
		}
		return f
	})
}

// formatsOf gives every value of some groups the format that of returns.
func formatsOf(groups []group, of func(g *group, name string) lower.Format) lower.Formats {
	f := lower.Formats{}
	for i := range groups {
		for _, name := range groups[i].names {
			f[name] = of(&groups[i], name)
		}
	}
	return f
}

// allOf gives each value the bits of format, or those that least has for it if these are more. Bits of
// weights are given to products with weights, and to products of two matrices if values are wide.
func allOf(groups []group, format lower.Format, least lower.Formats) lower.Formats {
	return formatsOf(groups, func(g *group, name string) lower.Format {
		f := lower.Format{Bits: max(format.Bits, least[name].Bits), Weights: least[name].Weights}
		if g.product || g.matrices && format.Bits > fixed.NarrowBits {
			f.Weights = max(format.Weights, f.Weights)
		}
		return f
	})
}

// productError is the error that rounding a product of two values entry by entry may make, in units of
// the norm of a row. In such products a few large entries leave few bits for the others.
const productError = 1.0 / 256

// productBits is how many bits such a product needs for productError on the first sample: at least the
// constant productBits, and at most LimbedBits, with which the weights that multiply it keep enough bits.
func (s *search) productBits(name string) int {
	r := s.ranges[name].Abs() * s.opts.Headroom
	if r == 0 {
		return productBits
	}
	round := s.float(0).rounds[name]
	if round == 0 {
		return productBits
	}
	frac := fixed.FloorLog2(round/productError) + 1
	return min(max(fixed.FloorLog2(r)+1+frac, productBits), lower.LimbedBits)
}
