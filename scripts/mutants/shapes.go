package main

import (
	"encoding/binary"
	"slices"

	"github.com/prove-model/prove-model/internal/schema"
)

// shapes are changes to a circuit that keep its meaning, or nearly so. A circuit that is changed in this way
// can often still be proved. apply gives up (skip) if there is nothing to change.
var shapes = []struct {
	name  string
	apply func(m *mutation)
}{
	{"a virtual divisor", (*mutation).virtualDivisor},
	{"a virtual divisor", (*mutation).virtualDivisor},
	{"a virtual operand", (*mutation).virtualOperand},
	{"a virtual operand", (*mutation).virtualOperand},
	// Puts a chain of virtual tensors in front of an output.
	{"nested virtual tensors", func(m *mutation) {
		g := m.graph()
		skip(len(g.Outputs) == 0)
		k := m.rng.IntN(len(g.Outputs))
		at, t := g.Outputs[k], m.known(g.Outputs[k])
		n := int(m.one(2, 10, 200, 1022, 1023, 1024, 1025, 2000))
		if n > 300 && m.rng.IntN(4) > 0 {
			n = 3
		}
		for range n {
			at = m.tensor(&schema.Tensor{Shape: t.Shape, Scales: t.Scales, Kind: schema.Virtual, Min: t.Min, Max: t.Max, Frac: t.Frac,
				Definition: []*schema.Linear{{Coefficient: 1, Source: at}}})
		}
		g.Outputs[k] = at
	}},
	{"a fill value", func(m *mutation) {
		l := m.term(func(l *schema.Linear) bool { return l.View != nil })
		l.View.Fill = m.one(1, -1, 7, 1<<30-1, 1<<30, -1<<30)
	}},
	// Joins groups without source axes, which repeat entries, into one group.
	{"groups made one", func(m *mutation) {
		l := m.term(func(l *schema.Linear) bool {
			n := 0
			for _, g := range of(l.View).Groups {
				if len(g.In) == 0 || m.rng.IntN(8) == 0 {
					n++
				}
			}
			return n > 1
		})
		var one *schema.Group
		var rest []*schema.Group
		for _, g := range l.View.Groups {
			switch {
			case len(g.In) > 0 && (one != nil || m.rng.IntN(4) > 0):
				rest = append(rest, g)
			case one == nil:
				one = g
				rest = append(rest, g)
			default:
				one.Out, one.Strides = append(one.Out, g.Out...), append(one.Strides, g.Strides...)
				one.In = append(one.In, g.In...)
			}
		}
		l.View.Groups = rest
	}},
	// Replaces an affine group by one with a list of indexes.
	{"a group of indexes", func(m *mutation) {
		g := m.group(func(g *schema.Group) bool {
			return g.Map == schema.Affine && len(g.In) == 1 && len(g.Out) == 1 && len(g.Sums) == 0
		})
		n := uint64(m.rng.IntN(9))
		for i := range n {
			g.Index = append(g.Index, i+uint64(m.rng.IntN(2)))
		}
		g.Map, g.Strides, g.Base = schema.Index, nil, 0
	}},
	{"a group of shape", func(m *mutation) {
		g := m.group(func(g *schema.Group) bool { return g.Map == schema.Affine && len(g.Sums) == 0 })
		g.Map, g.Strides, g.Base = schema.Reshape, nil, 0
	}},
	// Makes the map of a group one by public indexes, from an input.
	{"a group of public indexes", func(m *mutation) {
		g := m.group(func(g *schema.Group) bool { return len(g.In) == 1 && g.Map != schema.PublicIndexes })
		in := m.graph().Inputs
		g.Map, g.Base, g.Strides, g.Sums, g.Index, g.Ids = schema.PublicIndexes, 0, nil, nil, nil, pick(m, in)
		if int(g.Ids) < len(m.graph().Tensors) && m.rng.IntN(2) == 0 {
			t := m.graph().Tensors[g.Ids]
			t.Min, t.Max = 0, m.one(0, 1, 2, 3)
		}
	}},
	// Cuts a piece of a table in two.
	{"a piece in two", func(m *mutation) {
		for _, t := range m.graph().Tables {
			if len(t.Pieces) == 0 || m.rng.IntN(2) == 0 {
				continue
			}
			i, from := m.rng.IntN(len(t.Pieces)), int64(0)
			if i > 0 {
				from = t.Pieces[i-1].End
			}
			p := schema.Clone(t.Pieces[i])
			p.End = from + (p.End-from)/2
			t.Pieces = slices.Insert(t.Pieces, i, p)
			return
		}
		skip(true)
	}},
	{"steps exchanged", func(m *mutation) {
		s := m.graph().Steps
		skip(len(s) < 2)
		i := m.rng.IntN(len(s) - 1)
		s[i], s[i+1] = s[i+1], s[i]
	}},
	{"a step twice", func(m *mutation) {
		g := m.graph()
		skip(len(g.Steps) == 0)
		i := m.rng.IntN(len(g.Steps))
		s := schema.Clone(g.Steps[i])
		if s.Out > 0 && int(s.Out) <= len(g.Tensors) {
			s.Out = m.tensor(schema.Clone(g.Tensors[s.Out-1])) + 1
		}
		if s.Remainder > 0 && int(s.Remainder) <= len(g.Tensors) {
			s.Remainder = m.tensor(schema.Clone(g.Tensors[s.Remainder-1])) + 1
		}
		at := len(g.Steps)
		if m.rng.IntN(4) == 0 {
			at = i + 1
		}
		g.Steps = slices.Insert(g.Steps, at, s)
	}},
	// Looks a tensor up once more.
	{"a look-up more", func(m *mutation) {
		g := m.graph()
		skip(len(g.Tensors) == 0)
		id := uint32(m.rng.IntN(len(g.Tensors)))
		t := g.Tensors[id]
		from, constant := m.one(0, -1<<9, t.Min), m.one(0, 0, 1, -t.Min)
		m.ranged(len(g.Steps), id, t.Shape, t.Scales, constant, uint32(m.one(0, 1, 4, 8, 10)), uint32(m.one(0, 0, 1, 4, 8)), from)
	}},
	// Replaces a look-up of a tensor in a range by one in a smaller range, with a remainder.
	{"a look-up with a shift", func(m *mutation) {
		g := m.graph()
		var at []int
		for i, s := range g.Steps {
			if s.Kind == schema.Lookup && s.Shift == 0 && s.Out == 0 && s.Table > 0 && int(s.Table) <= len(g.Tables) &&
				len(of(s.Accumulator).Linear) == 1 && len(of(s.Accumulator).Products) == 0 {
				at = append(at, i)
			}
		}
		i := pick(m, at)
		s := g.Steps[i]
		t := g.Tables[s.Table-1]
		skip(t.Bits < 3)
		of, shape, scales := s.Accumulator.Linear[0].Source, s.Shape, s.Scales
		cut := uint32(1 + m.rng.IntN(int(t.Bits)))
		from, constant := t.Min, s.Accumulator.Constant
		if m.rng.IntN(2) == 0 { // keys from 0 on
			from, constant = 0, constant-t.Min
		}
		constant += m.one(0, 0, 0, 1, -1, 1<<10)
		g.Steps = slices.Delete(g.Steps, i, i+1)
		place := i
		if m.rng.IntN(4) == 0 {
			place = len(g.Steps)
		}
		m.ranged(place, of, shape, scales, constant, t.Bits-cut, cut, from>>cut)
		m.unused(s.Table)
	}},
	// Copies a tensor.
	{"an exact step", func(m *mutation) {
		g := m.graph()
		skip(len(g.Outputs) == 0)
		k := m.rng.IntN(len(g.Outputs))
		of := g.Outputs[k]
		t := schema.Clone(m.known(of))
		t.Kind, t.Definition, t.Formula, t.Fracs = schema.Witness, nil, nil, nil
		out := m.tensor(t)
		g.Steps = append(g.Steps, &schema.Step{Kind: schema.Exact, Name: "copy", Shape: slices.Clone(t.Shape), Scales: slices.Clone(t.Scales), Out: out + 1,
			Accumulator: &schema.Accumulator{Linear: []*schema.Linear{{Coefficient: 1, Source: of}}}})
		g.Outputs[k] = out
	}},
	{"a name", func(m *mutation) {
		g := m.graph()
		at := []*string{&g.Name}
		for _, t := range g.Tensors {
			at = append(at, &t.Name)
		}
		for _, s := range g.Steps {
			at = append(at, &s.Name)
		}
		for _, t := range g.Tables {
			at = append(at, &t.Name)
		}
		for _, f := range g.Free {
			at = append(at, &f.Name)
		}
		*pick(m, at) = pick(m, names)
	}},
	// Adds a free dimension, with which all first axes scale that are as long as the first input's.
	{"a free dimension", func(m *mutation) {
		g := m.graph()
		skip(len(g.Inputs) == 0 || len(m.known(g.Inputs[0]).Shape) == 0)
		bit := uint32(1) << len(g.Free)
		g.Free = append(g.Free, &schema.Free{Name: string(rune('p' + len(g.Free))), Bound: uint32(m.one(1, 2, 3, 1<<24, 1<<24+1, 0))})
		d := g.Tensors[g.Inputs[0]].Shape[0]
		scaled := func(shape []uint64, scales []uint32) []uint32 {
			if len(shape) == 0 || shape[0] != d {
				return scales
			}
			if len(scales) == 0 {
				scales = make([]uint32, len(shape))
			}
			scales[0] |= bit
			return scales
		}
		for _, t := range g.Tensors {
			if t.Kind != schema.Fixed && t.Kind != schema.ByFormula {
				t.Scales = scaled(t.Shape, t.Scales)
			}
		}
		for _, s := range g.Steps {
			s.Scales = scaled(s.Shape, s.Scales)
		}
	}},
	{"an output more", func(m *mutation) {
		g := m.graph()
		g.Outputs = append(g.Outputs, uint32(m.rng.IntN(len(g.Tensors)+1)))
	}},
	{"an output that is empty", func(m *mutation) {
		g := m.graph()
		id := m.tensor(&schema.Tensor{Name: "empty", Kind: schema.Empty, Shape: []uint64{uint64(m.rng.IntN(3)), 0, uint64(m.one(1, 1<<34, 1<<34+1))}})
		if m.rng.IntN(2) == 0 {
			g.Inputs = append(g.Inputs, id)
		} else {
			g.Outputs = append(g.Outputs, id)
		}
	}},
	{"saturated rows", func(m *mutation) {
		g := m.graph()
		t := pick(m, g.Tables)
		end := uint32(1) << min(t.Bits, 20)
		t.Saturated = [][]uint32{{0, 1}, {end - 1, end}, {0, 1, end - 1, end}, {0, end}, {1, 1}, {0, 1, 1, 2}, {0}}[m.rng.IntN(7)]
	}},
	{"a range", func(m *mutation) {
		t := pick(m, m.graph().Tensors)
		t.Min, t.Max = m.one(t.Min, -1<<30+1, -1<<30, 0), m.one(t.Max, 1<<30-1, 1<<30, 0, t.Min)
	}},
	// Adds a tensor by formula to an output.
	{"a constant by formula", func(m *mutation) {
		g := m.graph()
		skip(len(g.Outputs) == 0)
		t := m.known(g.Outputs[0])
		f := &schema.Formula{Kind: schema.Enum(m.rng.IntN(4)), Offset: m.one(0, 1, -1, 5, 1<<30-1, 1<<30)}
		rank := 2
		if f.Kind == schema.Progression {
			rank, f.Step = 1, m.one(0, 1, -3, 1<<30-1)
		}
		skip(len(t.Shape) < rank)
		id := m.tensor(&schema.Tensor{Name: "formula", Kind: schema.ByFormula, Shape: slices.Clone(t.Shape[len(t.Shape)-rank:]), Formula: f, Min: m.one(0, -1<<30+1), Max: m.one(1, 1<<30-1)})
		v := &schema.View{}
		for a := range t.Shape {
			group := &schema.Group{Out: []uint32{uint32(a)}, Strides: []int64{0}}
			if k := a - (len(t.Shape) - rank); k >= 0 {
				group.In, group.Strides = []uint32{uint32(k)}, []int64{1}
			}
			v.Groups = append(v.Groups, group)
		}
		g.Outputs[0] = m.tensor(&schema.Tensor{Name: "sum", Kind: schema.Virtual, Shape: slices.Clone(t.Shape), Scales: slices.Clone(t.Scales), Min: -1<<30 + 1, Max: 1<<30 - 1,
			Definition: []*schema.Linear{{Coefficient: 1, Source: g.Outputs[0]}, {Coefficient: 1, Source: id, View: v}}})
	}},
	{"a text", func(m *mutation) {
		skip(len(m.key.Texts) == 0 && m.rng.IntN(4) > 0)
		m.key.Texts = nil
		for range 1 + m.rng.IntN(5)/4 {
			m.key.Texts = append(m.key.Texts, &schema.Text{
				Tokenizer: pick(m, bytes32), Ends: [][]uint32{nil, {1}, {1, 1}, {0, 1 << 29}, {1 << 30}}[m.rng.IntN(5)],
				Writes: schema.Enum(m.rng.IntN(3)), Template: pick(m, bytes32),
			})
		}
		if one := m.key.Texts[0]; m.rng.IntN(3) == 0 { // a model of strings, whose text mostly has no other fields
			one.Vocabulary = pick(m, bytes32)
			if m.rng.IntN(4) > 0 {
				*one = schema.Text{Vocabulary: one.Vocabulary}
			}
		}
	}},
	{"a limb of the root", func(m *mutation) {
		switch t := pick(m, m.key.Trees); m.rng.IntN(4) {
		case 0:
			m.key.Trees = append(m.key.Trees, t)
		case 1:
			t.RowVars = uint32(m.one(0, 1, 29, 30, 1<<31))
		default:
			skip(len(t.Root) < 4)
			binary.LittleEndian.PutUint32(t.Root, uint32(m.one(0, 1, 1<<31-2, 1<<31-1, 1<<31)))
		}
	}},
	// Makes the base another list of tensors, mostly with as many trees as it needs.
	{"a base", func(m *mutation) {
		g := m.graph()
		var fixed []uint32
		for i, t := range g.Tensors {
			if t.Kind == schema.Fixed {
				fixed = append(fixed, uint32(i))
			}
		}
		skip(len(fixed) == 0 || len(m.key.Trees) == 0)
		m.rng.Shuffle(len(fixed), func(i, j int) { fixed[i], fixed[j] = fixed[j], fixed[i] })
		n := m.rng.IntN(len(fixed) + 1)
		g.Base = slices.Clone(fixed[:n])
		switch m.rng.IntN(8) {
		case 0:
			g.Base = append(g.Base, uint32(m.rng.IntN(len(g.Tensors)+1)))
		case 1:
			g.Base = append(g.Base, fixed[0])
		}
		if m.rng.IntN(8) > 0 {
			t := m.key.Trees[0]
			m.key.Trees = []*schema.Tree{t}
			if n > 0 {
				m.key.Trees = append(m.key.Trees, t)
			}
		}
	}},
	{"codes", func(m *mutation) {
		m.known(pick(m, slices.Concat(m.graph().Inputs, m.graph().Outputs))).Numbers = schema.Enum(m.rng.IntN(4))
	}},
}

