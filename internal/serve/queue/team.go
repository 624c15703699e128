package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Helper proves parts of a proof that another worker makes of a job. roots are the bytes that the other worker has sent about its
// witness. Helper calls next to get the number of a part to prove; a negative number ends the work. It passes next the bytes of the
// part that was proved last, with its number, and −1 if there is none.
type Helper func(ctx context.Context, j *Job, roots []byte, next func(ctx context.Context, part int, bytes []byte) (int, error)) error

// Subjects of the messages between workers that make one proof. The messages are not stored: if a worker is not heard
// of, the proof is made without it.
const (
	offers = prefix + ".offers." // followed by the commitment
	parts  = prefix + ".parts."  // followed by a random id
)

// offered is how many copies of an offer are sent at a time. Each copy reaches one worker, which may be busy.
const offered = 8

// Headers of a message to the worker that makes the proof.
const (
	headWorker = "Worker"
	headPart   = "Part" // number of the part whose bytes the message has
	headAt     = "At"   // offset of these bytes in the part
	headMore   = "More" // set if more bytes of the part follow
	headGone   = "Gone" // set if the worker proves nothing more of what it was given
)

// offer tells other workers that a proof has parts which they can prove.
type offer struct {
	Job   string `json:"job"`
	Roots []byte `json:"roots"`
	From  string `json:"from"` // process that makes the proof: its other workers do not help, as they use the same machine
	To    string `json:"to"`   // subject on which the worker that makes the proof receives parts
}

// A share says who proves a part of a proof.
type share struct {
	state  shareState
	worker string // the worker that the part was given to
	number int    // the part was the number-th that was given away
}

// shareState says whether a part is proved by nobody yet (isOpen), by this worker (isOwn), by another worker (isGiven),
// or is already there (isThere).
type shareState uint8

const (
	isOpen shareState = iota
	isOwn
	isGiven
	isThere
)

// Team lets idle workers help with a proof whose parts do not depend on each other. It implements prover.Together for the worker
// that makes the proof. Parts that others prove are verified before they are used, and a worker that sends a wrong part gets no
// more. When the worker is done with its own parts, it also proves those that others have not sent yet, until they arrive.
type Team struct {
	q               *Queue
	job, commitment string

	mu     sync.Mutex
	order  []int
	shares []share
	accept func(part int, bytes []byte) error
	barred map[string]bool
	faults []string // wrong parts, for the job's record
	helped int      // number of parts that others have proved
	given  int      // number of parts that were given away, including those that did not come back
	ended  bool
	halves map[string][]byte // used by answer only: the bytes so far of parts that come in several messages, by worker and number
	sub    *nats.Subscription
	stop   chan struct{}
	wait   sync.WaitGroup // for the goroutine that sends offers, and for calls of answer
}

// team makes the Team for the proof of a job.
func (q *Queue) team(j *Job, id string) *Team {
	return &Team{q: q, job: id, commitment: j.Commitment, barred: map[string]bool{}, halves: map[string][]byte{}, stop: make(chan struct{})}
}

// Begin implements prover.Together.
func (t *Team) Begin(roots []byte, order []int, accept func(part int, bytes []byte) error) {
	t.order, t.accept = order, accept
	if len(order) < 2 {
		return
	}
	t.shares = make([]share, slices.Max(order)+1)
	to := parts + nuid.Next()
	sub, err := t.q.nc.Subscribe(to, t.answer)
	if err != nil {
		t.shares = nil // this worker then proves everything itself
		return
	}
	t.sub = sub
	data, _ := json.Marshal(offer{t.job, roots, t.q.process, to})
	t.wait.Go(func() {
		for {
			for range offered {
				_ = t.q.nc.Publish(offers+t.commitment, data) // no error if nobody receives it
			}
			select {
			case <-t.stop:
				return
			case <-time.After(t.q.wait / 60):
			}
			if !t.anyOpen() {
				return
			}
		}
	})
}

// anyOpen says whether a part has not been begun by anybody.
func (t *Team) anyOpen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.order, func(i int) bool { return t.shares[i].state == isOpen })
}

// Claim implements prover.Together.
func (t *Team) Claim(part int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if part >= len(t.shares) {
		return true
	}
	s := &t.shares[part]
	if s.state == isGiven || s.state == isThere {
		return false
	}
	s.state = isOwn
	return true
}

