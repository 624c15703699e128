package prover

import (
	"slices"
	"sync"

	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// ahead has the backend that opens prepare for that once as few forks have yet to begin as are being
// proved: while the last ones are, there are lanes with nothing to do.
type ahead struct {
	mu      sync.Mutex
	needs   []int64 // bytes that the forks take at most
	begun   int
	running int
	prepare func(beside int64) // nil once it has been called
}

func (r *run) ahead() *ahead {
	a := &ahead{}
	if p, ok := r.backend.(backend.Preparer); ok && r.plan.Params != nil {
		a.prepare = func(beside int64) { p.Prepare(r.ctx, r.plan.Opening(), beside) }
	}
	return a
}

// begins notes that a fork begins, again maybe. What may be taken beside the opening is what the
// largest forks take, as many as are being proved.
func (a *ahead) begins() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun++
	a.running++
	if a.prepare == nil || len(a.needs)-a.begun > a.running {
		return
	}
	slices.Sort(a.needs)
	beside := int64(0)
	for _, n := range a.needs[max(0, len(a.needs)-a.running):] {
		beside += n
	}
	a.prepare(beside)
	a.prepare = nil
}

func (a *ahead) ends() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
}