// nothing is the panic of skip.
type nothing struct{}

// skip ends a shape if there is nothing that it could change.
func skip(without bool) {
	if without {
		panic(nothing{})
	}
}

// applied applies a shape, and says whether there was something to change.
func (m *mutation) applied(shape func(m *mutation)) (ok bool) {
	defer func() {
		if p := recover(); p != nil && p != (nothing{}) {
			panic(p)
		}
	}()
	shape(m)
	return true
}

// pick draws an element of a list, and skips if it is empty.
func pick[T any](m *mutation, list []T) T {
	skip(len(list) == 0)
	return list[m.rng.IntN(len(list))]
}

func (m *mutation) graph() *schema.Graph { return m.key.Graph }

// known is the tensor with this identifier. It skips if there is none.
func (m *mutation) known(id uint32) *schema.Tensor {
	skip(int(id) >= len(m.graph().Tensors))
	return m.graph().Tensors[id]
}

// tensor appends a tensor and returns its identifier.
func (m *mutation) tensor(t *schema.Tensor) uint32 {
	g := m.graph()
	g.Tensors = append(g.Tensors, t)
	return uint32(len(g.Tensors) - 1)
}

// step draws a step of kind k, and returns it with its index.
func (m *mutation) step(k schema.Enum) (*schema.Step, int) {
	var at []int
	for i, s := range m.graph().Steps {
		if s.Kind == k {
			at = append(at, i)
		}
	}
	i := pick(m, at)
	return m.graph().Steps[i], i
}

