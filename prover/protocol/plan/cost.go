package plan

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Limits on what verifying with a key may cost, also if an enemy made the key: about two
// seconds and 300 MB for a key and a proof of a megabyte (docs/security.md, "What a key
// may cost"). Without limits a key of a few hundred bytes could ask for 2^40 evaluations,
// by virtual tensors that each name the one before twice, or for a table of 2^34 entries.
// A transformer of fifty layers costs about a seventh of the limits.
const (
	maxNodes  = 1 << 17 // nodes of all forks
	maxTerms  = 1 << 19 // terms of the nodes that are combinations
	maxBlocks = 1 << 18 // blocks of all stacks and look-ups
	maxOpened = 1 << 18 // blocks of the tensors that claims are on, counted for every claim
	maxPairs  = 1 << 26 // wired pairs of indexes that the evaluations of views go through
	maxWork   = 1 << 26 // in units of about a wired pair, 20 ns on one core
)

// MaxPublic is the limit on the entries of all inputs and outputs of a proof.
const MaxPublic = 1 << 24

// maxDerived is the limit on the entries of all inputs that are computed from the statement and held in memory (model.Graph.Widen). Of
// one list of indexes in a statement there may be many, since texts make one for every length that the list's indexes count.
const maxDerived = 2 * MaxPublic

// The costs of the parts of a verification, planning included, in the units of Plan.Work.
const (
	workFork       = 2000 // a fork of the transcript, its frame, its rounds
	workRound      = 80   // a round of a sumcheck: mostly for the sponge
	workNode       = 64   // a node
	workTerm       = 16   // a term of a combination
	workView       = 300  // a view, besides its wired pairs
	workBlock      = 150  // a block of a look-up tree: its place in the tree, and in its step
	workPieceBit   = 10   // a piece of a table, for each bit of its key
	workFormulaBit = 40   // a tensor by formula, for each bit of its indexes or offset
	workClaimBlock = 110  // a block of a tensor that a claim is on
	workPublic     = 1    // an entry of the statement: read and absorbed, however few bits it has
	publicPerWork  = 8    // entries of a public tensor that are evaluated in one unit of work
)

// cost adds up what verifying costs, until a limit is passed. Sub-transcripts are
// planned in parallel; whether a limit is passed does not depend on their order.
type cost struct {
	nodes, terms, opened, pairs, units atomic.Uint64          // the sums for the limits above; units are those of maxWork
	over                               atomic.Pointer[string] // the error for a limit that was passed, nil if none was
}

// spent adds the cost of one sub-transcript to a cost. It buffers small amounts, because
// writing to the shared sums from several cores, for every node, would take longer than all
// other work.
type spent struct {
	*cost
	nodes, terms, opened, pairs, units uint64 // what is not yet in the sums of the same names
}

// mostWaiting is the amount in one buffer from which on all buffers are flushed.
const mostWaiting = 1 << 12

// add adds n, which is below 2^60, to one of the buffers.
func (s *spent) add(sum *uint64, n uint64) {
	if *sum += n; *sum >= mostWaiting {
		s.flush()
	}
}

// flush adds the buffered amounts to the cost.
func (s *spent) flush() {
	c := s.cost
	c.spend(&c.nodes, s.nodes, maxNodes, "tensors are evaluated too often")
	c.spend(&c.terms, s.terms, maxTerms, "sums of tensors are too long in all")
	c.spend(&c.opened, s.opened, maxOpened, "claims fall into too many blocks")
	c.walk(s.pairs)
	c.work(s.units)
	*s = spent{cost: c}
}

// spend adds n to a sum. If the sum then exceeds its limit, the cost has failed, with the error `what`
// unless it had failed before.
func (c *cost) spend(sum *atomic.Uint64, n, limit uint64, what string) {
	// The sum cannot wrap: n is below 2^60, and after the limit is passed only
	// sub-transcripts that have not seen it yet add to the sum.
	if !c.failed() && sum.Add(n) > limit {
		reason := what // a copy, so that only this rare branch allocates
		c.over.CompareAndSwap(nil, &reason)
	}
}

