package cuda

import (
	"sync"

	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// needs remembers what was estimated for the plan that was asked about last: the same
// questions come before a proof begins and when its chunks are scheduled.
type needs struct {
	mu    sync.Mutex
	plan  *plan.Plan
	whole map[device.Mode]*Need
	tasks map[taskKey]int64
}

// taskKey is what TaskNeed depends on beside the machine.
type taskKey struct {
	fork      *plan.Fork
	threshold int
	mode      device.Mode
}

// of makes the memory that of a plan. The mutex is held.
func (n *needs) of(p *plan.Plan) {
	if n.plan != p {
		n.plan, n.whole, n.tasks = p, map[device.Mode]*Need{}, map[taskKey]int64{}
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
func (n *needs) wholeOf(p *plan.Plan, m device.Mode, estimate func() *Need) *Need {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of(p)
	if n.whole[m] == nil {
		n.whole[m] = estimate()
	}
	return n.whole[m]
}
