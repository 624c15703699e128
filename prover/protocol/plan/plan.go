// Package plan describes a proof before it is made: what is committed where, which
// sums and claims arise in which sub-transcript (Fork) and in what order, the
// messages (frames) of the file, the parameters of the opening, the security of every
// round, and what verifying costs. A Plan is computed once, from a valid circuit and
// the security asked for. Prover, verifier, limits and estimates read it.
package plan

import (
	"fmt"
	"sync"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// Plan is a function of the circuit, the security asked for and the choice of the
// opening's parameters. Neither a Plan nor its circuit may be changed.
type Plan struct {
	Graph  *model.Graph
	Config soundness.Config
	// Opened has the first trees, in order: that of the base, that of the other fixed tensors, those that a proof's header
	// names (model.Graph.Apart), then that of the witness. Each may be missing. The parameters are nil if nothing is committed.
	Opened
	Choice Choice
	// Pads are those of a hiding proof. They are nil in a plain one.
	Pads *Pads
	// LookupGrind is the number of bits of the proof of work before the look-up challenges
	// of every chunk.
	LookupGrind int
	// Forks are the sub-transcripts: one for each chunk, in order, then that of the
	// public outputs. Forks[i] uses sub-transcript i of the main transcript.
	Forks []*Fork
	// Rounds are all challenges of a proof, in order, with their bits of security.
	Rounds []soundness.Round
	// Frames are the messages of a proof's file, in order.
	Frames  []Frame
	places  []place   // where each stack begins
	located []located // by tensor: where it is, if it is committed
	inputs  []int32   // by tensor: 1 + its place among the circuit's inputs, 0 if it is none
	wirings wirings
	cost    cost
}

// maxLeaves bounds the look-ups and table rows of a chunk, below p: counts are
// field elements, and p look-ups would wrap them.
const maxLeaves = 1 << 30

// minLookupGrind is the least work before the look-up challenges, in bits.
const minLookupGrind = 8

// New plans the proofs of a valid graph and chooses the parameters of commitments and
// opening. The error says that the security is out of reach, or that verifying would
// take more than a key may ask for.
func New(g *model.Graph, c soundness.Config) (*Plan, error) {
	return newPlan(g, c, Choice{BaseRowVars: -1, FixedRowVars: -1, WitnessRowVars: -1})
}

// WithRows is New with the row lengths of the fixed tensors' trees given, as log2, in order.
func WithRows(g *model.Graph, c soundness.Config, fixed ...int) (*Plan, error) {
	choice, err := withRows(fixed)
	if err != nil {
		return nil, err
	}
	choice.WitnessRowVars, choice.ApartRowVars = -1, apartRowVars(g)
	return newPlan(g, c, choice)
}

// apartRowVars returns the row lengths, as log2, of the trees that a header names (model.Graph.Apart). Trees that exist already,
// of earlier segments and of inputs that were committed to, have theirs. For others it is −1, and the length is chosen later.
func apartRowVars(g *model.Graph) []int {
	var rows []int
	for i := range g.Apart {
		switch {
		case !g.Apart[i].Imported:
			rows = append(rows, -1)
		case g.Instance.Segment != nil:
			rows = append(rows, g.Instance.Segment.Past[i].RowVars)
		default:
			rows = append(rows, g.Instance.Committed[i].RowVars)
		}
	}
	return rows
}

// withRows returns a choice with the given row lengths of the trees of fixed tensors: none, that of the only tree, or those of
// the base's tree and of the other one.
func withRows(fixed []int) (c Choice, err error) {
	switch len(fixed) {
	case 0:
	case 1:
		c.FixedRowVars = fixed[0]
	case 2:
		c.BaseRowVars, c.FixedRowVars = fixed[0], fixed[1]
	default:
		err = fmt.Errorf("row lengths of %d trees of fixed tensors", len(fixed))
	}
	return c, err
}

// WithChoice is New with parameters that were chosen before, such as those that a proof's
// header states. It returns an error if they do not reach the security asked for.
func WithChoice(g *model.Graph, c soundness.Config, made Choice) (*Plan, error) {
	if made.Levels == nil {
		made.Levels = []soundness.Level{} // not nil, for which newPlan would choose levels
	}
	return newPlan(g, c, made)
}

// newPlan makes a plan. It chooses the parameters that choice leaves open: negative row
// lengths, nil levels, and CheapestTails.
func newPlan(g *model.Graph, c soundness.Config, choice Choice) (*Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Plan{Graph: g, Config: c, inputs: make([]int32, len(g.Tensors))}
	for i, id := range g.Inputs {
		p.inputs[id] = int32(i) + 1
	}
	if choice.TailLog != 0 || choice.FixedTailLog > 0 {
		if err := p.hide(choice); err != nil {
			return nil, err
		}
	} else {
		if err := p.layOut(choice); err != nil {
			return nil, err
		}
		if err := p.reduce(); err != nil {
			return nil, err
		}
	}
	if err := p.secure(); err != nil {
		return nil, err
	}
	p.Frames = p.frames()
	return p, nil
}

// layOut makes the trees and the parameters of their opening, for a plain proof.
func (p *Plan) layOut(choice Choice) error {
	if err := CheckSizes(p.Graph); err != nil {
		return err
	}
	p.located = make([]located, len(p.Graph.Tensors))
	return p.plant(newStacks(p.Graph), choice)
}

// committed returns the tensors of every stack. The stacks are, in this order: that of the base's tensors, that of the other fixed
// tensors, one for each tree that a header names, and one for each chunk, with the witness tensors that no header names.
func committed(g *model.Graph) [][]model.TensorID {
	first := 2 + len(g.Apart)
	lists := make([][]model.TensorID, first+g.Chunks)
	apart := map[model.TensorID]bool{}
	for i := range g.Apart {
		lists[2+i] = g.Apart[i].Tensors
		for _, id := range g.Apart[i].Tensors {
			apart[id] = true
		}
	}
	for i, ids := range g.FixedStacks() {
		if len(g.Base) == 0 {
			i++
		}
		lists[i] = ids
	}
	for i := range g.Tensors {
		if t := &g.Tensors[i]; t.Kind == model.Witness && !apart[model.TensorID(i)] {
			lists[first+t.Chunk] = append(lists[first+t.Chunk], model.TensorID(i))
		}
	}
	return lists
}

// reduce plans the claim reduction of every sub-transcript (docs/protocol.md, "Claim reduction"),
// all of them in parallel.
func (p *Plan) reduce() error {
	g := p.Graph
	p.cost.work(uint64(len(p.tails())) * workClaimBlock)
	for _, ids := range [][]model.TensorID{g.Given(), g.Outputs} {
		for _, id := range ids {
			p.cost.work(workPublic * uint64(model.Size(g.Tensors[id].Shape)))
		}
	}
	steps, mults := make([][]int, g.Chunks), make([][]*model.Mult, g.Chunks)
	for i := range g.Steps {
		c := g.Steps[i].Chunk
		steps[c] = append(steps[c], i)
	}
	for i := range g.Mults {
		c := g.Mults[i].Chunk
		mults[c] = append(mults[c], &g.Mults[i])
	}
	p.Forks = make([]*Fork, g.Chunks+1)
	parallel.For(len(p.Forks), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if i < g.Chunks {
				p.Forks[i] = newReducer(p, i).chunk(steps[i], mults[i])
			} else {
				p.Forks[i] = newReducer(p, -1).outputs()
			}
		}
	})
	return p.cost.failure()
}

