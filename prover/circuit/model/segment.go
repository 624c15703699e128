package model

import (
	"errors"
	"fmt"
	"slices"
)

// MaxPast is the most segments that a segment of a text may have before it.
const MaxPast = 255

// maxImports bounds the number of tensors of keys and values in a segment's circuit: imported ones and its own.
const maxImports = 1 << 16

// ErrSegment is wrapped by the error about a circuit that cannot be turned into that of a segment.
var ErrSegment = errors.New("it does not prove texts in segments")

// A Segment says that an instance is of a segment of a text, whose tokens attend to the segments before it (docs/protocol.md, "Chains of
// segments"). The instance's first size is the number of the segment's own tokens.
type Segment struct {
	Past []Past // the segments before, in order
}

// Past is an earlier segment: the number of its tokens, and log2 of the row length of the tree of its keys and values.
type Past struct{ Tokens, RowVars int }

// Equal says whether two segments, which may be nil, are the same.
func (s *Segment) Equal(o *Segment) bool {
	return s == nil && o == nil || s != nil && o != nil && slices.Equal(s.Past, o.Past)
}

// Tokens returns how many tokens are before the segment.
func (s *Segment) Tokens() int {
	n := 0
	for _, p := range s.Past {
		n += p.Tokens
	}
	return n
}

// Apart has witness tensors that are committed in a tree of their own, not in the tree of the other witness tensors. The proof's header
// names the tree.
type Apart struct {
	Tensors []TensorID // in the order in which the tree's stack has them
	// Imported says that no step computes the tensors, and that the root is known before this proof: an earlier segment's proof
	// has shown what is under it, or it commits to an input (Committed).
	Imported bool
}

// Unmade returns the witness tensors that no step computes: hidden inputs, then imported tensors. A run of the circuit is given
// their values behind those of the inputs.
func (g *Graph) Unmade() []TensorID {
	list := slices.Clone(g.Hidden)
	for i := range g.Apart {
		for _, id := range g.Apart[i].Tensors {
			if g.Apart[i].Imported && !slices.Contains(g.Hidden, id) {
				list = append(list, id)
			}
		}
	}
	return list
}

// OwnTree returns the place in Apart of the tree of the segment's own keys and values, −1 if there is none.
func (g *Graph) OwnTree() int {
	return slices.IndexFunc(g.Apart, func(a Apart) bool { return !a.Imported })
}

// segment turns the circuit of a whole text, before its layout, into that of one segment (docs/proof-format.md, "Segments of a text").
// The new circuit computes the rows of the segment's own tokens only. An axis that grows with the text has one of two roles: *rows*,
// with an index for each of the segment's tokens, or *all*, with an index for each token up to the segment's last. The first such axis of a
// tensor or step has the role rows, and a second one the role all. If a step reads all rows of a tensor that has only the segment's own
// rows, it reads a new tensor in which the imported rows of earlier segments come first. Witness tensors that are read in this way, the
// keys and values of an attention, are committed in a tree of their own. Every circuit that does not have this form is refused.
func (g *Graph) segment(of *Template, in *Instance) error {
	if in.Segment == nil {
		return nil
	}
	if in.Texts > 0 || in.Hides() {
		return fmt.Errorf("%w: of several texts at once, or with hidden inputs or outputs", ErrSegment)
	}
	s := &segments{g: g, of: of, sizes: in.Sizes, wholes: map[TensorID]TensorID{}, lists: map[TensorID]bool{}}
	if err := s.begin(in); err != nil {
		return fmt.Errorf("%w: %w", ErrSegment, err)
	}
	n := len(g.Tensors)
	for i := range n {
		if err := s.tensor(TensorID(i)); err != nil {
			return fmt.Errorf("%w: tensor %d (%s): %w", ErrSegment, i, g.Tensors[i].Name, err)
		}
	}
	s.steps = true
	for i := range g.Steps {
		if err := s.step(&g.Steps[i], &of.Graph.Steps[i]); err != nil {
			return fmt.Errorf("%w: step %d (%s): %w", ErrSegment, i, g.Steps[i].Name, err)
		}
	}
	if slices.ContainsFunc(g.Outputs, func(id TensorID) bool { return s.lists[id] }) {
		return fmt.Errorf("%w: %w", ErrSegment, errList)
	}
	if len(s.imports[len(s.imports)-1]) == 0 {
		return fmt.Errorf("%w: no tensor of one token is read by others", ErrSegment)
	}
	for i, ids := range s.imports {
		g.Apart = append(g.Apart, Apart{ids, i < len(in.Segment.Past)})
	}
	return nil
}

