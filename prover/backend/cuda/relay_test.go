package cuda

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/sumcheck"
	"github.com/prove-model/prove-model/prover/transcript"
)

// heldBack is a device on which launches wait in a queue behind a wait for a reply, as they do on
// a GPU, though the device beneath does everything at once.
type heldBack struct {
	kernels.Device
	waiting bool
	queue   []func() error
}

func (h *heldBack) Launch(k kernels.Kernel, l kernels.Launch, args ...uint64) error {
	if h.waiting {
		h.queue = append(h.queue, func() error { return h.Device.Launch(k, l, args...) })
		return nil
	}
	return h.Device.Launch(k, l, args...)
}

// release does what is in the queue.
func (h *heldBack) release() error {
	queue := h.queue
	h.waiting, h.queue = false, nil
	for _, launch := range queue {
		if err := launch(); err != nil {
			return err
		}
	}
	return nil
}

// heldRelay is a kernels.Relay on such a device. Some of its replies come when the wait for them
// is over.
type heldRelay struct {
	h                     *heldBack
	words                 int
	box, sums             kernels.Ptr
	reply, given, lateAt  kernels.Ptr
	posts                 uint64
	waits                 uint64
	post                  map[kernels.Post]uint64
	wait                  map[kernels.Given]uint64
	late                  func() bool // whether the next reply is
	inTime, tooLate, ends int
}

func newHeldRelay(h *heldBack, words int, late func() bool) *heldRelay {
	r := &heldRelay{h: h, words: words, late: late, post: map[kernels.Post]uint64{}, wait: map[kernels.Given]uint64{}}
	r.box, r.sums = newWords(h, words), newWords(h, words+1)
	r.reply = newWords(h, 2*kernels.GivenWords+1)
	r.given = kernels.At[uint64](r.reply, kernels.GivenWords)
	r.lateAt = kernels.At[uint64](r.given, kernels.GivenWords)
	return r
}

func (r *heldRelay) Words() int { return r.words }

func (r *heldRelay) Post() kernels.Post {
	r.posts++
	p := kernels.NewPost(r.sums, r.box, r.posts, kernels.At[uint64](r.sums, r.words))
	r.post[p] = r.posts
	return p
}

func (r *heldRelay) Wait(dst []uint64) error {
	p := kernels.NewPost(r.sums, r.box, r.posts, kernels.At[uint64](r.sums, r.words))
	return r.WaitFor(p, kernels.Given{}, dst)
}

func (r *heldRelay) WaitFor(p kernels.Post, g kernels.Given, dst []uint64) error {
	all := fetch[uint64](r.h, r.box, 1+len(dst))
	wait := r.wait[g]
	switch {
	case all[0] == r.post[p]:
		if wait != 0 {
			r.inTime++
		}
		copy(dst, all[1:])
		return nil
	case wait != 0 && fetch[uint64](r.h, r.lateAt, 1)[0] >= wait:
		r.tooLate++
		return kernels.ErrLate
	}
	return errors.New("the launch left nothing")
}

func (r *heldRelay) Close() error {
	for _, p := range []kernels.Ptr{r.box, r.sums, r.reply} {
		r.h.Free(p)
	}
	return nil
}

func (r *heldRelay) Ready() bool { return true }

func (r *heldRelay) Await() (kernels.Given, error) {
	r.waits++
	limit := time.Second
	if r.late() {
		limit = 3 // looks: the wait is over before there is a reply
	} else {
		r.h.waiting = true
	}
	g, err := kernels.AwaitReply(r.h, r.given, r.reply, r.lateAt, r.waits, limit)
	r.wait[g] = r.waits
	return g, err
}

func (r *heldRelay) Reply(x, y field.QM31) { r.end(x, y) }

func (r *heldRelay) Cancel() {
	r.ends++
	r.waits++
	r.end(field.One, field.One)
}

func (r *heldRelay) end(x, y field.QM31) {
	check(kernels.UploadSlice(r.h, r.reply, kernels.NewReply(r.waits, x, y)))
	check(r.h.release())
}

// TestRelay compares proofs in which launches wait for their challenges on the device with those
// in memory: where all replies come in time, some too late, or all.
func TestRelay(t *testing.T) {
	h := &heldBack{Device: newDevice(t)}
	type shape struct{ vars, eq int }
	for _, shapes := range [][]shape{{{12, 0}}, {{11, 4}}, {{12, 0}, {12, 5}, {7, 0}, {3, 3}}} {
		for _, every := range []int{0, 3, 1} {
			for _, tail := range []int{-1, 4, 6} {
				setTail(t, tail)
				rng := rand.New(rand.NewPCG(uint64(len(shapes)), uint64(tail+9)))
				waits := 0
				r := newHeldRelay(h, 1<<11, func() bool { waits++; return every > 0 && waits%every == 0 })
				insts, device := make([]sumcheck.Instance, len(shapes)), make([]sumcheckInstance, len(shapes))
				shapesOf := make([]sumcheck.Shape, len(shapes))
				for i, s := range shapes {
					a, b, eq := randomVec(rng, 1<<s.vars), randomVec(rng, 1<<s.vars), randomVec(rng, s.eq)
					device[i] = sumcheckInstance{a: newCopy(h, a), b: newCopy(h, b), vars: s.vars, eq: eq}
					insts[i] = sumcheck.Instance{Eq: eq, A: a, B: b}
					shapesOf[i] = sumcheck.Shape{NumVars: s.vars, Eq: eq}
				}
				var proofs [2][]byte
				for i, tables := range []sumcheck.Tables{sumcheck.NewTables(insts), newBatch(newScope(h), r, device)} {
					w := transcript.NewWriter(transcript.New(""))
					if _, err := sumcheck.Prove(context.Background(), w, shapesOf, tables); err != nil {
						t.Fatal(err)
					}
					tables.Close()
					proofs[i] = w.Bytes()
				}
				if !bytes.Equal(proofs[0], proofs[1]) {
					t.Errorf("%v, tail from %d variables, every reply of %d late: the proofs differ", shapes, tail, every)
				}
				if every == 1 && (r.inTime > 0 || r.tooLate == 0) || every == 0 && (r.inTime == 0 || r.tooLate > 0) {
					t.Errorf("%v, every reply of %d late: %d in time, %d not", shapes, every, r.inTime, r.tooLate)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestRelayEnds: tables that are closed in the middle leave nothing behind that waits, or that
// has changed the sums' memory.
func TestRelayEnds(t *testing.T) {
	h := &heldBack{Device: newDevice(t)}
	r := newHeldRelay(h, 1<<11, func() bool { return false })
	rng := rand.New(rand.NewPCG(5, 6))
	values := randomVec(rng, 1<<12)
	b := newBatch(newScope(h), r, []sumcheckInstance{{a: newCopy(h, values), b: newCopy(h, values), vars: 12}})
	if _, err := b.Round(context.Background(), 0, field.Zero); err != nil {
		t.Fatal(err)
	}
	if !h.waiting || len(h.queue) != 2 {
		t.Fatalf("%d launches wait: %v", len(h.queue), h.waiting)
	}
	b.Close()
	if h.waiting || len(h.queue) > 0 || r.ends != 1 {
		t.Errorf("%d launches wait: %v", len(h.queue), h.waiting)
	}
	for i, w := range fetch[uint64](h, r.sums, r.words+1) {
		if w != 0 {
			t.Fatalf("word %d of the sums is %d", i, w)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
