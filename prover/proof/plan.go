package proof

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// known caches what has been derived from a key: the circuit of the last instance
// that somebody asked for, which is valid, and the prover's plan for that circuit.
type known struct {
	mu    sync.Mutex
	graph *model.Graph // of the last instance, or nil
	plan  *plan.Plan   // the plan of graph, or nil
	spare bool         // graph has not been returned to anybody, so its memory may be reused for another instance
	// checked says that decoding found nothing wrong with the key, so that Key.check need not run again.
	checked bool
}

// checkOnce runs check unless that was done when the key was decoded. The key must not have been changed since.
func (k *Key) checkOnce() error {
	if k.known != nil && k.known.checked {
		return nil
	}
	return k.check()
}

// at returns the circuit of an instance, laid out and validated. It returns the cached one if that is of the same instance, and
// caches the one that it builds.
func (k *Key) at(in model.Instance) (*model.Graph, error) {
	if in.Hides() && k.Text() != nil {
		return nil, fmt.Errorf("%w: inputs and outputs of language models are tokens and logits, which proofs state", model.ErrHide)
	}
	if k.known == nil {
		return k.Circuit.At(in)
	}
	k.known.mu.Lock()
	defer k.known.mu.Unlock()
	if g := k.known.graph; g != nil && g.Instance.Equal(&in) {
		k.known.spare = false
		return g, nil
	}
	var old *model.Graph
	if k.known.spare {
		old, k.known.graph, k.known.spare = k.known.graph, nil, false
	}
	g, err := k.Circuit.AtIn(old, in)
	if err == nil {
		k.known.graph, k.known.plan = g, nil
	}
	return g, err
}

// Plan returns the plan of a prover for proofs of an instance of the key's circuit. The last plan is
// cached, so that asking again for the same instance costs nothing. The key must not have been changed
// since it was encoded or decoded. Proofs are masked if the key's tree has tails or if the instance
// hides inputs or outputs. The error says why there can be no proof, or none that reaches the key's
// security.
func (k *Key) Plan(in model.Instance) (*plan.Plan, error) {
	if err := k.checkOnce(); err != nil {
		return nil, err
	}
	if in.Segment != nil {
		if err := k.checkSegments(); err != nil {
			return nil, err
		}
	}
	g, err := k.at(in)
	if err != nil {
		return nil, err
	}
	if p := k.planned(g); p != nil {
		return p, nil
	}
	var p *plan.Plan
	switch {
	case k.Hides():
		p, err = plan.NewHiding(g, k.Security.Config(), k.Tails(), k.fixedRows(), k.Tails())
	case in.Hides():
		p, err = plan.NewHiding(g, k.Security.Config(), plan.CheapestTails, k.fixedRows(), 0)
	default:
		p, err = plan.WithRows(g, k.Security.Config(), k.fixedRows()...)
	}
	if err == nil && k.known != nil {
		k.known.mu.Lock()
		if k.known.graph == g {
			k.known.plan = p
		}
		k.known.mu.Unlock()
	}
	return p, err
}

// fixedRows returns log2 of the row length of every tree of fixed tensors, in order.
func (k *Key) fixedRows() []int {
	var rows []int
	for i := range k.Trees {
		rows = append(rows, k.Trees[i].RowVars)
	}
	return rows
}

// HidingPlan is Plan for a masked proof whose witness rows have tails of at most a 2^tailLog-th of their length. For a key
// whose tree has tails, Plan returns such a plan anyway, with the key's tailLog.
func (k *Key) HidingPlan(in model.Instance, tailLog int) (*plan.Plan, error) {
	if err := k.checkOnce(); err != nil {
		return nil, err
	}
	g, err := k.at(in)
	if err != nil {
		return nil, err
	}
	return plan.NewHiding(g, k.Security.Config(), tailLog, k.fixedRows(), k.Tails())
}

// planned returns the cached plan if it is for the circuit g, otherwise nil.
func (k *Key) planned(g *model.Graph) *plan.Plan {
	if k.known == nil {
		return nil
	}
	k.known.mu.Lock()
	defer k.known.mu.Unlock()
	if k.known.graph != g {
		return nil
	}
	return k.known.plan
}

// GraphOf returns the circuit that a proof with this header is of. The header is the prover's choice, so GraphOf refuses one for
// another key or hash suite; one that hides values in a plain proof, whose messages would show them; one whose trees do not go with
// the rest of it (Header.checkTrees); and one of a segment if the key is not for texts in segments.
func (k *Key) GraphOf(h *Header) (*model.Graph, error) {
	if err := k.checkOnce(); err != nil {
		return nil, err
	}
	if h.Key != k.Digest {
		return nil, errors.New("the header is that of a proof for another key")
	}
	if h.Hash != k.Security.Hash {
		return nil, fmt.Errorf("the proof says that it is hashed with %s, and its key asks for %s", h.Hash, k.Security.Hash)
	}
	if in := h.Instance(); in.Hides() && h.TailLog == 0 {
		return nil, errors.New("the proof hides inputs or outputs and is not masked, so that it says what they are")
	}
	if err := h.checkTrees(); err != nil {
		return nil, err
	}
	if h.Segment != nil {
		if err := k.checkSegments(); err != nil {
			return nil, err
		}
	}
	return k.at(h.Instance())
}

// checkSegments returns an error unless proofs for the key may be of segments of a text: the model is one that writes, without
// encoder; its two free dimensions are the length of the text and the number of positions of logits; and its weights are public.
func (k *Key) checkSegments() error {
	t, g := k.Text(), k.Circuit.Graph
	if t == nil || !t.Generates || len(t.Start) > 0 || len(k.Circuit.Free) != 2 || len(g.Inputs) != 2 || !slices.Equal(g.Tensors[g.Inputs[1]].Scales, []model.Scale{2}) {
		return fmt.Errorf("%w: its key is not for texts of any length that a model goes on with, at any number of positions", model.ErrSegment)
	}
	if k.Hides() {
		return fmt.Errorf("%w: its key hides weights, and the keys and values of a segment are committed in the open", model.ErrSegment)
	}
	return nil
}

// ChoiceOf returns the parameters of the commitments and of the opening of a proof with this header: those of the trees of fixed
// tensors from the key, all others from the header.
func (k *Key) ChoiceOf(h *Header) plan.Choice {
	c := plan.Choice{WitnessRowVars: h.RowVars, Levels: h.Levels, TailLog: h.TailLog}
	for i := range h.Trees {
		c.ApartRowVars = append(c.ApartRowVars, h.Trees[i].RowVars)
	}
	switch rows := k.fixedRows(); len(rows) {
	case 2:
		c.BaseRowVars, c.FixedRowVars = rows[0], rows[1]
	case 1:
		c.FixedRowVars, c.FixedTailLog = rows[0], k.Trees[0].TailLog
	}
	return c
}

// PlanOf returns the plan of a proof for the key with this header. The cached plan serves if its parameters are exactly the
// header's; otherwise one is made with the header's, and refused if they do not reach the key's security. The error says why no
// proof with this header can be valid.
func (k *Key) PlanOf(h *Header) (*plan.Plan, error) {
	g, err := k.GraphOf(h)
	if err != nil {
		return nil, err
	}
	choice := k.ChoiceOf(h)
	p := k.planned(g)
	if p == nil || !p.Choice.Equal(&choice) {
		if p, err = plan.WithChoice(g, k.Security.Config(), choice); err != nil {
			return nil, err
		}
	}
	return p, h.checkPlan(p)
}