// segments is the state of turning a circuit into that of a segment.
type segments struct {
	g         *Graph    // the circuit that is changed
	of        *Template // the template, which says which axes scale
	sizes     factors
	past      []Past
	rows, all int                   // the number of the segment's tokens, and of all tokens up to its last
	wholes    map[TensorID]TensorID // by tensor with rows: the new tensor that has all instead
	lists     map[TensorID]bool     // tensors whose rows public indexes read (isList)
	imports   [][]TensorID          // by segment, this one last: the tensors of its tree of keys and values
	steps     bool                  // all tensors of the template are done, so new ones may be added for steps to read
}

// role says what the indexes of an axis stand for.
type role uint8

const (
	plain   role = iota // anything but tokens
	rowAxis             // the segment's tokens
	allAxis             // all tokens up to the segment's last
)

// textScale is the scale of an axis of tokens: the first free dimension alone.
const textScale Scale = 1

// axes describes the axes of a tensor or step of the template, each with its role in the segment's circuit.
type axes struct {
	shape  []int
	scales []Scale
	roles  []role
}

// begin checks that the template is for texts, and the segment within its limits, and counts tokens.
func (s *segments) begin(in *Instance) error {
	// The template may be a hostile key's. The rest relies on a valid one.
	if err := s.of.Validate(); err != nil {
		return err
	}
	s.past = in.Segment.Past
	s.imports = make([][]TensorID, len(s.past)+1)
	if len(s.past) > MaxPast {
		return fmt.Errorf("%d segments before it are over %d", len(s.past), MaxPast)
	}
	t := s.of.Graph
	if len(s.of.Free) == 0 || len(t.Inputs) == 0 || !slices.Contains(t.Tensors[t.Inputs[0]].Scales, textScale) {
		return errors.New("the length of texts is not the first that its key leaves open")
	}
	s.rows = in.Sizes[0]
	s.all = s.rows
	for _, p := range s.past {
		if p.Tokens < 1 || p.Tokens > MaxBound {
			return fmt.Errorf("a segment of %d tokens", p.Tokens)
		}
		if s.all += p.Tokens; s.all > s.of.Free[0].Bound {
			return fmt.Errorf("%d tokens or more, with those before, are over the %d that the key is for", s.all, s.of.Free[0].Bound)
		}
	}
	return nil
}

// axes returns the axes with their roles: the first axis of tokens has the role rowAxis, a second one allAxis.
func (s *segments) axes(shape []int, scales []Scale) (axes, error) {
	x := axes{shape, scales, make([]role, len(shape))}
	next := rowAxis
	for a, scale := range scales {
		switch {
		case scale&textScale == 0:
		case scale != textScale || shape[a] != 1:
			return x, errors.New("positions and other indexes share an axis")
		case next > allAxis:
			return x, errors.New("more than two axes of tokens")
		default:
			x.roles[a] = next
			next++
		}
	}
	return x, nil
}

// axesOf returns the axes of a tensor of the template.
func (s *segments) axesOf(id TensorID) (axes, error) {
	t := &s.of.Graph.Tensors[id]
	return s.axes(t.Shape, t.Scales)
}

// sized returns the shape that the axes have in the circuit of the segment.
func (s *segments) sized(x axes) []int {
	out := slices.Clone(s.sizes.shape(x.shape, x.scales))
	for a, r := range x.roles {
		if r == allAxis {
			out[a] = s.all
		}
	}
	return out
}

// whole returns the axes with the role allAxis in place of rowAxis.
func (x axes) whole() axes {
	x.roles = slices.Clone(x.roles)
	for a, r := range x.roles {
		if r == rowAxis {
			x.roles[a] = allAxis
		}
	}
	return x
}

