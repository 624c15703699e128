package lower

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Base is a quantised model that others are adapters to: the same computation, with more added to some values. Their circuits
// have its weights on the scales that they have in its own, so that all of them can share one commitment to these.
type Base struct {
	Name  string // that tells it apart from others
	of    *Result
	fixed []model.TensorID // its fixed tensors
}

// AsBase returns the model as one that others are adapters to (Options.Base), with a name that no other has.
func (r *Result) AsBase(name string) *Base { return &Base{name, r, r.Circuit.Graph.FixedIDs()} }

// scalesOf are the scales, the finest first, of the base's fixed tensors of that name and shape, on which they have the range that is
// wanted, which tells whether channels of large weights have fewer digits; of a nil base there are none.
func (b *Base) scalesOf(name string, shape []int, has func(frac int, most int64) bool) []int {
	if b == nil {
		return nil
	}
	var list []int
	name = model.PrintableName(name)
	for _, id := range b.fixed {
		if t := &b.of.Circuit.Graph.Tensors[id]; t.Name == name && slices.Equal(t.Shape, shape) && has(t.Frac, t.Max) {
			list = append(list, t.Frac)
		}
	}
	slices.SortFunc(list, func(x, y int) int { return y - x })
	return list
}

// knows says whether the base has fixed tensors of that name and shape.
func (b *Base) knows(name string, shape []int) bool {
	return len(b.scalesOf(name, shape, func(int, int64) bool { return true })) > 0
}

// baseScales are the scales that the weights have in the base.
func (m *meeting) baseScales() []int {
	if m.stats.Most == 0 {
		return nil
	}
	return m.opts.Base.scalesOf(m.name, m.shape, func(frac int, most int64) bool {
		size, _, whole := m.scaledBy(m.stats, frac).Rounded()
		return most == int64(size) || whole && m.t.Factors == nil && m.part == nil
	})
}

// has refuses to make a matrix of the base's weights, or the part of it with this suffix to its name, on a scale that it does not
// have there.
func (b *Base) has(name, suffix string, t *graph.Tensor, shape []int, frac int) {
	same := func(own int, _ int64) bool { return own == frac }
	if isMatrix(t) && b.knows(name, shape) && len(b.scalesOf(name+suffix, shape, same)) == 0 {
		refuse.With("%s of the base would be in units of 2^%d, and there it is not", graph.Quote(name+suffix), -frac)
	}
}

// isMatrix says whether a constant is a matrix of weights.
func isMatrix(t *graph.Tensor) bool { return t != nil && !t.Public && len(t.Shape) > 1 }

// Formats are those of the base's values, and for what a graph has besides those of what they are computed from.
func (b *Base) Formats(fg *graph.Graph) Formats {
	f := maps.Clone(b.of.Formats)
	if f == nil {
		f = Formats{}
	}
	own := map[string]bool{}
	for _, name := range b.of.Values {
		own[name] = true
	}
	for _, n := range fg.Nodes {
		if own[n.Output] {
			continue
		}
		for _, in := range n.Inputs {
			if of, ok := f[in]; ok {
				f[n.Output] = of
				break
			}
		}
	}
	return f
}

// basedOn has the product's weights, if they are the base's, on the finest scale that they have there and for which the accumulator
// has room: the operand has fewer bits if they leave it no more.
func (m *meeting) basedOn() {
	if !m.opts.Base.knows(m.name, m.shape) {
		return
	}
	most := model.Log2Ceil(int(m.Magnitude(m.id)))
	for bits := most; bits > max(0, most-minWeightBits); bits-- {
		if bits < most {
			m.id = m.narrowed(m.x, bits)
		}
		for _, frac := range m.baseScales() {
			if m.hasRoom(m.bias.most(), frac) {
				m.frac = frac
				return
			}
		}
		if !isMatrix(m.t.Tensor) { // the adapter's tree has others on another scale
			return
		}
	}
	refuse.With("weights %s of the base leave no room for what they multiply, which reaches further with the adapter", graph.Quote(m.name))
}

// graft gives a model the base, if it is not nil: fixed tensors that are the base's are under its tree, and those that it alone
// has stand behind all others. fg is the float model.
func (b *Base) graft(m *Result, fg *graph.Graph) error {
	if b == nil {
		return nil
	}
	of, g := b.of.Circuit.Graph, m.Circuit.Graph
	alone := slices.Clone(g.FixedIDs()) // which the base does not have
	for _, id := range b.fixed {
		t, v := of.Tensors[id], b.of.Weights[id]
		i := slices.IndexFunc(alone, func(own model.TensorID) bool {
			u, w := &g.Tensors[own], m.Weights[own]
			return u.Name == t.Name && u.Frac == t.Frac && slices.Equal(u.Shape, t.Shape) && w.Len() == v.Len() && sameFill(w.Read, v.Read, v.Len())
		})
		own := model.TensorID(len(g.Tensors))
		if i >= 0 {
			own = alone[i]
			alone = slices.Delete(alone, i, i+1)
			m.Weights[own] = v
		} else {
			g.Tensors = append(g.Tensors, model.Tensor{Name: t.Name, Shape: t.Shape, Kind: model.Fixed, Frac: t.Frac, Min: t.Min, Max: t.Max})
			m.Weights = append(m.Weights, v)
		}
		g.Base = append(g.Base, own)
	}
	matrices := map[string]bool{}
	for name, t := range fg.Consts {
		matrices[model.PrintableName(name)] = isMatrix(t)
	}
	for _, id := range alone {
		if t := &g.Tensors[id]; matrices[t.Name] && b.knows(t.Name, t.Shape) {
			return fmt.Errorf("weights %s of the base are not those of its own circuit", graph.Quote(t.Name))
		}
	}
	var err error
	m.Graph, err = m.Circuit.At(m.Graph.Instance)
	return err
}
