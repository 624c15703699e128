package plan

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Tree is one of the first trees of the opening and its place in the opening's
// table: one of fixed tensors or one that a header names, a stack in groups of rows, or that of the
// witness, with groups for the stack of each chunk that has any.
type Tree struct {
	backend.Commitment
	Fixed bool
	// Apart is 1 + the tree's place in model.Graph.Apart if a header names it, else 0. Imported says that another proof
	// has shown what is under its root.
	Apart     int
	Imported  bool
	RowOffset uint64 // the table row that its slot 0 is in
}

// Opened are the first trees of an opening, and its parameters.
type Opened struct {
	Trees  []Tree
	Params *soundness.Params
}

// Layouts returns the layout of every tree.
func (o *Opened) Layouts() []whir.Layout {
	l := make([]whir.Layout, len(o.Trees))
	for i := range o.Trees {
		l[i] = o.Trees[i].Layout
	}
	return l
}

// RowOffsets returns the first table row of every tree.
func (o *Opened) RowOffsets() []uint64 {
	n := make([]uint64, len(o.Trees))
	for i := range o.Trees {
		n[i] = o.Trees[i].RowOffset
	}
	return n
}

// Opening returns the description of the opening for a backend.
func (o *Opened) Opening() backend.Opening {
	of := backend.Opening{Params: o.Params, RowOffsets: o.RowOffsets()}
	for i := range o.Trees {
		of.Commitments = append(of.Commitments, o.Trees[i].Commitment)
	}
	return of
}

// Values returns the number of values in the tree's stacks.
func (t *Tree) Values() uint64 {
	n := uint64(0)
	for i, part := range t.Parts {
		if part.Stack != nil && (i == 0 || part.Stack != t.Parts[i-1].Stack) {
			n += part.Stack.Size
		}
	}
	return n
}

// place is where a stack begins: the tree, and the offset of the first value in it,
// counted as in whir.Term.
type place struct {
	stack *model.Stack
	tree  int
	first uint64
}

// located says where a committed tensor is: the place of its stack, and its blocks there.
type located struct {
	place  int
	blocks []int32
}

// Choice are the parameters of the commitments and of their opening.
type Choice struct {
	// FixedRowVars is log2 of the row length of the fixed tensors' tree, 0 if there
	// is none. It is part of what the key's root means. BaseRowVars is that of the tree of a base
	// (model.Graph.Base) beside it, 0 if there is none.
	BaseRowVars, FixedRowVars int
	// ApartRowVars are those of the trees that a header names (model.Graph.Apart), in order.
	ApartRowVars []int
	// WitnessRowVars is that of the witness's tree, 0 if there is none.
	WitnessRowVars int
	// Levels are those of the opening, none if nothing is committed.
	Levels []soundness.Level
	// TailLog is that of a hiding proof (soundness.Params), 0 in a plain one. FixedTailLog says
	// that rows of the fixed tensors' tree have tails of a 2^FixedTailLog-th; 0: none.
	TailLog, FixedTailLog int
}

// Equal says whether two choices are the same.
func (c *Choice) Equal(d *Choice) bool {
	return c.BaseRowVars == d.BaseRowVars && c.FixedRowVars == d.FixedRowVars && c.WitnessRowVars == d.WitnessRowVars && slices.Equal(c.Levels, d.Levels) &&
		slices.Equal(c.ApartRowVars, d.ApartRowVars) &&
		c.TailLog == d.TailLog && c.FixedTailLog == d.FixedTailLog
}

// FixedRows lists the row lengths, as log2, of the trees of fixed tensors that there are, in order.
func (c *Choice) FixedRows() []int {
	return slices.DeleteFunc([]int{c.BaseRowVars, c.FixedRowVars}, func(n int) bool { return n == 0 })
}

// longest is that of the longest rows.
func (c *Choice) longest() int {
	longest := max(c.BaseRowVars, c.FixedRowVars, c.WitnessRowVars)
	for _, n := range c.ApartRowVars {
		longest = max(longest, n)
	}
	return longest
}

// stacks are the stacks of all committed tensors of a circuit.
type stacks struct {
	base    *model.Stack // nil if there is none
	fixed   *model.Stack // likewise
	apart   []*model.Stack
	witness []*model.Stack
}

// newStacks makes the stacks of a graph.
func newStacks(g *model.Graph) *stacks {
	lists := committed(g)
	all := make([]*model.Stack, len(lists))
	parallel.For(len(lists), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if len(lists[i]) > 0 {
				all[i] = model.NewStack(g, lists[i])
			}
		}
	})
	n := 2 + len(g.Apart)
	return &stacks{base: all[0], fixed: all[1], apart: all[2:n:n], witness: slices.DeleteFunc(all[n:], func(s *model.Stack) bool { return s == nil })}
}

