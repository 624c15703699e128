package prover

import (
	"slices"
	"sync"

	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// ahead makes the backend prepare the opening while the last sub-transcripts are being proved: as soon as no more of them
// are waiting than are being proved. From then on some workers will soon have nothing else to do.
type ahead struct {
	mu      sync.Mutex
	needs   []int64            // by sub-transcript that is to be proved, the most bytes of a GPU that it takes
	begun   int                // how many times the proof of a sub-transcript has begun
	running int                // how many are being proved
	prepare func(beside int64) // prepares the opening and leaves beside bytes free; nil once it has been called
}

// ahead returns an ahead for the run. Its prepare is nil if the backend cannot prepare an opening or there is none.
func (r *run) ahead() *ahead {
	a := &ahead{}
	if p, ok := r.backend.(backend.Preparer); ok && r.plan.Params != nil {
		a.prepare = func(beside int64) { p.Prepare(r.ctx, r.opening(), beside) }
	}
	return a
}

// begins notes that the proof of a sub-transcript begins, perhaps for a second time. The preparation must leave memory
// for the sub-transcripts that run beside it. It leaves as much as the largest sub-transcripts need, as many as are running.
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

// ends notes that the proof of a sub-transcript has ended.
func (a *ahead) ends() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
}
