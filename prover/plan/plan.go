// Package plan says what a proof looks like before it is made: what is committed
// where, which sums and claims arise in which fork of the transcript and in what
// order, the frames of the file, the parameters of the opening, the security of
// every round, and what all this costs to verify. A Plan is computed once, from a
// valid circuit and the security asked for; prover, verifier, limits and
// estimates read it.
package plan

import (
	"errors"
	"fmt"
	"sort"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/transcript"
)

// Tree is one committed stack and its place in the common opening.
type Tree struct {
	Stack     *model.Stack
	Tensors   []model.TensorID
	Chunk     int // −1 for the fixed tensors
	Rows      int
	RowOffset uint64
}

// Plan is a function of the graph and the security parameters alone. It must not
// be changed, nor may its graph.
type Plan struct {
	Graph  *model.Graph
	Config soundness.Config
	// Trees are in the order of the opening; empty if nothing is committed.
	Trees []Tree
	// Params are those of the opening, nil if nothing is committed.
	Params *soundness.Params
	// LookupGrind is the work before the look-up challenges of every chunk.
	LookupGrind int
	// Forks are the chunks in order, then the public outputs; the transcript's fork
	// with a Fork's index is its own.
	Forks []*Fork
	// Rounds are all challenges of a proof, in order, with their bits of security.
	Rounds []soundness.Round
	// Frames are the parts of a proof's file, in order.
	Frames []Frame
	// treeOf maps a committed tensor to its tree.
	treeOf  map[model.TensorID]int
	wirings map[*model.Linear]*Wiring
	cost    cost
}

// maxLeaves bounds the look-ups and table rows of a chunk, below p: counts are
// field elements, and p look-ups would wrap them.
const maxLeaves = 1 << 30

// minLookupGrind is spent before the look-up challenges whatever the size.
const minLookupGrind = 8

// New plans the proofs of a valid graph and chooses the parameters of the opening.
// The error says that the security is out of reach, or that verifying would take
// more than a key may ask for.
func New(g *model.Graph, c soundness.Config) (*Plan, error) { return newPlan(g, c, nil) }

// WithLevels is New with parameters of the opening that were chosen before, no
// levels if nothing is committed. They must reach the security.
func WithLevels(g *model.Graph, c soundness.Config, levels []soundness.Level) (*Plan, error) {
	if levels == nil {
		levels = []soundness.Level{} // none: nothing is chosen in their place
	}
	return newPlan(g, c, levels)
}

// newPlan chooses levels if they are nil.
func newPlan(g *model.Graph, c soundness.Config, levels []soundness.Level) (*Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Plan{Graph: g, Config: c}
	if err := p.layOut(levels); err != nil {
		return nil, err
	}
	if err := p.reduce(); err != nil {
		return nil, err
	}
	if err := p.secure(); err != nil {
		return nil, err
	}
	p.Frames = p.frames()
	return p, nil
}

// layOut makes the stacks and the parameters of their opening.
func (p *Plan) layOut(levels []soundness.Level) error {
	g := p.Graph
	if err := checkSizes(g); err != nil {
		return err
	}
	p.treeOf = map[model.TensorID]int{}
	for chunk, ids := range committed(g) {
		if len(ids) > 0 {
			p.Trees = append(p.Trees, Tree{Stack: model.NewStack(g, ids), Tensors: ids, Chunk: chunk - 1})
		}
	}
	if len(p.Trees) == 0 && len(levels) > 0 {
		return errors.New("parameters for an opening, but nothing is committed")
	}
	return p.place(levels)
}

// committed lists the fixed tensors, then the witness of each chunk.
func committed(g *model.Graph) [][]model.TensorID {
	lists := make([][]model.TensorID, 1+g.Chunks)
	for i := range g.Tensors {
		switch t := &g.Tensors[i]; t.Kind {
		case model.Fixed:
			lists[0] = append(lists[0], model.TensorID(i))
		case model.Witness:
			lists[1+t.Chunk] = append(lists[1+t.Chunk], model.TensorID(i))
		}
	}
	return lists
}

// reduce lays out the forks.
func (p *Plan) reduce() error {
	g := p.Graph
	p.wirings = map[*model.Linear]*Wiring{}
	steps, mults := make([][]int, g.Chunks), make([][]*model.Mult, g.Chunks)
	for i := range g.Steps {
		c := g.Steps[i].Chunk
		steps[c] = append(steps[c], i)
	}
	for i := range g.Mults {
		c := g.Mults[i].Chunk
		mults[c] = append(mults[c], &g.Mults[i])
	}
	for chunk := range g.Chunks {
		f, err := newReducer(p, chunk).chunk(steps[chunk], mults[chunk])
		if err != nil {
			return err
		}
		p.Forks = append(p.Forks, f)
	}
	f, err := newReducer(p, -1).outputs()
	p.Forks = append(p.Forks, f)
	return err
}

// wiring returns the wiring of a view, which is analysed once.
func (p *Plan) wiring(l *model.Linear, out []int) *Wiring {
	w, ok := p.wirings[l]
	if !ok {
		w = NewWiring(l.View, out, p.Graph.Tensors[l.Src].Shape)
		p.wirings[l] = w
		p.cost.walk(w.SinglePairs)
		if p.cost.err == nil {
			w.findEmpty()
		}
	}
	return w
}