// terms are the linear terms of all accumulators and virtual tensors.
func (m *mutation) terms() (list []*schema.Linear) {
	for _, t := range m.graph().Tensors {
		list = append(list, t.Definition...)
	}
	for _, s := range m.graph().Steps {
		list = append(list, of(s.Accumulator).Linear...)
	}
	return list
}

// of is the message, or an empty one if it is nil.
func of[T any](message *T) *T {
	if message == nil {
		return new(T)
	}
	return message
}

// term draws a linear term for which ok holds.
func (m *mutation) term(ok func(*schema.Linear) bool) *schema.Linear {
	list := slices.DeleteFunc(m.terms(), func(l *schema.Linear) bool { return !ok(l) })
	return pick(m, list)
}

// group draws a group of a view for which ok holds.
func (m *mutation) group(ok func(*schema.Group) bool) *schema.Group {
	l := m.term(func(l *schema.Linear) bool { return slices.ContainsFunc(of(l.View).Groups, ok) })
	return pick(m, slices.DeleteFunc(slices.Clone(l.View.Groups), func(g *schema.Group) bool { return !ok(g) }))
}

// one draws one of the numbers.
func (m *mutation) one(of ...int64) int64 { return of[m.rng.IntN(len(of))] }

// identity is a view that changes nothing, in one of the ways in which such a view can be written.
func (m *mutation) identity(shape []uint64) *schema.View {
	v := &schema.View{}
	if m.rng.IntN(4) == 0 {
		v.Fill = m.one(1, -5, 1<<30-1)
	}
	if m.rng.IntN(4) == 0 && len(shape) > 0 {
		g := &schema.Group{Map: schema.Reshape}
		for a := range shape {
			g.Out, g.In = append(g.Out, uint32(a)), append(g.In, uint32(a))
		}
		v.Groups = append(v.Groups, g)
		return v
	}
	for a, d := range shape {
		g := &schema.Group{Out: []uint32{uint32(a)}, In: []uint32{uint32(a)}}
		switch k := m.rng.IntN(6); {
		case k == 0 && d < 1<<10:
			g.Map = schema.Index
			for i := range d {
				g.Index = append(g.Index, i+1)
			}
		case k == 1:
			g.Map = schema.Reshape
		default:
			g.Strides = []int64{1}
		}
		v.Groups = append(v.Groups, g)
	}
	return v
}

