package lower

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Base is a quantised model that others are adapters to: an adapter is the same computation, with something added to some
// values. The circuit of an adapter has the base's weights on the scales that they have in the base's circuit, so that both can
// share one commitment to these weights.
type Base struct {
	Name  string // tells the base apart from others
	of    *Result
	fixed []model.TensorID // the fixed tensors of its circuit
}

// AsBase returns the model as a base for adapters (Options.Base). No other base may have its name.
func (r *Result) AsBase(name string) *Base { return &Base{name, r, r.Circuit.Graph.FixedIDs()} }

// scalesOf returns the scales, the finest first, of the base's fixed tensors with that name and shape for which has is true of the
// scale and the largest entry. The largest entry tells whether the low bits of channels with large weights are zero. A nil base has no
// tensors.
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

// knows reports whether the base has fixed tensors with that name and shape.
func (b *Base) knows(name string, shape []int) bool {
	return len(b.scalesOf(name, shape, func(int, int64) bool { return true })) > 0
}

// baseScales returns the scales that the product's weights have in the base's circuit, the finest first, if on these they are
// rounded there as they would be here.
func (m *meeting) baseScales() []int {
	if m.stats.Most == 0 {
		return nil
	}
	return m.opts.Base.scalesOf(m.name, m.shape, func(frac int, most int64) bool {
		size, _, whole := m.scaledBy(m.stats, frac).Rounded()
		return most == int64(size) || whole && m.t.Factors == nil && m.part == nil
	})
}

// has refuses a fixed tensor of the base's matrix t on the scale frac if the base does not have one on that scale. The tensor's name is
// that of t with a suffix: "" for the matrix itself, another one for the second part of its weights (restOf).
func (b *Base) has(name, suffix string, t *graph.Tensor, shape []int, frac int) {
	same := func(own int, _ int64) bool { return own == frac }
	if isMatrix(t) && b.knows(name, shape) && len(b.scalesOf(name+suffix, shape, same)) == 0 {
		refuse.With("%s of the base would be in units of 2^%d, and there it is not", graph.Quote(name+suffix), -frac)
	}
}

// isMatrix reports whether a constant is a matrix of weights, of two axes or more.
func isMatrix(t *graph.Tensor) bool { return t != nil && !t.Public && len(t.Shape) > 1 }

// Formats returns the formats of the base's values, and for every value of fg that the base does not have the format of the first
// operand of its node that has one.
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

// basedOn puts the product's weights, if they are the base's, on the finest scale that they have there and that the accumulator
// has room for. If it has room for none, the other factor is rounded to fewer bits, by fewer than minWeightBits.
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
		if !isMatrix(m.t.Tensor) { // the adapter's own tree has them, on the scale that was chosen
			return
		}
	}
	refuse.With("weights %s of the base leave no room for what they multiply, which reaches further with the adapter", graph.Quote(m.name))
}

// graft makes m an adapter to b, if b is not nil: it sets Graph.Base to the tensors of m that are the base's fixed tensors, in the
// base's order. Those of the base that m does not have are added to m, behind all other tensors. It returns an error if a matrix of the
// base has other entries in m. fg is m's float model.
func (b *Base) graft(m *Result, fg *graph.Graph) error {
	if b == nil {
		return nil
	}
	of, g := b.of.Circuit.Graph, m.Circuit.Graph
	alone := slices.Clone(g.FixedIDs()) // in the end those that the base does not have
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
