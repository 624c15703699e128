package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/pads"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Pads are what a hiding proof commits to besides the witness: the stack of pads, in the witness's tree behind
// the stacks of chunks. Mask rows and the auxiliary row follow it there.
type Pads struct {
	*pads.Stack
	stack  *model.Stack
	tree   int
	offset uint64 // of the stack's first value, as in whir.Term
	joined int    // claims and equations in the joined claim that plain proofs have not
}

// CheapestTails has NewHiding choose how long tails are: what costs least.
const CheapestTails = -1

// NewHiding plans hiding proofs with tails of a 2^tailLog-th of rows. The trees of fixed tensors have rows of
// these lengths (as in WithRows; nil: chosen as for plain proofs) and tails of a 2^fixedTailLog-th, or none for 0: then they are not
// hidden.
func NewHiding(g *model.Graph, c soundness.Config, tailLog int, fixed []int, fixedTailLog int) (*Plan, error) {
	choice := Choice{BaseRowVars: -1, FixedRowVars: -1}
	if fixed != nil {
		var err error
		if choice, err = withRows(fixed); err != nil {
			return nil, err
		}
	}
	choice.WitnessRowVars, choice.TailLog, choice.FixedTailLog, choice.ApartRowVars = -1, tailLog, fixedTailLog, apartRowVars(g)
	for _, c := range g.Instance.Committed { // tails that all trees have room for
		if choice.TailLog == CheapestTails || choice.TailLog > c.TailLog {
			choice.TailLog = c.TailLog
		}
	}
	return newPlan(g, c, choice)
}

// checkTails refuses lengths of tails that no hiding proof has.
func (c *Choice) checkTails() error {
	for _, j := range []int{c.TailLog, c.FixedTailLog} {
		if j == CheapestTails && c.Levels == nil && c.FixedTailLog == 0 {
			continue
		}
		if (j < soundness.MinTailLog || j > soundness.MaxTailLog) && (j != 0 || j == c.TailLog) {
			return fmt.Errorf("tails of a 2^%d-th of a row", j)
		}
	}
	if c.FixedTailLog != 0 && c.TailLog > c.FixedTailLog {
		return fmt.Errorf("a proof with tails of a 2^%d-th under a key with longer ones, of a 2^%d-th", c.TailLog, c.FixedTailLog)
	}
	return nil
}

// hide lays out a hiding proof. The number of pads follows from the sub-transcripts, so these come first.
func (p *Plan) hide(choice Choice) error {
	if err := choice.checkTails(); err != nil {
		return err
	}
	if err := CheckSizes(p.Graph); err != nil {
		return err
	}
	if len(p.Graph.Apart) != len(p.Graph.Instance.Committed) {
		return errors.New("a masked proof with trees beside the key's, which are not of inputs")
	}
	for _, c := range p.Graph.Instance.Committed {
		if c.TailLog < soundness.MinTailLog || c.TailLog > soundness.MaxTailLog || choice.TailLog > c.TailLog {
			return fmt.Errorf("a proof with tails of a 2^%d-th of rows, of an input with tails of a 2^%d-th", choice.TailLog, c.TailLog)
		}
	}
	s := newStacks(p.Graph)
	if s.base != nil && choice.FixedTailLog != 0 {
		return errors.New("tails of fixed tensors under two trees")
	}
	if s.fixed == nil && choice.FixedTailLog != 0 {
		return errors.New("tails of fixed tensors, of which there are none")
	}
	p.located = make([]located, len(p.Graph.Tensors))
	number := 0 // of places, in the order in which add gives them
	for _, stack := range slices.Concat([]*model.Stack{s.base, s.fixed}, s.apart, s.witness) {
		if stack == nil {
			continue
		}
		for k, id := range stack.Tensors {
			p.located[id] = located{number, stack.Of[k]}
		}
		number++
	}
	if err := p.reduce(); err != nil {
		return err
	}
	p.Pads = &Pads{joined: 3 + 1}
	forks := make([]pads.Fork, len(p.Forks))
	parallel.For(len(forks), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			n, triples := p.Forks[i].Masked()
			forks[i] = pads.Fork{Pads: n, Triples: triples, Equations: p.Forks[i].MaskedEquations()}
		}
	})
	for i, f := range p.Forks {
		f.Bytes = int64(forks[i].Pads) * elementBytes
		p.Pads.joined += forks[i].Equations
	}
	p.Pads.Stack = pads.NewStack(forks)
	p.Pads.stack = &model.Stack{Size: uint64(pads.Limbs * p.Pads.Elements())}
	if err := p.plant(s, choice); err != nil {
		return err
	}
	p.cost.work(uint64(len(p.tails()))*workClaimBlock + uint64(p.Pads.Elements())*workClaimBlock)
	return p.cost.failure()
}