// virtual appends a virtual tensor that is the tensor of times a coefficient.
func (m *mutation) virtual(of uint32, coefficient int64) uint32 {
	t := m.graph().Tensors[of]
	l := &schema.Linear{Coefficient: coefficient, Source: of}
	if m.rng.IntN(2) == 0 {
		l.View = m.identity(t.Shape)
	}
	return m.tensor(&schema.Tensor{Name: "virtual", Shape: slices.Clone(t.Shape), Scales: slices.Clone(t.Scales), Kind: schema.Virtual,
		Min: -1<<30 + 1, Max: 1<<30 - 1, Definition: []*schema.Linear{l}})
}

// repeated appends a virtual tensor of the same shape as the tensor of. Along some axes it repeats the first entry of that tensor. All
// entries are multiplied by a coefficient.
func (m *mutation) repeated(of uint32, coefficient int64) uint32 {
	t := m.graph().Tensors[of]
	small := &schema.View{}
	wide := &schema.View{}
	var shape []uint64
	var scales []uint32
	apart := m.rng.IntN(2) == 0
	var rest []uint32
	for a := range t.Shape {
		if m.rng.IntN(2) == 0 {
			k := uint32(len(shape))
			small.Groups = append(small.Groups, keeps(k, uint32(a)))
			wide.Groups = append(wide.Groups, keeps(uint32(a), k))
			shape = append(shape, t.Shape[a])
			if a < len(t.Scales) { // fewer, if they were mutated
				scales = append(scales, t.Scales[a])
			}
			continue
		}
		small.Groups = append(small.Groups, &schema.Group{In: []uint32{uint32(a)}})
		if apart {
			wide.Groups = append(wide.Groups, repeats(uint32(a)))
		} else {
			rest = append(rest, uint32(a))
		}
	}
	if len(rest) > 0 {
		wide.Groups = append(wide.Groups, repeats(rest...))
	}
	if !slices.ContainsFunc(scales, func(s uint32) bool { return s != 0 }) {
		scales = nil
	}
	first := m.tensor(&schema.Tensor{Name: "first", Shape: shape, Scales: scales, Kind: schema.Virtual, Min: t.Min, Max: t.Max,
		Definition: []*schema.Linear{{Coefficient: 1, Source: of, View: small}}})
	return m.tensor(&schema.Tensor{Name: "repeated", Shape: slices.Clone(t.Shape), Scales: slices.Clone(t.Scales), Kind: schema.Virtual,
		Min: -1<<30 + 1, Max: 1<<30 - 1, Definition: []*schema.Linear{{Coefficient: coefficient, Source: first, View: wide}}})
}

