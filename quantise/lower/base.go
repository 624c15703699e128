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
	Name   string // that tells it apart from others
	of     *Result
	scales map[string][]baseScale // of fixed tensors, by name and shape, the finest first
}

// baseScale is the scale of a fixed tensor, and its range, which tells whether channels of large weights have fewer digits.
type baseScale struct {
	frac int
	most int64
}

// AsBase returns the model as one that others are adapters to (Options.Base), with a name that no other has.
func (r *Result) AsBase(name string) *Base {
	b := &Base{Name: name, of: r, scales: map[string][]baseScale{}}
	for _, id := range r.Circuit.Graph.FixedIDs() {
		t := &r.Circuit.Graph.Tensors[id]
		key := scaleKey(t.Name, t.Shape)
		b.scales[key] = append(b.scales[key], baseScale{t.Frac, t.Max})
	}
	for _, list := range b.scales {
		slices.SortFunc(list, func(x, y baseScale) int { return y.frac - x.frac })
	}
	return b
}

func scaleKey(name string, shape []int) string { return fmt.Sprint(model.PrintableName(name), shape) }

// scalesOf are the scales of the base's fixed tensors of that name and shape, on which they have the range that is wanted; of a nil
// base there are none.
func (b *Base) scalesOf(name string, shape []int, has func(frac int, most int64) bool) []int {
	if b == nil {
		return nil
	}
	var list []int
	for _, s := range b.scales[scaleKey(name, shape)] {
		if has(s.frac, s.most) {
			list = append(list, s.frac)
		}
	}
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

// based takes the finest scale that the weights have in the base and for which the accumulator has room; the one that there is if
// they are not the base's. It is false if there is none.
func (m *meeting) based() bool {
	if !m.opts.Base.knows(m.name, m.shape) {
		return true
	}
	for _, frac := range m.baseScales() {
		if m.hasRoom(m.bias.most(), frac) {
			m.frac = frac
			return true
		}
	}
	return false
}

// basedOn has the product's weights, which are the base's, on a scale of theirs: the operand has fewer bits if they leave it no
// more.
func (m *meeting) basedOn() {
	most := model.Log2Ceil(int(m.Magnitude(m.id)))
	for bits := most; bits > max(0, most-minWeightBits); bits-- {
		if bits < most {
			m.id = m.narrowed(m.x, bits)
		}
		if m.based() || !isMatrix(m.t.Tensor) { // the adapter's tree has others on another scale
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
	byKey := map[string][]model.TensorID{}
	for _, id := range g.FixedIDs() {
		t := &g.Tensors[id]
		key := scaleKey(t.Name, t.Shape)
		byKey[key] = append(byKey[key], id)
	}
	shared := map[model.TensorID]bool{}
	for _, id := range of.FixedIDs() {
		t := &of.Tensors[id]
		key := scaleKey(t.Name, t.Shape)
		i := slices.IndexFunc(byKey[key], func(own model.TensorID) bool {
			x, y := m.Weights[own], b.of.Weights[id]
			return g.Tensors[own].Frac == t.Frac && !shared[own] && x.Len() == y.Len() && sameFill(x.Read, y.Read, x.Len())
		})
		var own model.TensorID
		if i >= 0 {
			own = byKey[key][i]
			m.Weights[own] = b.of.Weights[id]
		} else {
			own = model.TensorID(len(g.Tensors))
			g.Tensors = append(g.Tensors, model.Tensor{Name: t.Name, Shape: t.Shape, Kind: model.Fixed, Frac: t.Frac, Min: t.Min, Max: t.Max})
			m.Weights = append(m.Weights, b.of.Weights[id])
		}
		shared[own] = true
		g.Base = append(g.Base, own)
	}
	matrices := map[string]bool{}
	for name, t := range fg.Consts {
		matrices[model.PrintableName(name)] = isMatrix(t)
	}
	for _, id := range g.FixedIDs() {
		if t := &g.Tensors[id]; !shared[id] && matrices[t.Name] && b.knows(t.Name, t.Shape) {
			return fmt.Errorf("weights %s of the base are not those of its own circuit", graph.Quote(t.Name))
		}
	}
	var err error
	m.Graph, err = m.Circuit.At(m.Graph.Instance)
	return err
}
