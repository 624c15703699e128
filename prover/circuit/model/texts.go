package model

import (
	"errors"
	"fmt"
	"slices"
)

// MaxTexts is the most texts that one proof may be of.
const MaxTexts = 1 << 10

// ErrTexts is wrapped by the error about a circuit that cannot be turned into one of several texts.
var ErrTexts = errors.New("it does not prove several texts at once")

// texts turns a circuit at some sizes, without layout, into that of n texts, which all have these sizes (docs/protocol.md, "Several
// texts"). Every tensor that depends on inputs gets a first axis of length n. An entry is computed from entries with the same index on
// that axis only, so no text depends on another, and the integers of each are those of the circuit of one text. Fixed tensors and those
// by formula are not repeated.
//
// If public indexes read rows of a tensor that each text has, the circuit gets one list of the rows of all texts, in which those of text t
// begin at t·length. The indexes into that list are a derived input (RowsOfTexts).
func (g *Graph) texts(of *Template, in *Instance) error {
	n := in.Texts
	if n == 0 {
		return nil
	}
	if len(in.HiddenInputs)+len(in.HiddenOutputs) > 0 {
		return fmt.Errorf("%w, and hides some of what they are", ErrTexts)
	}
	if n < 2 || n > MaxTexts {
		return fmt.Errorf("%w: %d texts, where 2 to %d are several", ErrTexts, n, MaxTexts)
	}
	m := &many{g: g, of: of, n: n, own: make([]bool, len(g.Tensors)), lines: map[TensorID]bool{}, rows: map[rowsOf]TensorID{}}
	g.Inputs = slices.Clone(g.Inputs)
	g.Stated = len(g.Inputs)
	g.Texts = n
	if err := m.mark(); err != nil {
		return fmt.Errorf("%w: %w", ErrTexts, err)
	}
	for id := range m.own {
		if t := &g.Tensors[id]; t.Kind == Input {
			t.Shape = m.shape(t.Shape)
		}
	}
	for id := range m.own {
		if err := m.tensor(TensorID(id)); err != nil {
			return fmt.Errorf("%w: tensor %d: %w", ErrTexts, id, err)
		}
	}
	for i := range g.Steps {
		if err := m.step(&g.Steps[i]); err != nil {
			return fmt.Errorf("%w: step %d: %w", ErrTexts, i, err)
		}
	}
	return nil
}

// many is the state of turning a circuit into that of n texts.
type many struct {
	of    *Template
	g     *Graph
	n     int
	own   []bool              // by tensor: it gets an axis of texts, as each text has entries of its own
	lines map[TensorID]bool   // tensors that become one list of the rows of all texts
	rows  map[rowsOf]TensorID // the derived inputs of indexes into such lists
}

// rowsOf names a derived input: the input of indexes, and the number of rows of each text that they are indexes of.
type rowsOf struct {
	ids    TensorID
	length int
}

// mark finds the tensors that get an axis of texts (own), and those that become one list of rows (lines).
func (m *many) mark() error {
	divisors := map[TensorID]bool{}
	for i := range m.g.Steps {
		if s := &m.g.Steps[i]; s.Den != None {
			divisors[s.Den] = true
		}
	}
	for i := range m.g.Tensors {
		id, t := TensorID(i), &m.g.Tensors[i]
		switch t.Kind {
		case Empty:
			return errors.New("an input or an output has no entries")
		case Input, Witness:
			m.own[i] = true
		case Virtual:
			m.own[i] = divisors[id] || slices.ContainsFunc(t.Def, func(l Linear) bool { return m.ofText(&l) }) ||
				t.Product != nil && (m.own[t.Product.A] || m.own[t.Product.B])
		default:
			if divisors[id] {
				return errors.New("the divisor of a step is the same for all texts")
			}
		}
	}
	for l := range m.g.terms {
		if err := m.markLines(l); err != nil {
			return err
		}
	}
	for _, id := range m.g.Outputs {
		if !m.own[id] || m.lines[id] {
			return errors.New("an output is not what each text has its own of")
		}
	}
	return nil
}

// ofText says whether a summand depends on the text. Its source has been marked.
func (m *many) ofText(l *Linear) bool { return m.own[l.Src] || l.View.isPublic() }