// virtualDivisor replaces the divisor of a division by a virtual tensor made from it, also in the
// equation and the range check of the next steps. There it puts the virtual tensor or its source.
func (m *mutation) virtualDivisor() {
	s, i := m.step(schema.Divide)
	steps := m.graph().Steps
	skip(s.Divisor == 0 || int(s.Divisor) > len(m.graph().Tensors) || i+2 >= len(steps))
	old := s.Divisor - 1
	var d uint32
	if c := m.one(1, 1, 1, 2, 3, -1, 0); m.rng.IntN(2) == 0 {
		d = m.virtual(old, c)
	} else {
		d = m.repeated(old, c)
	}
	s.Divisor = d + 1
	def := m.graph().Tensors[d].Definition[0]
	through := m.rng.IntN(3) > 0 // the steps read the divisor's source, not the divisor itself
	// If the old divisor was a view of another tensor, the steps may read that tensor.
	was := old
	if t := m.graph().Tensors[old]; len(t.Definition) == 1 {
		was = t.Definition[0].Source
	}
	for _, s := range steps[i+1 : min(i+9, len(steps))] {
		for _, p := range of(s.Accumulator).Products {
			if s.Kind != schema.Zero || p.A != old && p.A != was {
				continue
			}
			if p.A, p.Coefficient, p.LabelsA = d, -1, axesOf(s.Shape); through {
				p.A, p.Coefficient = def.Source, -def.Coefficient
				if len(m.graph().Tensors[def.Source].Shape) != len(s.Shape) {
					p.LabelsA = axesThrough(def)
				}
			}
		}
		for _, l := range of(s.Accumulator).Linear {
			if s.Kind == schema.Lookup && (l.Source == old || l.Source == was) && len(s.Accumulator.Linear) == 2 {
				l.Source, l.View, l.Coefficient = d, nil, 1
				if through {
					l.Source, l.View, l.Coefficient = def.Source, def.View, def.Coefficient
				}
			}
		}
	}
}

