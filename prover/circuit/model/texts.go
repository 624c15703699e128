package model

import (
	"errors"
	"fmt"
	"slices"
)

// MaxTexts is the most texts of one proof.
const MaxTexts = 1 << 10

// ErrTexts is wrapped by the error about a circuit that is not one of several texts.
var ErrTexts = errors.New("it does not prove several texts at once")

// texts makes a circuit at some sizes, without layout, one of several texts of that length: all that depends on
// inputs gets a first axis, of n. What an entry is computed from has the same index on that axis, so that no
// text enters into another, and the integers of each are those of the circuit of one text. Fixed tensors and
// those by formula are there once.
//
// An input whose entries are indexes of an axis that belongs to a text wires one list of the rows of all texts. So
// rows of text t are those from t·length on, and the indexes become a derived input (RowsOfTexts).
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

// many is a circuit that becomes one of n texts.
type many struct {
	of    *Template
	g     *Graph
	n     int
	own   []bool              // by tensor: each text has its own
	lines map[TensorID]bool   // tensors that become one list of the rows of all texts
	rows  map[rowsOf]TensorID // derived indexes
}

// rowsOf are indexes, and the length of the axis that they are of.
type rowsOf struct {
	ids    TensorID
	length int
}

// mark finds the tensors that each text has its own of.
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

// ofText says whether each text has its own of a summand, whose source is marked.
func (m *many) ofText(l *Linear) bool { return m.own[l.Src] || l.View.isPublic() }

// markLines finds the tensor of which a summand reads rows by public indexes. It is a tensor that continues another one
// with zeros along its first axis, as what a text has a row of is continued up to the longest text.
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
	if t := &m.g.Tensors[l.Src]; l.View.Groups[at].In[0] != 0 || !m.continues(t) {
		return fmt.Errorf("indexes read %q, which does not continue rows of a text of any length", t.Name)
	}
	m.lines[l.Src] = true
	return nil
}

// continues says whether a tensor has the entries of another one, as many along the first axis as a size says, with zeros behind
// them. Then the indexes of a statement are below that length (Template.CheckIds).
func (m *many) continues(t *Tensor) bool {
	if t.Kind != Virtual || len(t.Def) != 1 || t.Def[0].Coef != 1 || t.Def[0].View == nil || t.Def[0].View.Fill != 0 {
		return false
	}
	of, scales := m.g.Tensors[t.Def[0].Src].Shape, m.of.Graph.Tensors[t.Def[0].Src].Scales
	if len(scales) == 0 || scales[0] == 0 || len(of) != len(t.Shape) || len(t.Def[0].View.Groups) != len(of) || of[0] > t.Shape[0] || !slices.Equal(of[1:], t.Shape[1:]) {
		return false
	}
	for _, group := range t.Def[0].View.Groups {
		if !group.follows() || group.In[0] != group.Out[0] {
			return false
		}
	}
	return true
}

func (m *many) shape(shape []int) []int { return append([]int{m.n}, shape...) }

// tensor gives a tensor the axis of texts. Those before it have theirs.
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
	t = &m.g.Tensors[id] // tensors are added
	t.Shape, t.Def = m.shape(t.Shape), terms
	return err
}

// line makes a tensor one list of the rows of all texts, each as many as it has entries.
func (m *many) line(t *Tensor) {
	src := t.Def[0].Src
	of := m.g.Tensors[src].Shape // of all texts
	v := &View{Groups: []Group{{Out: []int{0}, In: []int{0, 1}, Map: MapReshape}}}
	for axis := 1; axis < len(t.Shape); axis++ {
		v.Groups = append(v.Groups, Group{Out: []int{axis}, In: []int{axis + 1}, Strides: []int{1}})
	}
	t.Shape = append([]int{of[0] * of[1]}, of[2:]...)
	t.Def = []Linear{{Coef: 1, Src: src, View: v}}
}

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

// products gives the operands that each text has its own of the label of texts.
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

// labels moves those of an operand behind that of the texts, 0.
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

// terms gives summands of so many axes that of texts.
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

// view has every text read its own entries, or those that are there once.
func (m *many) view(v *View, own bool) *View {
	texts, in := Group{Out: []int{0}, Strides: []int{0}}, 0
	if own {
		texts, in = Group{Out: []int{0}, In: []int{0}, Strides: []int{1}}, 1
	}
	return &View{Groups: append([]Group{texts}, moved(v.Groups, in)...), Fill: v.Fill}
}

// moved are groups whose output axes are behind one more, and source axes behind so many more.
func moved(groups []Group, in int) []Group {
	out := slices.Clone(groups)
	for i := range out {
		out[i].Out, out[i].In = behind(out[i].Out, 1), behind(out[i].In, in)
	}
	return out
}

func behind(axes []int, n int) []int {
	out := slices.Clone(axes)
	for i := range out {
		out[i] += n
	}
	return out
}

// rowsView has every text's indexes wire its own entries: of rows that are there once, or of the list of all texts' rows.
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

// rowsOf returns the derived input of indexes into a list of the rows of all texts.
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

// rowsOfTexts returns the entries of a derived tensor of rows, from the indexes of all texts.
func (g *Graph) rowsOfTexts(t *Tensor, at []int32) []int32 {
	out := slices.Clone(at)
	for i := range out {
		out[i] += int32(i / (len(at) / g.Texts) * t.Derived.Length)
	}
	return out
}

// OfText returns the part of a list of all texts' entries that is of one of n.
func OfText(list []int32, text, n int) []int32 {
	own := len(list) / n
	return list[text*own : (text+1)*own]
}