// answer handles the message of another worker: it takes the part that the message has, if any, and answers with the
// number of the next part.
func (t *Team) answer(m *nats.Msg) {
	t.mu.Lock()
	if t.ended {
		t.mu.Unlock()
		return
	}
	t.wait.Add(1)
	t.mu.Unlock()
	defer t.wait.Done()
	worker := m.Header.Get(headWorker)
	if text := m.Header.Get(headPart); text != "" {
		bytes, whole := t.whole(m, worker+" "+text)
		if !whole {
			_ = m.Respond([]byte("-1"))
			return
		}
		if err := t.take(text, bytes); err != nil {
			t.bar(worker, fmt.Errorf("a part of the proof (%s) is wrong: %w", text, err))
		}
	}
	_ = m.Respond([]byte(strconv.Itoa(t.give(worker, m.Header.Get(headGone) != ""))))
}

// longestPart is the greatest size in bytes of a part that is accepted from a worker.
const longestPart = 1 << 28

// whole collects a part that comes in several messages, each of which may come twice. whole is true for the last
// message; bytes is nil then if a message is missing.
func (t *Team) whole(m *nats.Msg, name string) (bytes []byte, whole bool) {
	at, err := strconv.Atoi(m.Header.Get(headAt))
	more, had := m.Header.Get(headMore) != "", t.halves[name]
	switch {
	case err != nil || at > len(had) || at+len(m.Data) > longestPart:
		delete(t.halves, name)
		return nil, !more
	case at == len(had):
		had = append(had, m.Data...)
	}
	if more {
		t.halves[name] = had
	} else {
		delete(t.halves, name)
	}
	return had, !more
}

// take verifies and uses the bytes of a part; nil bytes are a part of which a message was lost.
func (t *Team) take(text string, bytes []byte) error {
	part, err := strconv.Atoi(text)
	if err != nil || part < 0 || part >= len(t.shares) {
		return errors.New("there is no such part")
	}
	if bytes == nil {
		return nil // this worker then proves the part
	}
	if err := t.accept(part, bytes); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shares[part].state != isThere {
		t.shares[part].state = isThere
		t.helped++
	}
	return nil
}

// give returns the number of the next part for a worker, −1 if there is none. gone says that the worker wants no more,
// and will not prove the parts that it was given.
func (t *Team) give(worker string, gone bool) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if gone {
		t.reopen(worker)
	}
	if gone || t.barred[worker] {
		return -1
	}
	for _, i := range t.order {
		if t.shares[i].state == isOpen {
			t.given++
			t.shares[i] = share{isGiven, worker, t.given}
			return i
		}
	}
	return -1
}

// bar excludes a worker because of an error; the parts that it was given are open again.
func (t *Team) bar(worker string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.barred[worker] {
		t.faults = append(t.faults, worker+": "+err.Error())
	}
	t.barred[worker] = true
	t.reopen(worker)
}

// reopen makes all parts that a worker was given open again.
func (t *Team) reopen(worker string) {
	for i := range t.shares {
		if s := &t.shares[i]; s.state == isGiven && s.worker == worker {
			*s = share{}
		}
	}
}

// Left implements prover.Together.
func (t *Team) Left() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []int
	for _, i := range t.order {
		if i < len(t.shares) && (t.shares[i].state == isGiven || t.shares[i].state == isOpen) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return t.shares[b].number - t.shares[a].number })
	return list
}

// End implements prover.Together.
func (t *Team) End() {
	close(t.stop)
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.wait.Wait()
	if t.sub != nil {
		_ = t.sub.Unsubscribe()
	}
}

// Worker does one job at a time, of any model, and helps other workers while it has none.
type Worker struct {
	work    sync.Mutex
	mu      sync.Mutex
	stop    context.CancelFunc // ends its helping; nil if it does not help
	waiting int                // jobs that wait for work; it does not begin to help then
}

// begin waits until the worker has no other job. If it is helping, it stops that.
func (w *Worker) begin() (end func()) {
	w.mu.Lock()
	w.waiting++
	if w.stop != nil {
		w.stop()
	}
	w.mu.Unlock()
	w.work.Lock()
	w.mu.Lock()
	w.waiting--
	w.mu.Unlock()
	return w.work.Unlock
}