// axesOf labels the axes of a shape by their numbers.
func axesOf[T any](shape []T) (labels []uint32) {
	for a := range shape {
		labels = append(labels, uint32(a))
	}
	return labels
}

// axesThrough are the output axes that the axes of a term's source become, in order.
func axesThrough(l *schema.Linear) (labels []uint32) {
	for _, g := range of(l.View).Groups {
		if len(g.In) == 1 {
			labels = append(labels, g.Out...)
		}
	}
	return labels
}

// virtualOperand replaces an operand of a step, or an output, by a virtual tensor made from it.
func (m *mutation) virtualOperand() {
	var at []*uint32
	for _, s := range m.graph().Steps {
		for _, l := range of(s.Accumulator).Linear {
			at = append(at, &l.Source)
		}
		for _, p := range of(s.Accumulator).Products {
			at = append(at, &p.A, &p.B)
		}
	}
	for i := range m.graph().Outputs {
		at = append(at, &m.graph().Outputs[i])
	}
	p := pick(m, at)
	m.known(*p)
	*p = m.virtual(*p, m.one(1, 1, 1, 1, 2, -1, 0))
}

// table is the number of a range table of the circuit with these bits and least value, or of a new one.
func (m *mutation) table(bits uint32, from int64) uint32 {
	g := m.graph()
	for i, t := range g.Tables {
		if t.Kind == schema.Range && t.Bits == bits && t.Min == from {
			return uint32(i + 1)
		}
	}
	g.Tables = append(g.Tables, &schema.Table{Name: "range", Bits: bits, Min: from})
	return uint32(len(g.Tables))
}