// fixedStack is a stack of fixed tensors with its place in a choice.
type fixedStack struct {
	*model.Stack
	what    string
	rowVars *int
}

// ofFixed lists the trees of fixed tensors that there may be.
func (s *stacks) ofFixed(c *Choice) []fixedStack {
	return []fixedStack{{s.base, "tensors of the base", &c.BaseRowVars}, {s.fixed, "fixed tensors", &c.FixedRowVars}}
}

// choose completes a choice: it replaces what is negative, or nil, by the cheapest
// parameter. The row length of the fixed tensors follows from their number alone. pads is the
// number of values of a hiding proof's pads, 0 in a plain proof.
func (s *stacks) choose(c soundness.Config, choice *Choice, pads uint64) (err error) {
	var beside []soundness.Tree
	for _, t := range s.ofFixed(choice) {
		if t.Stack == nil {
			*t.rowVars = max(*t.rowVars, 0)
			continue
		}
		if *t.rowVars < 0 {
			if choice.FixedTailLog > 0 {
				return errors.New("the row length of a hiding key is the key's")
			}
			if *t.rowVars, err = soundness.ChooseKeyRowVars(c, t.Size); err != nil {
				return err
			}
		}
		beside = append(beside, soundness.Tree{RowVars: *t.rowVars, Sizes: []uint64{t.Size}})
	}
	if beside, err = s.chooseApart(choice, beside); err != nil {
		return err
	}
	var sizes []uint64
	for _, w := range s.witness {
		sizes = append(sizes, w.Size)
	}
	if pads > 0 {
		sizes = append(sizes, pads)
	}
	switch {
	case len(sizes) == 0 || choice.WitnessRowVars >= 0:
	case pads == 0:
		choice.WitnessRowVars, err = soundness.ChooseRowVars(c, sizes, beside...)
	case choice.TailLog == CheapestTails:
		choice.WitnessRowVars, choice.TailLog, err = soundness.ChooseHiding(c, sizes, beside...)
	default:
		choice.WitnessRowVars, err = soundness.ChooseHidingRowVars(c, choice.TailLog, sizes, beside...)
	}
	if err != nil {
		return err
	}
	choice.WitnessRowVars = max(choice.WitnessRowVars, 0)
	return nil
}

// apartRows is about the most rows that the tree of tensors apart has: a column and its path are
// equally long in a proof then. Of many entries it has manyRows: every later segment holds its
// digests, of which there are a quarter then, for columns that are some 100 bytes longer.
const (
	apartRows = 16
	manyRows  = 64
	many      = 1 << 20
)

// chooseApart completes the row lengths of trees that a header names: those that are negative. It adds the trees to those beside the witness's. Rows are no longer than those of fixed tensors, so that they do not lengthen the
// table's.
func (s *stacks) chooseApart(choice *Choice, beside []soundness.Tree) ([]soundness.Tree, error) {
	if len(s.apart) == 0 {
		return beside, nil
	}
	if len(choice.ApartRowVars) != len(s.apart) {
		return nil, fmt.Errorf("row lengths of %d trees beside the key's, of which there are %d", len(choice.ApartRowVars), len(s.apart))
	}
	rows := slices.Clone(choice.ApartRowVars)
	for i, t := range s.apart {
		if rows[i] < 0 {
			most := uint64(apartRows)
			if t.Size >= many {
				most = manyRows
			}
			rows[i] = max(1, bits.Len64((t.Size-1)/most))
			if most := max(choice.BaseRowVars, choice.FixedRowVars); most > 0 {
				rows[i] = min(rows[i], most)
			}
		}
		beside = append(beside, soundness.Tree{RowVars: rows[i], Sizes: []uint64{t.Size}})
	}
	choice.ApartRowVars = rows
	return beside, nil
}

// check returns an error for a row length that is out of range, or for a tree that does
// not exist; witness says whether there is one of the witness.
func (s *stacks) check(c soundness.Config, choice *Choice, witness bool) error {
	for _, x := range []struct {
		what    string
		there   bool
		rowVars int
	}{
		{"tensors of the base", s.base != nil, choice.BaseRowVars}, {"fixed tensors", s.fixed != nil, choice.FixedRowVars},
		{"witness", witness, choice.WitnessRowVars},
	} {
		if x.rowVars < 0 || x.rowVars > soundness.MaxLogDomain-c.LogBlowup || !x.there && x.rowVars != 0 {
			return fmt.Errorf("%s: rows of 2^%d values", x.what, x.rowVars)
		}
	}
	if len(choice.ApartRowVars) != len(s.apart) {
		return fmt.Errorf("row lengths of %d trees beside the key's, of which there are %d", len(choice.ApartRowVars), len(s.apart))
	}
	for _, n := range choice.ApartRowVars {
		if n < 1 || n > soundness.MaxLogDomain-c.LogBlowup {
			return fmt.Errorf("a tree beside the key's: rows of 2^%d values", n)
		}
	}
	return nil
}

