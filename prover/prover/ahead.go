package prover

import (
	"slices"
	"sync"

	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// ahead tells the backend that opens to prepare the opening once no more sub-transcripts are
// waiting than are being proved. From then on some workers have nothing else to do.
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
		a.prepare = func(beside int64) { p.Prepare(r.ctx, r.opening(), beside) }
	}
	return a
}

// begins notes that the proof of a sub-transcript begins, perhaps for a second time. The
// preparation has to leave room for as many of the largest sub-transcripts as are being proved.
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
