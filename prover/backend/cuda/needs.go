package cuda

import (
	"sync"

	"github.com/prove-model/prove-model/prover/plan"
)

// needs remembers what was estimated for the plan that was asked about last: the same
// questions come before a proof begins and when its chunks are scheduled.
type needs struct {
	mu    sync.Mutex
	plan  *plan.Plan
	whole *Need
	tasks map[taskKey]int64
}

// taskKey is what TaskNeed depends on beside the machine.
type taskKey struct {
	fork      *plan.Fork
	threshold int
}

// of makes the memory that of a plan. The mutex is held.
func (n *needs) of(p *plan.Plan) {
	if n.plan != p {
		n.plan, n.whole, n.tasks = p, nil, map[taskKey]int64{}
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

// wholeOf returns what make returns, or what it did for the same plan.
func (n *needs) wholeOf(p *plan.Plan, make func() *Need) *Need {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of(p)
	if n.whole == nil {
		n.whole = make()
	}
	return n.whole
}