// ranged inserts a look-up of a tensor plus a constant in a range, at index at among the steps. With a shift, it also looks the remainder
// up.
func (m *mutation) ranged(at int, of uint32, shape []uint64, scales []uint32, constant int64, bits, shift uint32, from int64) {
	g := m.graph()
	s := &schema.Step{Kind: schema.Lookup, Name: "range", Shape: slices.Clone(shape), Scales: slices.Clone(scales), Shift: shift, Table: m.table(bits, from),
		Accumulator: &schema.Accumulator{Constant: constant, Linear: []*schema.Linear{{Coefficient: 1, Source: of}}}}
	list := []*schema.Step{s}
	if shift > 0 {
		low := m.tensor(&schema.Tensor{Name: "low", Shape: slices.Clone(shape), Scales: slices.Clone(scales), Kind: schema.Witness, Max: 1<<shift - 1})
		s.Remainder = low + 1
		list = append(list, &schema.Step{Kind: schema.Lookup, Name: "low", Shape: slices.Clone(shape), Scales: slices.Clone(scales), Table: m.table(shift, 0),
			Accumulator: &schema.Accumulator{Linear: []*schema.Linear{{Coefficient: 1, Source: low}}}})
	}
	g.Steps = slices.Insert(g.Steps, at, list...)
}

// unused removes a table, unless a step looks up in it.
func (m *mutation) unused(table uint32) {
	g := m.graph()
	for _, s := range g.Steps {
		if s.Table == table {
			return
		}
	}
	g.Tables = slices.Delete(g.Tables, int(table)-1, int(table))
	for _, s := range g.Steps {
		if s.Table > table {
			s.Table--
		}
	}
}

var bytes32 = [][]byte{nil, make([]byte, 32), []byte("0123456789abcdef0123456789abcdef"), []byte("short")}