// before returns the number of tokens of the text before the first that an axis with this role has.
func (s *segments) before(r role) int {
	if r == rowAxis {
		return s.all - s.rows
	}
	return 0
}

// tensor changes a tensor to that of the segment.
func (s *segments) tensor(id TensorID) error {
	x, err := s.axesOf(id)
	if err != nil {
		return err
	}
	t := &s.g.Tensors[id]
	if t.Kind == Input && slices.Contains(x.roles, allAxis) {
		return errors.New("an input with two axes of tokens")
	}
	if s.isList(id) {
		s.lists[id] = true
		return nil
	}
	return s.fill(t, id, x)
}

// fill sets the shape of t to that of axes x, and its formula, product or definition to those for these axes. id is the tensor of the
// template that t comes from.
func (s *segments) fill(t *Tensor, id TensorID, x axes) (err error) {
	t.Shape, t.Scales = s.sized(x), nil
	switch t.Kind {
	case ByFormula:
		t.Formula = s.formula(t.Formula, x.roles)
	case Virtual:
		if p := s.of.Graph.Tensors[id].Product; p != nil {
			of := *p
			t.Product, err = &of, s.factors(&of, x)
			break
		}
		t.Def, err = s.terms(s.of.Graph.Tensors[id].Def, x)
	}
	return err
}

// formula returns the formula with its offset changed so that index 0 of a row axis stands for the segment's first token.
func (s *segments) formula(f *Formula, roles []role) *Formula {
	out := *f
	if f.Kind == Progression {
		out.Offset += f.Step * int64(s.before(roles[0]))
	} else {
		out.Offset += int64(s.before(roles[1]) - s.before(roles[0]))
	}
	return &out
}

// isList says whether a tensor has the rows of another one along its first axis, which is of tokens, with zeros behind them up to a fixed
// length, and is otherwise the same. Public indexes read such tensors. In a segment it has the segment's rows, so the indexes in a
// statement count from the segment's first token.
func (s *segments) isList(id TensorID) bool {
	t := &s.of.Graph.Tensors[id]
	if len(t.Def) != 1 || len(t.Shape) == 0 || t.Def[0].Coef != 1 || t.Def[0].View == nil || t.Def[0].View.Fill != 0 {
		return false
	}
	src := &s.of.Graph.Tensors[t.Def[0].Src]
	scaled := func(c Scale) bool { return c != 0 }
	if len(src.Scales) != len(t.Shape) || len(t.Def[0].View.Groups) != len(t.Shape) || src.Scales[0] != textScale || src.Shape[0] != 1 ||
		slices.ContainsFunc(src.Scales[1:], scaled) || slices.ContainsFunc(t.Scales, scaled) || !slices.Equal(src.Shape[1:], t.Shape[1:]) {
		return false
	}
	return !slices.ContainsFunc(t.Def[0].View.Groups, func(g Group) bool { return !g.follows() || g.In[0] != g.Out[0] })
}

var (
	errList  = errors.New("what public indexes read the rows of is read in another way too")
	errMoved = errors.New("what a token reads of others is not found by their positions alone")
)

// terms returns the template's summands changed for a tensor or step with axes out in the circuit of the segment.
func (s *segments) terms(terms []Linear, out axes) ([]Linear, error) {
	made := slices.Clone(terms)
	for i := range made {
		if err := s.term(&made[i], out); err != nil {
			return nil, err
		}
	}
	return s.sizes.terms(made), nil
}

// term changes a summand of the template. want collects the roles that the axes of its source must have so that the same token is read
// as in the circuit of the whole text.
func (s *segments) term(l *Linear, out axes) error {
	src, err := s.axesOf(l.Src)
	if err != nil {
		return err
	}
	if s.lists[l.Src] && !l.View.isPublic() {
		return errList
	}
	want := make([]role, len(src.roles))
	if l.View == nil {
		copy(want, out.roles)
	} else {
		l.View = l.View.Clone()
		for i := range l.View.Groups {
			if err := s.group(&l.View.Groups[i], out, src, want); err != nil {
				return err
			}
		}
	}
	l.Src, err = s.source(l.Src, src, want)
	return err
}