// wirings has the wiring of every view of a plan, so that each view is analysed once. Views that are alike share a wiring: the
// layers of a model have the same views.
type wirings struct {
	list  sync.Map // from a *model.Linear to a *wired
	alike sync.Map // from a wiringKey, as a string, to a *Wiring
}

// wired is the wiring of one view. The first goroutine that wants it makes it.
type wired struct {
	once sync.Once
	is   *Wiring
}

// wiring returns the wiring of the view of l, a term of something with shape out.
func (r *reducer) wiring(l *model.Linear, out []int) *Wiring {
	list := &r.p.wirings.list
	found, ok := list.Load(l)
	if !ok {
		found, _ = list.LoadOrStore(l, &wired{})
	}
	w := found.(*wired)
	w.once.Do(func() { w.is = r.analysed(l.View, out, r.p.Graph.Tensors[l.Src].Shape) })
	return w.is
}

// analysed returns the wiring of a view: one that is known for a view that is alike, or a new one. Either way it adds the same
// to the plan's cost, so that the cost does not depend on the order in which sub-transcripts are planned.
func (r *reducer) analysed(v *model.View, out, in []int) *Wiring {
	p := r.p
	r.key = wiringKey(r.key[:0], v, out, in)
	w, known := r.alike[string(r.key)]
	if !known {
		var other any // the wiring that another sub-transcript has found
		if other, known = p.wirings.alike.Load(string(r.key)); known {
			w = other.(*Wiring)
			r.share(w)
		} else {
			w = NewWiring(v, out, in)
		}
	}
	p.cost.walk(w.SinglePairs)
	p.cost.work(w.SinglePairs)
	if known || p.cost.failed() {
		return w
	}
	w.findEmpty()
	p.wirings.alike.Store(string(r.key), w)
	r.share(w)
	return w
}

// share keeps a wiring for later views of this sub-transcript that have the key r.key.
func (r *reducer) share(w *Wiring) {
	if r.alike == nil {
		r.alike = map[string]*Wiring{}
	}
	r.alike[string(r.key)] = w
}

// secure sets LookupGrind to the least work with which the look-up challenges reach the target,
// minLookupGrind at least, and lists the rounds. It returns an error unless all of them
// reach the target.
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
	return reach(p.Rounds, p.Config)
}

// reach returns an error if some round does not reach the target.
func reach(rounds []soundness.Round, c soundness.Config) error {
	for _, r := range rounds {
		if r.Bits < soundness.WholeBits(c.TargetBits) {
			return fmt.Errorf("%s: %s bits, the target is %d", r.Name, r.Bits, c.TargetBits)
		}
	}
	return nil
}

// Input returns the place of a tensor among the circuit's inputs, −1 if it is none of them.
func (p *Plan) Input(id model.TensorID) int { return int(p.inputs[id]) - 1 }

// Strength returns the security of a proof.
func (p *Plan) Strength() soundness.Strength { return soundness.Weakest(p.Rounds) }

// Work returns an estimate of what verifying costs, besides reading the proof, in units of
// about 20 ns on one core.
func (p *Plan) Work() uint64 { return p.cost.units.Load() }