// markLines marks the source of a summand as a list of rows if public indexes read rows of it and it depends on the text. The source must
// continue a tensor that has a row for each token, with zeros up to a fixed length (continues).
func (m *many) markLines(l *Linear) error {
	if !l.View.isPublic() {
		return nil
	}
	at := slices.IndexFunc(l.View.Groups, func(g Group) bool { return g.Map == MapPublic })
	if slices.ContainsFunc(l.View.Groups[at+1:], func(g Group) bool { return g.Map == MapPublic }) {
		return errors.New("a view is wired by two lists of indexes")
	}
	if !m.own[l.Src] {
		return nil
	}
	if l.View.Groups[at].In[0] != 0 || !m.continues(l.Src) {
		return fmt.Errorf("indexes read %q, which does not continue rows of a text of any length", m.g.Tensors[l.Src].Name)
	}
	m.lines[l.Src] = true
	return nil
}

// continues says whether a tensor has the entries of another one, whose first axis has a free length, and zeros behind them along that
// axis, up to a fixed length. The indexes in a statement are then below the free length (Template.CheckIds), so that none reaches into
// the rows of the next text. If the tensor's own first axis is free too, CheckIds allows indexes up to its end, so there must be no zeros.
func (m *many) continues(id TensorID) bool {
	t := &m.g.Tensors[id]
	if t.Kind != Virtual || len(t.Def) != 1 || t.Def[0].Coef != 1 || t.Def[0].View == nil || t.Def[0].View.Fill != 0 {
		return false
	}
	of, scales := m.g.Tensors[t.Def[0].Src].Shape, m.of.Graph.Tensors[t.Def[0].Src].Scales
	if len(scales) == 0 || scales[0] == 0 || len(of) != len(t.Shape) || len(t.Def[0].View.Groups) != len(of) || of[0] > t.Shape[0] || !slices.Equal(of[1:], t.Shape[1:]) {
		return false
	}
	if own := m.of.Graph.Tensors[id].Scales; len(own) > 0 && own[0] != 0 && of[0] < t.Shape[0] {
		return false
	}
	for _, group := range t.Def[0].View.Groups {
		if !group.follows() || group.In[0] != group.Out[0] {
			return false
		}
	}
	return true
}

// shape returns a shape with an axis of texts before it.
func (m *many) shape(shape []int) []int { return append([]int{m.n}, shape...) }

// tensor gives a tensor its axis of texts, if it gets one. The tensors before it have theirs already.
func (m *many) tensor(id TensorID) error {
	t := &m.g.Tensors[id]
	if !m.own[id] || t.Kind == Input {
		return nil
	}
	if m.lines[id] {
		m.line(t)
		return nil
	}
	if t.Product != nil {
		products, err := m.products([]Product{*t.Product})
		if err == nil {
			t.Shape, t.Product = m.shape(t.Shape), &products[0]
		}
		return err
	}
	terms, err := m.terms(t.Def, len(t.Shape))
	t = &m.g.Tensors[id] // terms may have added tensors, so that the pointer from before is invalid
	t.Shape, t.Def = m.shape(t.Shape), terms
	return err
}

// line makes a tensor one list of the rows of all texts: its source's, without the zeros that continued them.
func (m *many) line(t *Tensor) {
	src := t.Def[0].Src
	of := m.g.Tensors[src].Shape // with an axis of texts
	v := &View{Groups: []Group{{Out: []int{0}, In: []int{0, 1}, Map: MapReshape}}}
	for axis := 1; axis < len(t.Shape); axis++ {
		v.Groups = append(v.Groups, Group{Out: []int{axis}, In: []int{axis + 1}, Strides: []int{1}})
	}
	t.Shape = append([]int{of[0] * of[1]}, of[2:]...)
	t.Def = []Linear{{Coef: 1, Src: src, View: v}}
}

// step gives a step the axis of texts.
func (m *many) step(s *Step) error {
	terms, err := m.terms(s.Acc.Linear, len(s.Shape))
	if err != nil {
		return err
	}
	products, err := m.products(s.Acc.Products)
	if err != nil {
		return err
	}
	if s.Den != None && m.lines[s.Den] {
		return errRows
	}
	s.Shape, s.Acc.Linear, s.Acc.Products = m.shape(s.Shape), terms, products
	return nil
}

