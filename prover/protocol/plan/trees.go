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

// Tree is one of the first trees of the opening, with its place in the opening's
// table. A tree of fixed tensors, or one that a header names, has one stack, cut into groups of
// rows. The tree of the witness has the stacks of all chunks that have one.
type Tree struct {
	backend.Commitment
	Fixed bool // a tree of fixed tensors, whose root is in the key
	// Apart is 1 + the tree's place in model.Graph.Apart if a header names it, else 0. Imported says that another proof
	// has shown what is under its root.
	Apart     int
	Imported  bool
	RowOffset uint64 // the table row that its slot 0 begins
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

// located says where a committed tensor is.
type located struct {
	place  int     // its stack, by the index in Plan.places
	blocks []int32 // its blocks, by their index in the stack's Blocks
}

// Choice has the parameters of the commitments and of their opening. In a complete choice, one that nothing is left open in, a row
// length that is 0 says that there is no such tree.
type Choice struct {
	// FixedRowVars is log2 of the row length of the fixed tensors' tree, 0 if there
	// is none. It is part of what the key's root means. BaseRowVars is that of the tree of a base
	// (model.Graph.Base) beside it, 0 if there is none.
	BaseRowVars, FixedRowVars int
	// ApartRowVars are those of the trees that a header names (model.Graph.Apart), in order.
	ApartRowVars []int
	// WitnessRowVars is that of the witness's tree, 0 if there is none.
	WitnessRowVars int
	// Levels are the levels of the opening; there are none if nothing is committed.
	Levels []soundness.Level
	// TailLog is that of a hiding proof (soundness.Params.TailLog), 0 in a plain one. Rows of the
	// fixed tensors' tree have tails of a 2^FixedTailLog-th of their length, or none if it is 0.
	TailLog, FixedTailLog int
}

// Equal says whether two choices are the same.
func (c *Choice) Equal(d *Choice) bool {
	return c.BaseRowVars == d.BaseRowVars && c.FixedRowVars == d.FixedRowVars && c.WitnessRowVars == d.WitnessRowVars && slices.Equal(c.Levels, d.Levels) &&
		slices.Equal(c.ApartRowVars, d.ApartRowVars) &&
		c.TailLog == d.TailLog && c.FixedTailLog == d.FixedTailLog
}

// FixedRows returns the row lengths, as log2, of those trees of fixed tensors that exist, in order.
func (c *Choice) FixedRows() []int {
	return slices.DeleteFunc([]int{c.BaseRowVars, c.FixedRowVars}, func(n int) bool { return n == 0 })
}

// longest returns log2 of the longest row length of all trees, which is that of the table's rows.
func (c *Choice) longest() int {
	longest := max(c.BaseRowVars, c.FixedRowVars, c.WitnessRowVars)
	for _, n := range c.ApartRowVars {
		longest = max(longest, n)
	}
	return longest
}

// stacks has the stacks of all committed tensors of a circuit.
type stacks struct {
	base    *model.Stack   // of the base's tensors, nil if there are none
	fixed   *model.Stack   // of the other fixed tensors, nil if there are none
	apart   []*model.Stack // by tree that a header names
	witness []*model.Stack // of the chunks that have any, in order
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

// fixedStack is a stack of fixed tensors, nil if there is none, with its row length in a choice.
type fixedStack struct {
	*model.Stack
	what    string // its name, for errors
	rowVars *int
}

// ofFixed lists both stacks of fixed tensors, whether they exist or not.
func (s *stacks) ofFixed(c *Choice) []fixedStack {
	return []fixedStack{{s.base, "tensors of the base", &c.BaseRowVars}, {s.fixed, "fixed tensors", &c.FixedRowVars}}
}

// choose replaces row lengths that are negative, and TailLog if it is CheapestTails, by those that
// cost least. The row length of fixed tensors follows from the number of their values alone. pads
// is the number of values of a hiding proof's pads, 0 in a plain proof.
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

// A tree that a header names has at most apartRows rows, unless these would be longer than rows of
// fixed tensors. With so many, an opened column and its path are about equally long in a proof. A
// tree of `many` values or more has up to manyRows rows. Then it has a quarter of the columns, and so
// of the digests, which every later segment holds; a column is some 100 bytes longer.
const (
	apartRows = 16
	manyRows  = 64
	many      = 1 << 20
)

// chooseApart replaces those row lengths of trees that a header names that are negative. It appends the trees to beside, which
// lists the trees beside the witness's. Rows are no longer than those of fixed tensors, so that they do not lengthen the table's
// rows.
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

// check returns an error if a row length of a choice is out of range, or if it is given for a
// tree that does not exist. witness says whether there is a tree of the witness.
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

// rowsOf returns the number of rows of 2^rowVars values that a stack takes.
func rowsOf(s *model.Stack, rowVars int) (int, error) {
	n := (s.Size + 1<<rowVars - 1) >> rowVars
	if n > maxRows {
		return 0, errRows
	}
	return int(n), nil
}

// plant lays out the trees, and takes or chooses the parameters of their opening.
// Every stack begins with a row of the opening's table: trees come one after the
// other, and so do the stacks of chunks. In a hiding proof the stack of pads follows these in the witness's tree, then the mask
// rows and the auxiliary row.
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

// put adds rows to the tree, in groups; rows is their number. 2^shift rows of the tree make a row of the table. The first of the
// new rows begins the next free table row whose number is a multiple of align.
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

// plantBeside completes the row lengths of a choice and checks them. It adds all trees but the witness's: those of fixed tensors
// and those that a header names. It returns how many rows of the table they take. pads is the number of values of a hiding
// proof's pads.
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

// add adds a tree that begins at the given table row, with the places of its stacks and tensors. It returns how many table rows
// the tree takes. Table rows have 2^longest values.
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

// parameters sets the choice and the parameters of the opening; slots is the number of table rows that are taken up.
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

// openingParams returns the parameters of an opening of `slots` table rows of 2^longest values. If it hides, tails are at most
// a 2^tailLog-th of a row. The levels are the given ones, which must be secure, or chosen if levels is nil.
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

// tail is an aligned block of 2^vars values in the unused end of a stack's last row. A proof shows that it is zero. (It has
// nothing to do with the tails of rows in hiding openings.)
type tail struct {
	tree   int
	offset uint64 // in the tree, as in whir.Term
	vars   int
}

// tails cuts the unused ends of last rows into aligned blocks (docs/protocol.md, "Openings"), in the order of the stacks. They are
// those of the witness's stacks and of trees that a header names, except for trees of which another proof has shown it.
// Fixed tensors need none: the key's root commits to their rows, with whatever is behind the last value.
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

// FixedTree returns the first tree of fixed tensors, which is that of the base if there is one. It returns nil if there is none.
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

// WitnessTree returns the tree of the witness, whose root a proof sends, or nil if there is none.
func (p *Plan) WitnessTree() *Tree {
	if n := len(p.Trees); n > 0 && p.Trees[n-1].Sent() {
		return &p.Trees[n-1]
	}
	return nil
}

// Sent says whether a proof sends the tree's root. That is the case for the witness's tree alone: other roots are in the key or in
// the proof's header.
func (t *Tree) Sent() bool { return !t.Fixed && t.Apart == 0 }
