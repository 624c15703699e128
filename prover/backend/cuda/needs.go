package cuda

import (
	"sync"

	"github.com/prove-model/prove-model/prover/plan"
)

// needs remembers what was estimated for the plan that was asked about last: the same
// questions come before a proof begins and when its chunks are scheduled.
type needs struct {
	mu    sync.Mutex
	drops bool // keys of look-ups are not kept (Machine.KeepKeys)
	plan  *plan.Plan
	whole map[bool]*Need // by whether keys are kept
	tasks map[taskKey]int64
}

// taskKey is what TaskNeed depends on beside the machine.
type taskKey struct {
	fork      *plan.Fork
	threshold int
	keysKept  bool
}

// keysKept says whether keys are kept, from now on.
func (n *needs) keysKept(keep bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drops = !keep
}

// of makes the memory that of a plan. The mutex is held.
func (n *needs) of(p *plan.Plan) {
	if n.plan != p {
		n.plan, n.whole, n.tasks = p, map[bool]*Need{}, map[taskKey]int64{}
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

// wholeOf returns what estimate returns for a plan, with keys that are kept or without, or what
// it did before. Without a choice it is the machine's.
func (n *needs) wholeOf(p *plan.Plan, keysKept *bool, estimate func(keysKept bool) *Need) *Need {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of(p)
	kept := !n.drops
	if keysKept != nil {
		kept = *keysKept
	}
	if n.whole[kept] == nil {
		n.whole[kept] = estimate(kept)
	}
	return n.whole[kept]
}
