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

// Pads is what a hiding proof commits to besides the witness (docs/protocol.md, "Masked sub-transcripts"): the stack of pads. It
// lies in the witness's tree, behind the stacks of chunks and before the mask rows and the auxiliary row.
type Pads struct {
	*pads.Stack
	stack  *model.Stack // of no tensors, with the size alone
	tree   int          // the witness's tree
	offset uint64       // of the stack's first value, as in whir.Term
	joined int          // how many claims and equations are joined that a plain proof does not have
}

// CheapestTails, as the tailLog of NewHiding, asks for the length of tails that costs least.
const CheapestTails = -1

// NewHiding plans hiding proofs. A row has a tail of a 2^tailLog-th of its length. The trees of fixed tensors have rows of the
// given lengths, as in WithRows; if fixed is nil, these are chosen as for plain proofs. Rows of fixed tensors have tails of a
// 2^fixedTailLog-th. If fixedTailLog is 0, they have none, and the fixed tensors are not hidden.
func NewHiding(g *model.Graph, c soundness.Config, tailLog int, fixed []int, fixedTailLog int) (*Plan, error) {
	choice := Choice{BaseRowVars: -1, FixedRowVars: -1}
	if fixed != nil {
		var err error
		if choice, err = withRows(fixed); err != nil {
			return nil, err
		}
	}
	choice.WitnessRowVars, choice.TailLog, choice.FixedTailLog, choice.ApartRowVars = -1, tailLog, fixedTailLog, apartRowVars(g)
	// TailLog bounds the tails of all first trees. Inputs that were committed to have their tails already: none may be longer.
	for _, c := range g.Instance.Committed {
		if choice.TailLog == CheapestTails || choice.TailLog > c.TailLog {
			choice.TailLog = c.TailLog
		}
	}
	return newPlan(g, c, choice)
}

// checkTails returns an error for lengths of tails that no hiding proof has. CheapestTails is accepted as TailLog where the length
// may still be chosen: if no levels are given and the fixed tensors have no tails.
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

// hide plans the commitments and the sub-transcripts of a hiding proof. The number of pads follows from the sub-transcripts, so
// these are planned before the trees. They need to know which blocks a tensor has, so tensors are located first.
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
	number := 0 // the index of the next stack in Plan.places, to which Plan.add will append the stacks in this order
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
	p.Pads = &Pads{joined: 3 + 1} // the claims x*, y* and z*, and the equation of their sumcheck
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

// MaskedEquations returns how many equations in pads a masked sub-transcript leaves.
func (f *Fork) MaskedEquations() int {
	n := len(f.Equations)
	if f.Leaves.Size > 0 {
		// Two at the end of the tree, for the numerators and the denominators, and two at the root:
		// that its numerator is 0, and that d·e = 1 for its denominator d and the inverse e that is sent.
		n += 2 + 2
		if vars := model.Log2Ceil(f.Leaves.Size); vars > 0 {
			n += vars // one for the d that is sent, which must be the root's, and one for each layer below the first
		}
	}
	for _, b := range f.Batches {
		n += 1 + len(b.Checks) // the end of the batch's sumcheck, and its checks
	}
	return n
}

// putMasks adds mask rows and the auxiliary row (docs/protocol.md, "Hiding openings"). 2^shift rows of the tree make a row of the
// table.
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

// setTails sets how long the tails of rows are. Rows of fixed tensors, of committed inputs and mask rows have the longest tails
// that their TailLog allows. The witness's tree is opened in one proof alone, so that rows of its stacks need one element for
// each query.
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
				t.Groups[k].Tail = queries // a stack of the witness's tree
			}
		}
	}
	return nil
}

// rounds returns the challenges of the proof that the z of all triples are products (package pads).
func (h *Pads) rounds() []soundness.Round {
	return []soundness.Round{
		soundness.Point("products of pads", uint64(h.Vars())),
		soundness.Sumcheck("products of pads", h.Vars(), 3),
	}
}

// CombineMasked is Combine for a hiding proof. reads is what the verifier has read of each sub-transcript, and ends are the ends
// of the proof of products. It may be called once.
func (c *Cuts) CombineMasked(reads []pads.Read, ends *pads.Ends, tau []field.QM31, zeta field.QM31) (terms whir.Terms, value field.QM31) {
	p := c.j.p
	terms, _ = c.Combine(tau, zeta)
	value, weights := p.Pads.Join(reads, len(c.j.tails), ends, zeta)
	return p.Pads.Terms(terms, weights), value
}

// Terms returns the given terms followed by one for each element of the stack of pads, with these weights.
func (h *Pads) Terms(terms whir.Terms, weights []field.QM31) whir.Terms {
	return &whir.Elements{Terms: terms, Weights: weights, Tree: h.tree, Offset: h.offset}
}