func (c *cost) failed() bool { return c.over.Load() != nil }

// failure returns an error if a limit was passed.
func (c *cost) failure() error {
	if what := c.over.Load(); what != nil {
		return errors.New(*what)
	}
	return nil
}

// work adds n units of work.
func (c *cost) work(n uint64) { c.spend(&c.units, n, maxWork, "verifying takes too much work") }

// walk adds a walk over wired pairs to the sum of pairs, but not its work.
func (c *cost) walk(pairs uint64) { c.spend(&c.pairs, pairs, maxPairs, "views are too large in all") }

func (s *spent) work(n uint64) { s.add(&s.units, n) }

// node adds a node and, if it is a combination, its terms.
func (s *spent) node(n *Node) {
	s.add(&s.nodes, 1)
	s.work(workNode)
	if n.Kind == Combination {
		s.add(&s.terms, uint64(len(n.Terms)))
		s.work(workTerm * uint64(len(n.Terms)))
	}
}

// public adds the cost of evaluating a public tensor.
func (s *spent) public(shape []int) { s.work(uint64(model.Size(shape)) / publicPerWork) }

// walk adds a walk over wired pairs, with its work.
func (s *spent) walk(pairs uint64) {
	s.add(&s.pairs, pairs)
	s.work(pairs)
}

// wiring adds the cost of evaluating a view.
func (s *spent) wiring(w *Wiring) {
	s.work(workView)
	s.walk(w.SinglePairs + w.SummedPairs)
	if w.Fill != 0 {
		s.walk(w.SinglePairs + w.SummedPairs) // for the view of ones
	}
	for _, g := range w.Summed {
		// The eq at a point of the source's axes is made as two tables, each for half of the
		// variables, and so is that at a point of the output's.
		s.work(2<<(model.Vars(Pick(w.In, g.In))/2) + 2<<(model.Vars(Pick(w.Out, g.Out))/2))
	}
}

// claim adds a claim on a committed tensor.
func (s *spent) claim(p *Plan, id model.TensorID) {
	s.opens(uint64(len(p.located[id].blocks)))
}

// opens adds the cost of n blocks of a committed tensor in a claim.
func (s *spent) opens(n uint64) {
	s.add(&s.opened, n)
	s.work(n * workClaimBlock)
}

// CheckSizes returns an error for graphs that are too large to be planned. It is called
// before anything is planned or read from a proof.
func CheckSizes(g *model.Graph) error {
	var public uint64
	for _, ids := range [][]model.TensorID{g.Given(), g.Outputs} {
		for _, id := range ids {
			if public += uint64(model.Size(g.Tensors[id].Shape)); public > MaxPublic {
				return fmt.Errorf("inputs and outputs of more than %d entries", MaxPublic)
			}
		}
	}
	var derived uint64
	for _, id := range g.Inputs {
		if t := &g.Tensors[id]; t.Derived != nil && t.Derived.Kind != model.Marks {
			if derived += uint64(model.Size(t.Shape)); derived > maxDerived {
				return fmt.Errorf("more than %d entries that follow from inputs and outputs", maxDerived)
			}
		}
	}
	blocks := 0
	for i := range g.Steps {
		if s := &g.Steps[i]; s.Kind == model.StepLookup {
			if blocks += model.Blocks(s.Shape); blocks > maxBlocks {
				return errors.New("look-ups fall into too many blocks")
			}
		}
	}
	for i := range g.Tensors {
		t := &g.Tensors[i]
		if t.Kind == model.Fixed || t.Kind == model.Witness {
			if blocks += model.Blocks(t.Shape); blocks > maxBlocks {
				return errors.New("committed tensors fall into too many blocks")
			}
		}
	}
	return nil
}