// only returns the axis in list that is of tokens, −1 if there is none, −2 if there are several.
func (x axes) only(list []int) int {
	at := -1
	for _, a := range list {
		if x.roles[a] != plain {
			if at >= 0 {
				return -2
			}
			at = a
		}
	}
	return at
}

// group changes a group of a view, and sets in want which role the source's axis of tokens must have. It refuses a group that reads other
// tokens than those at the same positions, or all.
func (s *segments) group(g *Group, out, src axes, want []role) error {
	to, from := out.only(g.Out), src.only(g.In)
	sums := slices.ContainsFunc(g.Sum, func(i SumIndex) bool { return i.Scale&textScale != 0 })
	switch {
	case to == -2 || from == -2 || g.BaseScale&textScale != 0 || sums && from < 0:
		return errMoved
	case g.Map == MapPublic:
		return s.public(g, out, to, from)
	case to < 0 && from < 0:
		return nil
	case g.Map == MapReshape && to >= 0 && from >= 0:
		if n := out.ahead(g.Out, to); n < 0 || n != src.ahead(g.In, from) {
			return errMoved
		}
		want[from] = out.roles[to]
	case g.Map == MapAffine:
		return s.affine(g, out, to, from, want)
	default:
		return errMoved
	}
	return nil
}

// affine is group for a MapAffine group that has an axis of tokens among its output axes (to), its source axes (from), or both; the
// other is −1.
func (s *segments) affine(g *Group, out axes, to, from int, want []role) error {
	switch {
	case from >= 0 && to >= 0: // index t of the output reads index t of the source
		if len(g.Out) != 1 || g.Base != 0 || g.Strides[0] != 1 || len(g.Sum) > 0 {
			return errMoved
		}
		want[from] = out.roles[to]
	case from >= 0: // a sum over all tokens
		if g.Base != 0 || len(g.Sum) != 1 || g.Sum[0] != (SumIndex{Dim: 1, Stride: 1, Scale: textScale}) || slices.ContainsFunc(g.Strides, func(n int) bool { return n != 0 }) {
			return errMoved
		}
		g.Sum = []SumIndex{{Dim: s.all, Stride: 1}}
		want[from] = allAxis
	default: // a source without tokens: a table of positions, of which the segment's are read, or the same entry for all (stride 0)
		g.Base += g.Strides[slices.Index(g.Out, to)] * s.before(out.roles[to])
	}
	return nil
}

// ahead returns the product of the lengths of the axes in list that stand before at, the axis of tokens. It returns −1 if another axis
// in list scales. Two sides of a reshape with the same product have the axis of tokens at the same place.
func (x axes) ahead(list []int, at int) int {
	n, before := 1, true
	for _, a := range list {
		if before = before && a != at; before {
			n *= x.shape[a]
		}
		if a != at && x.scales != nil && x.scales[a] != 0 {
			return -1
		}
	}
	return n
}

// public checks a MapPublic group: either its indexes have an axis of tokens, at the place where the output has it with the role rowAxis,
// or neither has one. The source axis must not be of tokens.
func (s *segments) public(g *Group, out axes, to, from int) error {
	ids, err := s.axesOf(g.Ids)
	if err != nil {
		return err
	}
	var list []int
	for a := range ids.roles {
		list = append(list, a)
	}
	at := ids.only(list)
	switch {
	case from >= 0 || (to >= 0) != (at >= 0):
		return errMoved
	case to < 0:
		return nil
	}
	if n := out.ahead(g.Out, to); out.roles[to] != rowAxis || n < 0 || n != ids.ahead(list, at) {
		return errMoved
	}
	return nil
}

