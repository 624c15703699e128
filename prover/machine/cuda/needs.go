package cuda

import (
	"sync"

	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// needs remembers what was estimated for the plan that was asked about last: the same
// questions come before a proof begins and when its chunks are scheduled.
type needs struct {
	mu    sync.Mutex
	mode  mode
	plan  *plan.Plan
	whole map[mode]*Need
	tasks map[taskKey]int64
}

// taskKey is what TaskNeed depends on beside the machine.
type taskKey struct {
	fork      *plan.Fork
	threshold int
	mode      mode
}

// mode is what is made again where room is short: keys of look-ups that are dropped
// (Machine.KeepKeys), rows that openings pack in pieces (Machine.PackInPieces), and values by
// stretches (Machine.KeepValues), with which goes that keys are dropped; of these one at a
// time, or the next one too while chunks are proved (Machine.MakeAhead). Of the first kept
// stretches values are not made again (Machine.KeepStretches). Tables of an opening take so many
// bytes at most, as far as fewer of them can do; 0 stands for no bound.
type mode struct {
	drops, pieces, stretches, ahead bool
	kept                            int
	tables                          int64
}

// mode returns what is chosen now.
func (m *Machine) mode() mode {
	m.needs.mu.Lock()
	defer m.needs.mu.Unlock()
	return m.needs.mode
}

// MadeAgain lists what proofs do not keep on the device as it is now (Settle): rows of the
// opening ("rows"), keys of look-ups ("keys"), values ("values"). Nil if everything is kept.
func (m *Machine) MadeAgain() []string {
	var all []string
	how := m.mode()
	for _, x := range []struct {
		is   bool
		what string
	}{{how.pieces, "rows"}, {how.forward().drops, "keys"}, {how.stretches, "values"}} {
		if x.is {
			all = append(all, x.what)
		}
	}
	return all
}

func (m *Machine) setMode(set func(*mode)) {
	m.needs.mu.Lock()
	defer m.needs.mu.Unlock()
	set(&m.needs.mode)
}

// of makes the memory that of a plan. The mutex is held.
func (n *needs) of(p *plan.Plan) {
	if n.plan != p {
		n.plan, n.whole, n.tasks = p, map[mode]*Need{}, map[taskKey]int64{}
	}
}

func (n *needs) task(p *plan.Plan, key taskKey) (bytes int64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of(p)
	bytes, ok = n.tasks[key]
	return bytes, ok
}

func (n *needs) setTask(p *plan.Plan, key taskKey, bytes int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of(p)
	n.tasks[key] = bytes
}

// wholeOf returns what estimate returns for a plan and a mode, or what it did before.
func (n *needs) wholeOf(p *plan.Plan, m mode, estimate func() *Need) *Need {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of(p)
	if n.whole[m] == nil {
		n.whole[m] = estimate()
	}
	return n.whole[m]
}