// help makes the worker help, by f, if it does nothing else and the context has not ended. It returns at once; helping
// is done when f has run.
func (w *Worker) help(ctx context.Context, helping *sync.WaitGroup, f func(ctx context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil || w.waiting > 0 || !w.work.TryLock() {
		return
	}
	ctx, w.stop = context.WithCancel(ctx)
	helping.Go(func() {
		f(ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stop()
		w.stop = nil
		w.work.Unlock()
	})
}

// Help helps other workers with proofs of the model with a commitment, until the context ends. It does so whenever no job of that model
// waits and the worker is free.
func (q *Queue) Help(ctx context.Context, commitment, name string, worker *Worker, help Helper) error {
	c, err := q.jobs.Consumer(ctx, q.workers(commitment).Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c, err = q.jobs.CreateOrUpdateConsumer(ctx, q.workers(commitment))
	}
	if err != nil {
		return unlessEnded(ctx, fmt.Errorf("the queue of jobs: %w", err))
	}
	var helping sync.WaitGroup
	sub, err := q.nc.QueueSubscribe(offers+commitment, "help", func(m *nats.Msg) {
		var o offer
		if json.Unmarshal(m.Data, &o) != nil || o.From == q.process {
			return
		}
		// If the worker is busy, the offer will come again, to it or another worker.
		worker.help(ctx, &helping, func(ctx context.Context) {
			if info, err := c.Info(ctx); err == nil && info.NumPending == 0 {
				q.help(ctx, commitment, name, &o, help)
			}
		})
	})
	if err != nil {
		return unlessEnded(ctx, err)
	}
	<-ctx.Done()
	_ = sub.Unsubscribe()
	worker.begin()() // waits for the last call of worker.help, after which none begins
	helping.Wait()
	return nil
}

// unlessEnded returns err, or nil if the context has ended: errors are expected then.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// help accepts an offer of another worker and proves parts of its proof.
func (q *Queue) help(ctx context.Context, commitment, worker string, o *offer, help Helper) {
	t := &told{q: q, to: o.To, worker: worker}
	first, err := t.next(ctx, -1, nil)
	if err != nil || first < 0 {
		return
	}
	j, err := q.job(ctx, o.Job)
	if err == nil && j.Commitment == commitment {
		var once sync.Once
		err = help(ctx, j, o.Roots, func(ctx context.Context, part int, bytes []byte) (next int, err error) {
			next = -1
			once.Do(func() { next = first })
			if next >= 0 {
				return next, nil
			}
			return t.next(ctx, part, bytes)
		})
		if err == nil {
			return
		}
	}
	t.gone()
}

// told is, for a worker that helps, the connection to the worker that makes the proof.
type told struct {
	q          *Queue
	to, worker string
}

// attempts is how often a message is sent before the worker gives up.
const attempts = 3

// next sends a part that was proved, unless part is −1, and returns the number of the next part.
func (t *told) next(ctx context.Context, part int, bytes []byte) (int, error) {
	m := nats.NewMsg(t.to)
	m.Header.Set(headWorker, t.worker)
	if part < 0 {
		return t.say(ctx, m)
	}
	m.Header.Set(headPart, strconv.Itoa(part))
	most := int(t.q.nc.MaxPayload()) - 4<<10 // 4 KB are left for headers
	for at := 0; ; at += most {
		m.Header.Set(headAt, strconv.Itoa(at))
		if m.Data = bytes[at:]; len(m.Data) <= most {
			m.Header.Del(headMore)
			return t.say(ctx, m)
		}
		m.Data = m.Data[:most]
		m.Header.Set(headMore, "yes")
		if _, err := t.say(ctx, m); err != nil {
			return -1, err
		}
	}
}

// say sends a message until it is answered, and returns the part that the answer names, −1 for none.
func (t *told) say(ctx context.Context, m *nats.Msg) (part int, err error) {
	var reply *nats.Msg
	for range attempts {
		limited, cancel := context.WithTimeout(ctx, t.q.wait/3)
		reply, err = t.q.nc.RequestMsgWithContext(limited, m)
		cancel()
		if err == nil || errors.Is(err, nats.ErrNoResponders) || ctx.Err() != nil {
			break
		}
	}
	if errors.Is(err, nats.ErrNoResponders) {
		return -1, nil // the proof is made, or its worker has died
	}
	if err != nil {
		return -1, err
	}
	return strconv.Atoi(string(reply.Data))
}

// gone tells the worker that makes the proof that none of the parts which this worker was given will come.
func (t *told) gone() {
	m := nats.NewMsg(t.to)
	m.Header.Set(headWorker, t.worker)
	m.Header.Set(headGone, "yes")
	_ = t.q.nc.PublishMsg(m)
	_ = t.q.nc.FlushTimeout(cmp.Or(t.q.wait/30, time.Second))
}