// source returns the tensor itself if its axes have the wanted roles. If all rows are wanted of a tensor with the segment's rows, it
// returns the tensor with all rows (wholeOf).
func (s *segments) source(id TensorID, have axes, want []role) (TensorID, error) {
	switch {
	case slices.Equal(have.roles, want):
		return id, nil
	case slices.Contains(have.roles, allAxis) || !slices.Equal(have.whole().roles, want):
		return 0, errMoved
	case !s.steps:
		return 0, errors.New("a tensor that is no step's result reads all tokens")
	}
	return s.wholeOf(id, have)
}

// wholeOf returns the tensor that has all rows of a tensor with the segment's rows, and adds it when it is first wanted.
func (s *segments) wholeOf(id TensorID, x axes) (made TensorID, err error) {
	if made, ok := s.wholes[id]; ok {
		return made, nil
	}
	t := s.of.Graph.Tensors[id]
	switch t.Kind {
	case Virtual, ByFormula:
		err = s.fill(&t, id, x.whole())
	case Witness:
		err = s.joined(&t, id, x)
	default:
		err = errors.New("a step reads all of an input")
	}
	if err != nil {
		return 0, err
	}
	made = s.g.add(t)
	s.wholes[id] = made
	return made, nil
}

// joined defines t as all rows of the witness tensor id: those imported from each earlier segment, in new witness tensors that it adds,
// and then the segment's own. It records all of these in imports.
func (s *segments) joined(t *Tensor, id TensorID, x axes) error {
	if (len(s.imports[0])+1)*len(s.imports) > maxImports {
		return fmt.Errorf("over %d tensors of other segments", maxImports)
	}
	axis := slices.Index(x.roles, rowAxis)
	part, at := *t, 0
	t.Kind, t.Scales, t.Shape, t.Def = Virtual, nil, s.sized(x.whole()), nil
	for i := range s.imports {
		own := id
		if i < len(s.past) {
			p := part
			p.Scales, p.Shape = nil, s.sized(x)
			p.Shape[axis] = s.past[i].Tokens
			own = s.g.add(p)
		}
		s.imports[i] = append(s.imports[i], own)
		v := SameIndexes(len(t.Shape))
		v.Groups[axis].Base = -at
		t.Def = append(t.Def, Linear{Coef: 1, Src: own, View: v})
		if i < len(s.past) {
			at += s.past[i].Tokens
		}
	}
	return nil
}

// step changes a step to that of the segment. of is the step of the template.
func (s *segments) step(step, of *Step) error {
	x, err := s.axes(of.Shape, of.Scales)
	if err != nil {
		return err
	}
	step.Shape, step.Scales = s.sized(x), nil
	if step.Acc.Linear, err = s.terms(of.Acc.Linear, x); err != nil {
		return err
	}
	step.Acc.Products = slices.Clone(of.Acc.Products)
	for i := range step.Acc.Products {
		if err := s.factors(&step.Acc.Products[i], x); err != nil {
			return err
		}
	}
	if of.Den == None {
		return nil
	}
	den, err := s.axesOf(of.Den)
	if err != nil {
		return err
	}
	if s.lists[of.Den] || len(den.roles) < len(x.roles) || !slices.Equal(den.roles[:len(x.roles)], x.roles) || slices.Contains(den.roles[len(x.roles):], rowAxis) {
		return errMoved
	}
	return nil
}

// factors changes the operands of a product to those of the segment.
func (s *segments) factors(p *Product, out axes) (err error) {
	if p.A, err = s.factor(p.A, p.LabelsA, out); err == nil {
		p.B, err = s.factor(p.B, p.LabelsB, out)
	}
	return err
}

// factor returns the operand for tensor id, whose axes have these labels. An axis of tokens must have the role of the output axis with the
// same label, or allAxis if it is contracted, as a sum over tokens is over all of them.
func (s *segments) factor(id TensorID, labels []int, out axes) (TensorID, error) {
	x, err := s.axesOf(id)
	if err != nil {
		return 0, err
	}
	if s.lists[id] {
		return 0, errList
	}
	want := make([]role, len(x.roles))
	for a, r := range x.roles {
		switch l := labels[a]; {
		case r == plain:
		case l < len(out.roles):
			want[a] = out.roles[l]
		default:
			want[a] = allAxis
		}
	}
	return s.source(id, x, want)
}
