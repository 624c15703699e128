package model

import (
	"errors"
	"fmt"
	"slices"
)

// MaxPast is the most segments before one of a text.
const MaxPast = 255

// maxImports bounds the tensors that a segment takes from those before it.
const maxImports = 1 << 16

// ErrSegment is wrapped by the error about a circuit that has no segments of texts.
var ErrSegment = errors.New("it does not prove texts in segments")

// A Segment says that an instance is of a part of a text, which attends to the parts before it. The instance's first size is
// the number of its own tokens.
type Segment struct {
	Past []Past // the segments before, in order
}

// Past is an earlier segment: its tokens, and log2 of the length of the rows in which its keys and values are committed.
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

// Apart are witness tensors that are committed in a tree of their own, beside that of the others. A proof's header names
// the tree.
type Apart struct {
	Tensors []TensorID // in the order in which the tree's stack has them
	// Imported says that no step computes the tensors, and that the root is known before this proof: an earlier segment's proof
	// has shown what is under it, or it commits to an input (Committed).
	Imported bool
}

// Unmade are the witness tensors that no step makes: hidden inputs, and what is imported. A run is given them behind the inputs.
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

// OwnTree returns the place in Apart of the tree that this proof commits to, −1 if there is none.
func (g *Graph) OwnTree() int {
	return slices.IndexFunc(g.Apart, func(a Apart) bool { return !a.Imported })
}

// segment turns the circuit of a whole text, before its layout, into that of one segment. The new circuit computes the rows of
// the segment's own tokens only. An axis that grows with the text has one of two roles: *rows*, with an index for each of the
// segment's tokens, or *all*, with one for each token up to the segment's last. The first such axis of a tensor or step has rows,
// a second one all. A step may read all rows of a tensor that has only the segment's: then the imported rows are put before
// these. Witness tensors that are read so, the keys and values of an attention, are committed in a tree of their own.
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

// segments is a circuit that becomes one of a segment.
type segments struct {
	g         *Graph
	of        *Template
	sizes     factors
	past      []Past
	rows, all int                   // tokens of the segment, and with those before it
	wholes    map[TensorID]TensorID // by tensor with rows: that with all
	lists     map[TensorID]bool     // tensors of which public indexes read rows
	imports   [][]TensorID          // by segment, the last of which is this one
	steps     bool                  // tensors are done: new ones are behind them, and steps may read them
}

// role is what the indexes of an axis are.
type role uint8

const (
	plain   role = iota
	rowAxis      // the segment's tokens
	allAxis      // all tokens
)

// textScale is the scale of an axis of tokens: the first free dimension alone.
const textScale Scale = 1

// axes are those of a tensor or step of the template.
type axes struct {
	shape  []int
	scales []Scale
	roles  []role
}

func (s *segments) begin(in *Instance) error {
	// The template may be anybody's: what follows relies on one that is valid.
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

// axes finds the roles of axes: the first one of tokens is of rows, the second of all.
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

// axesOf are those of a tensor that the template has.
func (s *segments) axesOf(id TensorID) (axes, error) {
	t := &s.of.Graph.Tensors[id]
	return s.axes(t.Shape, t.Scales)
}

// sized is the shape in the circuit of the segment.
func (s *segments) sized(x axes) []int {
	out := slices.Clone(s.sizes.shape(x.shape, x.scales))
	for a, r := range x.roles {
		if r == allAxis {
			out[a] = s.all
		}
	}
	return out
}

// whole are the axes with all tokens in place of rows.
func (x axes) whole() axes {
	x.roles = slices.Clone(x.roles)
	for a, r := range x.roles {
		if r == rowAxis {
			x.roles[a] = allAxis
		}
	}
	return x
}

// before is the number of tokens before those of an axis.
func (s *segments) before(r role) int {
	if r == rowAxis {
		return s.all - s.rows
	}
	return 0
}

// tensor makes a tensor one of the segment.
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

// fill gives a tensor the shape of some axes, and what its entries are there.
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

// formula is that of the entries behind those of the tokens before.
func (s *segments) formula(f *Formula, roles []role) *Formula {
	out := *f
	if f.Kind == Progression {
		out.Offset += f.Step * int64(s.before(roles[0]))
	} else {
		out.Offset += int64(s.before(roles[1]) - s.before(roles[0]))
	}
	return &out
}

// isList says whether a tensor is the rows of another one along its first axis, with zeros behind them, for indexes that a
// statement gives: these count from the segment's first token.
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

// terms are summands of the template for what has axes in the circuit of the segment.
func (s *segments) terms(terms []Linear, out axes) ([]Linear, error) {
	made := slices.Clone(terms)
	for i := range made {
		if err := s.term(&made[i], out); err != nil {
			return nil, err
		}
	}
	return s.sizes.terms(made), nil
}

// term makes a summand one of the segment.
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

// only returns the one axis of tokens among some, −1 if there is none, −2 if there are several.
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

// group makes a group of a view one of the segment, and says what it reads of the source's axes.
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

// affine is group for one of that kind, which has an axis of tokens on a side.
func (s *segments) affine(g *Group, out axes, to, from int, want []role) error {
	switch {
	case from >= 0 && to >= 0: // those of the same tokens
		if len(g.Out) != 1 || g.Base != 0 || g.Strides[0] != 1 || len(g.Sum) > 0 {
			return errMoved
		}
		want[from] = out.roles[to]
	case from >= 0: // the sum over all tokens
		if g.Base != 0 || len(g.Sum) != 1 || g.Sum[0] != (SumIndex{Dim: 1, Stride: 1, Scale: textScale}) || slices.ContainsFunc(g.Strides, func(n int) bool { return n != 0 }) {
			return errMoved
		}
		g.Sum = []SumIndex{{Dim: s.all, Stride: 1}}
		want[from] = allAxis
	default: // from a table of positions, or the same for all
		g.Base += g.Strides[slices.Index(g.Out, to)] * s.before(out.roles[to])
	}
	return nil
}

// ahead returns the product of the lengths of the axes that stand in a list before the token axis, at; −1 if the length of
// another axis depends on the text.
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

// public checks a group that indexes of a statement wire: one for each of the segment's tokens, or none for a token.
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

// source returns the tensor itself if its axes have the roles that are wanted, and that with all rows if these are.
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

// wholeOf returns the tensor that has all rows of one that has rows.
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

// joined defines t as all rows of a witness tensor: those imported from each earlier segment, and then the segment's own.
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

// step makes a step one of the segment. of is the template's.
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

// factors makes the operands of a product those of the segment.
func (s *segments) factors(p *Product, out axes) (err error) {
	if p.A, err = s.factor(p.A, p.LabelsA, out); err == nil {
		p.B, err = s.factor(p.B, p.LabelsB, out)
	}
	return err
}

// factor returns the operand of a product whose axes have labels. What is summed over is so over all tokens.
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
