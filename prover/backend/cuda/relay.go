package cuda

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/field"
)

// relay enqueues passes whose challenges are not known yet, one ahead of the pass in hand.
type relay struct {
	box   kernels.Relay
	ahead *enqueued // nil if there is none
}

// enqueued is a launch in the queue.
type enqueued struct {
	post  kernels.Post
	given kernels.Given
}

// relays says whether launches are enqueued before their challenges are known at all.
const relays = true

// newRelay returns nil where the mailbox has none.
func newRelay(box kernels.Mailbox) *relay {
	if r, ok := box.(kernels.Relay); ok && relays && r.Ready() {
		return &relay{box: r}
	}
	return nil
}

// enqueue enqueues a launch that waits for its challenges.
func (r *relay) enqueue(launch func(kernels.Given, kernels.Post) error) {
	given, err := r.box.Await()
	check(err)
	r.ahead = &enqueued{r.box.Post(), given}
	check(launch(given, r.ahead.post))
}

// read gives the challenges to the launch that is enqueued, or launches one if none is, calls
// next, and waits for the words that the launch leaves. After kernels.ErrLate the relay is closed.
func (r *relay) read(dst []uint64, pending []field.QM31, launch func(kernels.Post) error, next func()) error {
	var now enqueued
	if r.ahead != nil {
		now, r.ahead = *r.ahead, nil
		r.box.Reply(pending[0], pending[1])
	} else {
		now.post = r.box.Post()
		if err := launch(now.post); err != nil {
			return err
		}
	}
	next()
	return r.box.WaitFor(now.post, now.given, dst)
}

// close has what is enqueued do nothing.
func (r *relay) close() {
	if r.ahead != nil {
		r.box.Cancel()
		r.ahead = nil
	}
}