// maxRows is the most rows of a tree: with more, a leaf would be longer than the values
// that it stands for.
const maxRows = 1 << soundness.MaxFoldVars

var errRows = errors.New("too many rows are committed")

// rowsOf returns the rows that a stack takes.
func rowsOf(s *model.Stack, rowVars int) (int, error) {
	n := (s.Size + 1<<rowVars - 1) >> rowVars
	if n > maxRows {
		return 0, errRows
	}
	return int(n), nil
}

// plant lays out the trees, and takes or chooses the parameters of their opening.
// Every stack begins with a row of the opening's table: trees come one after the
// other, and so do the stacks of chunks. In a hiding proof the stack of pads comes behind these, then mask rows and the
// auxiliary row.
func (p *Plan) plant(s *stacks, choice Choice) error {
	witness, values := s.witness, uint64(0)
	if p.Pads != nil {
		witness, values = append(witness, p.Pads.stack), p.Pads.stack.Size
	}
	slots, err := p.plantBeside(s, &choice, values) // table rows so far
	if err != nil {
		return err
	}
	longest := choice.longest()
	shift := longest - choice.WitnessRowVars
	t := Tree{RowOffset: slots, Commitment: backend.Commitment{Layout: whir.Layout{Hash: p.Config.Hash, RowVars: choice.WitnessRowVars, LogBlowup: p.Config.LogBlowup}}}
	for _, w := range witness {
		rows, err := rowsOf(w, choice.WitnessRowVars)
		if err != nil {
			return err
		}
		part := backend.Part{Stack: w}
		if p.Pads != nil && w == p.Pads.stack {
			part.Kind = backend.Pads
		}
		if err := t.put(rows, part, shift, 1); err != nil {
			return err
		}
	}
	if p.Pads != nil {
		if err := t.putMasks(shift); err != nil {
			return err
		}
	}
	if len(witness) > 0 {
		slots += p.add(t, slots, longest)
	}
	if err := p.parameters(choice, slots); err != nil || p.Pads == nil {
		return err
	}
	p.Pads.tree = len(p.Trees) - 1
	p.Pads.offset = p.places[len(p.places)-1].first
	return p.setTails(choice)
}

// put adds groups of rows, of which 2^shift make one of the table. They begin with a row of the table, a multiple of align of them.
func (t *Tree) put(rows int, part backend.Part, shift int, align uint64) error {
	if rows > maxRows-t.Rows() {
		return errRows
	}
	first := (t.RowOffset+(t.Slots()+1<<shift-1)>>shift+align-1)/align*align - t.RowOffset
	for _, n := range t.Hash.Groups(rows) {
		t.Groups = append(t.Groups, whir.Group{First: first<<shift + uint64(part.First), Rows: n})
		t.Parts = append(t.Parts, part)
		part.First += n
	}
	return nil
}

// plantBeside completes and checks a choice, for a proof with so many values of pads, and adds the trees beside the
// witness's: those of fixed tensors and those that a header names. It returns how many rows of the table they take.
func (p *Plan) plantBeside(s *stacks, choice *Choice, pads uint64) (slots uint64, err error) {
	if err := s.choose(p.Config, choice, pads); err != nil {
		return 0, err
	}
	if err := s.check(p.Config, choice, len(s.witness) > 0 || pads > 0); err != nil {
		return 0, err
	}
	plant := func(stack *model.Stack, rowVars int, t Tree) error {
		if _, err := rowsOf(stack, rowVars); err != nil {
			return err
		}
		t.Commitment = backend.SingleStack(p.Config.Hash, stack, rowVars, p.Config.LogBlowup)
		slots += p.add(t, slots, choice.longest())
		return nil
	}
	for _, t := range s.ofFixed(choice) {
		if t.Stack == nil {
			continue
		}
		if err := plant(t.Stack, *t.rowVars, Tree{Fixed: true}); err != nil {
			return 0, err
		}
	}
	for i, stack := range s.apart {
		if err := plant(stack, choice.ApartRowVars[i], Tree{Apart: i + 1, Imported: p.Graph.Apart[i].Imported}); err != nil {
			return 0, err
		}
	}
	return slots, nil
}