// MaskedEquations returns how many equations a masked sub-transcript leaves.
func (f *Fork) MaskedEquations() int {
	n := len(f.Equations)
	if f.Leaves.Size > 0 {
		n += 2 + 2 // numerators and denominators at the end; of the root, that it is 0/d and d·e = 1
		if vars := model.Log2Ceil(f.Leaves.Size); vars > 0 {
			n += vars // that the d sent is that of the root, and one for each layer below the first
		}
	}
	for _, b := range f.Batches {
		n += 1 + len(b.Checks)
	}
	return n
}

// putMasks adds mask rows and the auxiliary row.
func (t *Tree) putMasks(shift int) error {
	if len(t.Hash.Groups(1<<shift)) > 1 {
		return fmt.Errorf("rows of 2^%d values beside ones of 2^%d: too short to hide", t.RowVars, t.RowVars+shift)
	}
	if err := t.put(soundness.Masks<<shift, backend.Part{Kind: backend.Masks}, shift, soundness.Masks); err != nil {
		return err
	}
	if t.Rows()+1<<shift > maxRows {
		return errRows
	}
	t.Groups, t.Parts = append(t.Groups, whir.Group{Rows: 1 << shift}), append(t.Parts, backend.Part{Kind: backend.Auxiliary})
	t.Auxiliary = true
	return nil
}

// setTails sets how long the tails of rows are. The number of queries decides that of the witness's.
func (p *Plan) setTails(choice Choice) error {
	queries := p.Params.Levels[0].Queries
	for i := range p.Trees {
		t := &p.Trees[i]
		tail := 0
		switch {
		case t.Apart > 0:
			tail = int(soundness.Budget(t.RowVars, p.Graph.Instance.Committed[t.Apart-1].TailLog))
		case !t.Fixed:
			tail = int(soundness.Budget(t.RowVars, choice.TailLog))
		case choice.FixedTailLog > 0:
			tail = int(soundness.Budget(t.RowVars, choice.FixedTailLog))
		default:
			continue
		}
		if tail < queries {
			return fmt.Errorf("rows of 2^%d values are too short to hide them at %d positions", t.RowVars, queries)
		}
		for k := range t.Groups {
			if t.Groups[k].Tail = tail; t.Parts[k].Kind <= backend.Pads && t.Sent() {
				t.Groups[k].Tail = queries // of one proof
			}
		}
	}
	return nil
}

// rounds are the challenges of the proof of products.
func (h *Pads) rounds() []soundness.Round {
	return []soundness.Round{
		soundness.Point("products of pads", uint64(h.Vars())),
		soundness.Sumcheck("products of pads", h.Vars(), 3),
	}
}

// CombineMasked is Combine for a hiding proof, with what a verifier has of its sub-transcripts and of the proof of
// products. It may be called once.
func (c *Cuts) CombineMasked(reads []pads.Read, ends *pads.Ends, tau []field.QM31, zeta field.QM31) (terms whir.Terms, value field.QM31) {
	p := c.j.p
	terms, _ = c.Combine(tau, zeta)
	value, weights := p.Pads.Join(reads, len(c.j.tails), ends, zeta)
	return p.Pads.Terms(terms, weights), value
}

// Terms returns terms with those of the stack's elements behind them, with these weights.
func (h *Pads) Terms(terms whir.Terms, weights []field.QM31) whir.Terms {
	return &whir.Elements{Terms: terms, Weights: weights, Tree: h.tree, Offset: h.offset}
}