// products gives products the axis of texts: it has label 0 in the operands that have that axis.
func (m *many) products(list []Product) ([]Product, error) {
	products := slices.Clone(list)
	for i := range products {
		p := &products[i]
		if m.lines[p.A] || m.lines[p.B] {
			return nil, errRows
		}
		p.LabelsA, p.LabelsB = m.labels(p.A, p.LabelsA), m.labels(p.B, p.LabelsB)
	}
	return products, nil
}

var errRows = errors.New("what indexes read the rows of is read in another way too")

// labels returns the labels of an operand, each greater by 1, with 0 before them if the operand has an axis of texts.
func (m *many) labels(id TensorID, labels []int) []int {
	var out []int
	if m.own[id] {
		out = append(out, 0)
	}
	for _, l := range labels {
		out = append(out, l+1)
	}
	return out
}

// terms gives the axis of texts to the summands of a tensor or step that had axes axes before.
func (m *many) terms(terms []Linear, axes int) ([]Linear, error) {
	out := slices.Clone(terms)
	for i := range out {
		l := &out[i]
		switch own := m.own[l.Src]; {
		case l.View.isPublic():
			l.View = m.rowsView(l)
		case m.lines[l.Src]:
			return nil, errRows
		case l.View == nil && own:
		case l.View == nil:
			l.View = m.view(SameIndexes(axes), own)
		default:
			l.View = m.view(l.View, own)
		}
	}
	return out, nil
}

// view returns a view with an axis of texts added: every text reads the entries with its own index on that axis of the source, if own is
// set; otherwise all texts read the same entries.
func (m *many) view(v *View, own bool) *View {
	texts, in := Group{Out: []int{0}, Strides: []int{0}}, 0
	if own {
		texts, in = Group{Out: []int{0}, In: []int{0}, Strides: []int{1}}, 1
	}
	return &View{Groups: append([]Group{texts}, moved(v.Groups, in)...), Fill: v.Fill}
}

// moved returns groups with 1 added to all output axes, and in to all source axes.
func moved(groups []Group, in int) []Group {
	out := slices.Clone(groups)
	for i := range out {
		out[i].Out, out[i].In = behind(out[i].Out, 1), behind(out[i].In, in)
	}
	return out
}

// behind returns axes with n added to each.
func behind(axes []int, n int) []int {
	out := slices.Clone(axes)
	for i := range out {
		out[i] += n
	}
	return out
}

// rowsView adds the axis of texts to a view that public indexes wire. The indexes of each text read rows of a tensor that is not repeated,
// or, by derived indexes, its own rows in the list of the rows of all texts.
func (m *many) rowsView(l *Linear) *View {
	v := &View{Groups: moved(l.View.Groups, 0), Fill: l.View.Fill}
	for i := range v.Groups {
		group := &v.Groups[i]
		if group.Map != MapPublic {
			continue
		}
		group.Out = append([]int{0}, group.Out...)
		if m.own[l.Src] {
			group.Ids = m.rowsOf(group.Ids, m.g.Tensors[l.Src].Shape[0])
		}
	}
	return v
}

// rowsOf returns the derived input of indexes into a list that has all rows of all texts. ids is the input with the indexes into the rows
// of each text.
func (m *many) rowsOf(ids TensorID, all int) TensorID {
	key := rowsOf{ids, all / m.n}
	id, ok := m.rows[key]
	if !ok {
		of := &Derived{Kind: RowsOfTexts, At: ids, Length: key.length}
		id = m.g.addInput(Tensor{Shape: m.g.Tensors[ids].Shape, Kind: Input, Max: int64(all - 1), Derived: of})
		m.rows[key] = id
	}
	return id
}

// rowsOfTexts returns the entries of a derived tensor of kind RowsOfTexts. at has the indexes of all texts, one text after the other.
func (g *Graph) rowsOfTexts(t *Tensor, at []int32) []int32 {
	out := slices.Clone(at)
	for i := range out {
		out[i] += int32(i / (len(at) / g.Texts) * t.Derived.Length)
	}
	return out
}

// OfText returns the entries of one text in a list of the entries of n texts, one text after the other.
func OfText(list []int32, text, n int) []int32 {
	own := len(list) / n
	return list[text*own : (text+1)*own]
}