// add adds a tree that begins with a table row, and returns how many it takes.
func (p *Plan) add(t Tree, row uint64, longest int) uint64 {
	t.RowOffset = row
	for i, part := range t.Parts {
		if part.Stack == nil || i > 0 && part.Stack == t.Parts[i-1].Stack {
			continue
		}
		for k, id := range part.Stack.Tensors {
			p.located[id] = located{len(p.places), part.Stack.Of[k]}
		}
		p.places = append(p.places, place{part.Stack, len(p.Trees), t.Groups[i].First << t.RowVars})
	}
	p.Trees = append(p.Trees, t)
	shift := longest - t.RowVars
	return (t.Slots() + 1<<shift - 1) >> shift
}

// parameters takes the given levels, if they are secure, or chooses them.
func (p *Plan) parameters(choice Choice, slots uint64) (err error) {
	p.Choice = choice
	if len(p.Trees) == 0 {
		if len(choice.Levels) > 0 {
			return errors.New("parameters for an opening, but nothing is committed")
		}
		return nil
	}
	if p.Params, err = openingParams(p.Config, p.Pads != nil, choice.TailLog, choice.Levels, choice.longest(), slots); err == nil {
		p.Choice.Levels = p.Params.Levels
	}
	return err
}

// openingParams returns the parameters of an opening of so many rows of 2^longest values, which may hide with tails of a 2^tailLog-th: with
// the given levels, if they are secure, or with some that it chooses if levels is nil.
func openingParams(c soundness.Config, hides bool, tailLog int, levels []soundness.Level, longest int, slots uint64) (p *soundness.Params, err error) {
	switch {
	case levels == nil && hides:
		return soundness.DeriveHiding(c, tailLog, longest, slots)
	case levels == nil:
		return soundness.Derive(c, longest, slots)
	case hides:
		p, err = soundness.CheckHiding(c, tailLog, levels, slots)
	default:
		p, err = soundness.Check(c, levels, slots)
	}
	if err == nil && p.RowVars() != longest {
		err = fmt.Errorf("parameters for rows of 2^%d values, not 2^%d", p.RowVars(), longest)
	}
	return p, err
}

// tail is an aligned block of a last row's unused end, which is zero.
type tail struct {
	tree   int
	offset uint64 // in the tree's values
	vars   int
}

// tails cuts the unused ends of the witness's last rows into aligned blocks, in order, those of trees that a header names first.
// The fixed tensors need none: the key's root commits to their rows, with whatever is
// behind the last value. Nor do trees of which another proof has shown it.
func (p *Plan) tails() []tail {
	var list []tail
	for _, at := range p.places {
		t := &p.Trees[at.tree]
		if t.Fixed || t.Imported {
			continue
		}
		size := at.stack.Size
		for _, b := range model.Aligned(size, (size+1<<t.RowVars-1)>>t.RowVars<<t.RowVars) {
			list = append(list, tail{at.tree, at.first + b.Start, b.Bits})
		}
	}
	return list
}

// TailVars returns the number of coordinates of the point at which unused ends of
// rows are shown to be zero.
func (p *Plan) TailVars() int {
	vars := 0
	for _, t := range p.tails() {
		vars = max(vars, t.vars)
	}
	return vars
}

// FixedTree returns the first tree of fixed tensors, or nil: that of the base, if there is one.
func (p *Plan) FixedTree() *Tree {
	if fixed := p.FixedTrees(); len(fixed) > 0 {
		return &fixed[0]
	}
	return nil
}

// FixedTrees returns the trees of fixed tensors: the first ones.
func (p *Plan) FixedTrees() []Tree {
	n := 0
	for n < len(p.Trees) && p.Trees[n].Fixed {
		n++
	}
	return p.Trees[:n]
}

// ApartTrees returns the trees that a proof's header names, in order.
func (p *Plan) ApartTrees() []Tree {
	n := len(p.FixedTrees())
	return p.Trees[n : n+len(p.Choice.ApartRowVars)]
}

// WitnessTree returns the tree of the witness, whose root a proof sends, or nil.
func (p *Plan) WitnessTree() *Tree {
	if n := len(p.Trees); n > 0 && p.Trees[n-1].Sent() {
		return &p.Trees[n-1]
	}
	return nil
}

// Sent says whether a proof sends the tree's root, as only that of the witness: others are in the key or in the header.
func (t *Tree) Sent() bool { return !t.Fixed && t.Apart == 0 }
