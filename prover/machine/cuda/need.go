package cuda

import (
	"sort"
	"sync"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// Need is the device memory, in bytes, that a proof takes if all of it is made there. It depends on the plan and on how the
// machine is set alone. Of several steps of a kind it has the most that one of them takes.
type Need struct {
	Fixed   int64 `json:"fixed"`   // weights, which stay
	Witness int64 `json:"witness"` // values of one run, and the keys that it looked up
	Trees   int64 `json:"trees"`   // digests of the commitment to the witness
	Forward int64 `json:"forward"` // what the forward pass takes besides: accumulators
	Tasks   int64 `json:"tasks"`   // the proof of a sub-transcript: look-ups and sums
	Commit  int64 `json:"commit"`
	Open    int64 `json:"open"`
}

// Working is what is needed beside the weights.
func (n *Need) Working() int64 {
	return n.Witness + n.Trees + max(n.Forward, n.Tasks, n.Commit, n.Open)
}

// Peak is the most that is needed at once.
func (n *Need) Peak() int64 { return n.Fixed + n.Working() }

// needs remembers what was estimated for the plan that was asked about last: the same
// questions come before a proof begins and when its chunks are scheduled.
type needs struct {
	mu     sync.Mutex
	plan   *plan.Plan
	wholes map[device.Mode]*Need
	tasks  map[device.Mode]*tasks // by what of the mode forward passes depend on
}

// Need estimates what proofs of a plan need. The result must not be changed.
func (m *Machine) Need(p *plan.Plan) *Need { return m.needIn(p, m.Mode()) }

// needIn is Need in a mode.
func (m *Machine) needIn(p *plan.Plan, how device.Mode) *Need {
	m.needs.mu.Lock()
	defer m.needs.mu.Unlock()
	return m.whole(p, how)
}

// whole returns the estimate for a mode. The mutex is held.
func (m *Machine) whole(p *plan.Plan, how device.Mode) *Need {
	if m.needs.plan != p {
		m.needs.plan, m.needs.wholes, m.needs.tasks = p, map[device.Mode]*Need{}, map[device.Mode]*tasks{}
	}
	n := m.needs.wholes[how]
	if n == nil {
		n = m.estimate(p, how)
		m.needs.wholes[how] = n
	}
	return n
}

// estimate makes the estimate for a mode. The mutex is held.
func (m *Machine) estimate(p *plan.Plan, how device.Mode) *Need {
	n := &Need{Fixed: fixedNeed(p.Graph)}
	d := m.newDry(p.Graph, how)
	defer d.close()
	n.Witness, n.Forward = d.values, d.forward
	switch {
	case d.kept == nil: // they are uploaded
		for i := range p.Graph.Tensors {
			if t := &p.Graph.Tensors[i]; t.Kind != model.Fixed {
				n.Witness += run.TensorNeed(t)
			}
		}
	case how.Values: // of some segments at a time, and what makes them
		n.Witness += d.kept.Recomputed(how.Together())
		n.Forward = max(0, d.values+d.forward-n.Witness)
	}
	t := m.needs.tasks[taskMode(how)]
	if t == nil {
		t = d.tasks(p)
		m.needs.tasks[taskMode(how)] = t
	}
	n.Tasks = t.most
	if p.Params == nil {
		return n
	}
	for i := range p.Trees {
		tree := &p.Trees[i]
		if bytes, err := d.commit(&tree.Commitment); err == nil {
			n.Commit = max(n.Commit, bytes)
		}
		if !tree.Fixed {
			n.Trees += hash.DigestBytes << (tree.LogDomain() + 1)
		}
	}
	if bytes, err := d.open(p, t.claims); err == nil {
		n.Open = bytes
	}
	return n
}

// taskMode is what sub-transcripts depend on of a mode. They take the same however many segments keep their values.
func taskMode(how device.Mode) device.Mode {
	how = how.Forward()
	how.Kept = 0
	return how
}

// Stays is the device memory, in bytes, that a proof takes as long as it lasts, if all
// of it is made there: weights, values and digests.
func (m *Machine) Stays(p *plan.Plan) int64 {
	n := m.Need(p)
	fixed := n.Fixed
	if m.MaxResident > 0 {
		fixed = min(fixed, int64(m.MaxResident))
	}
	return fixed + n.Witness + n.Trees
}

// TaskNeed estimates the device memory, in bytes, that a stream takes at most while it proves a sub-transcript, beside
// what stays: steps over fewer entries than the threshold are the CPU's, as with backend.Fallback. The estimate is off by
// what depends on values alone: keys that fit into fewer bytes than their table's range. Weights for which there is
// no room as a whole take a piece more. The error says that no device could prove it.
func (m *Machine) TaskNeed(p *plan.Plan, f *plan.Fork) (int64, error) {
	m.needs.mu.Lock()
	defer m.needs.mu.Unlock()
	how := m.Mode()
	m.whole(p, how)
	bytes, ok := m.needs.tasks[taskMode(how)].bytes[f]
	if !ok {
		return 0, errNoTask
	}
	if limit := int64(m.MaxResident); limit > 0 && fixedNeed(p.Graph) > limit {
		bytes += int64(m.Piece)
	}
	return bytes, nil
}

// Settle sets the mode that recomputes least, of those in which a proof of the plan takes no more than `all` bytes of the
// device, and no more than `beside` bytes without the weights; 0 stands for no bound. The values of `runs` proofs, at
// least one, are there at a time, or of fewer if they do not fit. It returns what one proof needs.
//
// Where values are recomputed, as many segments keep theirs as leave room for some chunks at once: each saves a part of
// the forward pass for every time that values are wanted.
func (m *Machine) Settle(p *plan.Plan, all, beside int64, runs int) *Need {
	modes := []device.Mode{{}, {Rows: true}, {Keys: true}, {Keys: true, Rows: true}}
	if m.Sharing == 1 { // several GPUs have parts of a run each
		modes = append(modes, device.Mode{Keys: true, Rows: true, Values: true, Ahead: true}, device.Mode{Keys: true, Rows: true, Values: true})
	}
	for i := range modes {
		modes[i].Tables = beside / 2 // the rest is for what they are made of
	}
	if tight := modes[len(modes)-1]; beside > 0 { // and for what stays, such as the trees of many segments of a text
		tight.Tables = beside / 4
		modes = append(modes, tight)
	}
	for ; runs > 0; runs-- {
		for _, how := range modes {
			n := m.needIn(p, how)
			if !n.fits(runs, all, beside) {
				continue
			}
			if how.Values {
				how.Kept = m.mostKept(p, how, runs, all, beside)
				n = m.needIn(p, how)
			}
			return m.settled(n, how, beside)
		}
	}
	how := modes[len(modes)-1]
	return m.settled(m.needIn(p, how), how, beside)
}

// fits says whether a proof beside the values of others, runs in all, takes no more than so many
// bytes, and beside the weights so many; 0 stands for no bound.
func (n *Need) fits(runs int, all, beside int64) bool {
	working := n.Working() + int64(runs-1)*(n.Witness+n.Trees)
	return (all == 0 || n.Fixed+working <= all) && (beside == 0 || working <= beside)
}

// settled notes what Settle has chosen.
func (m *Machine) settled(n *Need, how device.Mode, beside int64) *Need {
	if beside > 0 {
		beside = max(1, beside-n.Witness-n.Trees)
	}
	m.SetMode(how)
	m.SetSpare(beside)
	return n
}

// lanesBesideKept is how many chunks have room at once beside the segments that are kept. More
// would have less of their work to do on the device while others wait for the host, but values to
// be made again.
const lanesBesideKept = 4

// mostKept returns how many segments may keep their values where so many runs fit of which none
// do: with room for some chunks at once, of which the scheduler books four fifths.
func (m *Machine) mostKept(p *plan.Plan, how device.Mode, runs int, all, beside int64) int {
	n := run.NewSegments(p.Graph).N
	return n - sort.Search(n, func(i int) bool {
		how.Kept = n - i
		more := *m.needIn(p, how)
		more.Tasks = max(more.Tasks, int64(min(m.Streams, lanesBesideKept))*more.Tasks/4*5)
		return more.fits(runs, all, beside)
	})
}

// fixedNeed is Need.Fixed.
func fixedNeed(g *model.Graph) int64 {
	var n int64
	for i := range g.Tensors {
		if t := &g.Tensors[i]; t.Kind == model.Fixed {
			n += run.TensorNeed(t)
		}
	}
	return n
}

// Segments returns the segments of a plan's chunks, nil if all values are kept: a chunk is
// proved while the values of its segment are there, as those of so many that follow each other
// may be together.
func (m *Machine) Segments(p *plan.Plan) (of []int, together int) {
	how := m.Mode()
	if !how.Values || !run.InOrder(p.Graph) {
		return nil, 0
	}
	return run.NewSegments(p.Graph).Of, how.Together()
}