// secure sets the work before the look-ups and lists the rounds, all of which
// must reach the target.
func (p *Plan) secure() error {
	target := soundness.WholeBits(p.Config.TargetBits)
	for _, f := range p.Forks {
		if f.Leaves.Size == 0 {
			continue
		}
		if f.Leaves.Size > maxLeaves {
			return fmt.Errorf("chunk %d has %d look-ups and table rows, more than %d", f.Chunk, f.Leaves.Size, maxLeaves)
		}
		r := soundness.LookUps("", uint64(f.Leaves.Size), lookupColumns, 0)
		for p.LookupGrind = max(p.LookupGrind, minLookupGrind); r.Bits+soundness.WholeBits(p.LookupGrind) < target; {
			p.LookupGrind++
		}
	}
	if p.LookupGrind > max(p.Config.GrindBits, minLookupGrind) {
		return fmt.Errorf("%d bits are out of reach for the look-ups with %d bits of grinding", p.Config.TargetBits, p.Config.GrindBits)
	}
	for _, f := range p.Forks {
		if f.Leaves.Size > 0 {
			f.Bytes += transcript.LimbBytes // the nonce
		}
	}
	p.Rounds = p.rounds()
	for _, r := range p.Rounds {
		if r.Bits < target {
			return fmt.Errorf("%s: %s bits, the target is %d", r.Name, r.Bits, p.Config.TargetBits)
		}
	}
	return nil
}

// Strength returns what a proof is worth.
func (p *Plan) Strength() soundness.Strength { return soundness.Weakest(p.Rounds) }

// Work is what verifying costs beside reading the proof, in units of
// about 20 ns on one core.
func (p *Plan) Work() uint64 { return p.cost.units }

// place puts the trees one after the other, each at a multiple of its own size
// rounded up to a power of two, so that every block of every stack stays
// aligned.
func (p *Plan) place(levels []soundness.Level) error {
	if len(p.Trees) == 0 {
		return nil
	}
	rowVars, err := p.rowVars(levels)
	if err != nil {
		return err
	}
	for i := range p.Trees {
		t := &p.Trees[i]
		t.Rows = int((t.Stack.Size + 1<<rowVars - 1) >> rowVars)
	}
	sort.SliceStable(p.Trees, func(i, j int) bool {
		return model.Log2Ceil(p.Trees[i].Rows) > model.Log2Ceil(p.Trees[j].Rows)
	})
	var end uint64
	for i := range p.Trees {
		t := &p.Trees[i]
		t.RowOffset = end
		end += 1 << model.Log2Ceil(t.Rows)
		for _, id := range t.Tensors {
			p.treeOf[id] = i
		}
	}
	last := &p.Trees[len(p.Trees)-1]
	slots := last.RowOffset + uint64(last.Rows)
	if levels != nil {
		p.Params, err = soundness.Check(p.Config, levels, slots)
	} else {
		p.Params, err = soundness.Derive(p.Config, rowVars, slots)
	}
	return err
}

// rowVars returns the given row length, or the cheapest.
func (p *Plan) rowVars(levels []soundness.Level) (int, error) {
	if levels != nil {
		if len(levels) == 0 {
			return 0, errors.New("no parameters for the opening")
		}
		if v := levels[0].RowVars; v >= 0 && v <= soundness.MaxLogDomain {
			return v, nil
		}
		return 0, fmt.Errorf("rows of 2^%d values", levels[0].RowVars)
	}
	sizes := make([]uint64, len(p.Trees))
	for i := range p.Trees {
		sizes[i] = p.Trees[i].Stack.Size
	}
	return soundness.ChooseRowVars(p.Config, sizes)
}

// Stack describes the stack of a tree to a backend.
func (p *Plan) Stack(t *Tree) backend.Stack {
	return backend.Stack{Layout: t.Stack, Rows: t.Rows, RowVars: p.Params.RowVars(), LogBlowup: p.Config.LogBlowup}
}

// Fixed returns the tree of the fixed tensors, or nil.
func (p *Plan) Fixed() *Tree { return p.chunkTree(-1) }

// Chunk returns the tree of a chunk's witness, or nil.
func (p *Plan) Chunk(chunk int) *Tree { return p.chunkTree(chunk) }

func (p *Plan) chunkTree(chunk int) *Tree {
	for i := range p.Trees {
		if p.Trees[i].Chunk == chunk {
			return &p.Trees[i]
		}
	}
	return nil
}

// RowCounts returns the rows of every tree.
func (p *Plan) RowCounts() []int {
	n := make([]int, len(p.Trees))
	for i := range p.Trees {
		n[i] = p.Trees[i].Rows
	}
	return n
}

// RowOffsets returns the first row of every tree.
func (p *Plan) RowOffsets() []uint64 {
	n := make([]uint64, len(p.Trees))
	for i := range p.Trees {
		n[i] = p.Trees[i].RowOffset
	}
	return n
}
