package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/serve/traces"
)

// tries is how often a job is begun before it is given up. A job that has killed so many workers would kill the next one too. The
// number is large because workers may also die for other reasons, again and again. A joint job takes more memory than each of its
// texts; after jointTries it is split into its parts.
const (
	tries      = 20
	jointTries = 3
)

// Prover makes the proof of a job. It calls progress from time to time. Other workers may help by team, unless that is
// nil.
type Prover func(ctx context.Context, j *Job, team *Team, progress func(phase string, done, total int)) ([]byte, error)

// result is what a worker leaves of a job: the digest of its proof, or an error.
type result struct {
	ID     string `json:"id"`
	Worker string `json:"worker"`
	SHA256 string `json:"sha256,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	Error  string `json:"error,omitempty"` // why there is no proof
	Helped int    `json:"helped,omitempty"`
	// Faults lists parts of the proof that other workers sent and that were wrong, each with its worker.
	Faults []string `json:"faults,omitempty"`
}

// Work proves the jobs of the model with a commitment, one at a time, until the context ends; the job that it is at then is given
// to another worker. worker is shared by the calls of Work for several models, so that one of them proves at a time. name is the
// worker's name in records. batch says which jobs are proved together; nil: none.
func (q *Queue) Work(ctx context.Context, commitment, name string, worker *Worker, prove Prover, batch *Batch) error {
	return q.consume(ctx, q.jobs, "jobs", q.workers(commitment), func(c jetstream.Consumer, m jetstream.Msg) error {
		defer worker.begin()()
		if err := ctx.Err(); err != nil {
			return err
		}
		if joined, err := q.join(ctx, c, m, batch); joined || err != nil {
			return err
		}
		return q.work(ctx, m, name, prove)
	})
}

// workers configures the consumer that all workers of a model read from.
func (q *Queue) workers(commitment string) jetstream.ConsumerConfig {
	c := q.reader("prove-" + commitment[:16])
	c.FilterSubject = jobs + commitment
	return c
}

// reader configures a consumer of a stream. All processes that read by it share the messages: each message goes to one
// of them.
func (q *Queue) reader(name string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.wait, MaxAckPending: -1}
}

// consume handles the messages of a stream one at a time. by is the consumer that it reads from. If the handler fails, the message comes
// again after a pause; if the context has ended, at once.
func (q *Queue) consume(
	ctx context.Context, from jetstream.Stream, what string, by jetstream.ConsumerConfig, handle func(c jetstream.Consumer, m jetstream.Msg) error,
) error {
	c, err := from.CreateOrUpdateConsumer(ctx, by)
	if err != nil {
		return unlessEnded(ctx, fmt.Errorf("the queue of %s: %w", what, err))
	}
	messages, err := c.Messages(jetstream.PullMaxMessages(1))
	if err != nil {
		return unlessEnded(ctx, err)
	}
	defer context.AfterFunc(ctx, messages.Stop)()
	for {
		m, err := messages.Next()
		if ctx.Err() != nil {
			if m != nil {
				_ = m.Nak()
			}
			return nil
		}
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return err
		}
		if err != nil { // for example, the server cannot be reached for a while
			continue
		}
		done := q.hold(m)
		err = handle(c, m)
		done()
		switch {
		case err == nil:
			// If the acknowledgement is lost the message comes again, and has no effect then.
			_ = m.DoubleAck(ctx)
		case ctx.Err() != nil:
			_ = m.Nak()
		default:
			pause := q.wait / 10
			if l := (*later)(nil); errors.As(err, &l) {
				pause = l.pause
			}
			_ = m.NakWithDelay(pause)
		}
	}
}

// hold tells the stream that a message is being handled, so that it is not given to others, until done is called.
func (q *Queue) hold(m jetstream.Msg) (done func()) {
	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(q.wait / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = m.InProgress()
			case <-stop:
				return
			}
		}
	}()
	return func() { close(stop) }
}

// due returns the job of a message if it has to be proved, and records that it is begun. It returns nil if nothing is to be done: the
// job was proved, has expired, is part of a joint job, or was begun too often. In the last case it leaves that as the result.
func (q *Queue) due(ctx context.Context, id, worker string) (_ *Job, err error) {
	defer must.Catch(&err)
	r, err := q.Record(ctx, id)
	if errors.Is(err, ErrUnknown) {
		return nil, nil // it has expired
	}
	must.OK(err)
	// A job whose record says that it failed was asked for again: the record may be changed after the message.
	if r.State == Proved {
		return nil, nil
	}
	if r.Joint != nil && r.State != Failed {
		if elsewhere, err := q.isJoined(ctx, r); elsewhere || err != nil {
			return nil, err
		}
	}
	most := tries
	if r.Texts > 0 {
		most = jointTries
	}
	if r.State != Failed && r.Tries >= most {
		return nil, q.leave(ctx, &result{ID: id, Worker: worker, Error: fmt.Sprintf("%d workers have ended over it, or could not leave the result", most)})
	}
	j, err := q.job(ctx, id)
	if errors.Is(err, errNoFile) {
		return nil, q.leave(ctx, &result{ID: id, Worker: worker, Error: "what it is about is no longer kept"})
	}
	must.OK(err)
	return j, q.begin(ctx, id, j, worker)
}

// work proves the job of a message and leaves the result.
func (q *Queue) work(ctx context.Context, m jetstream.Msg, worker string, prove Prover) (err error) {
	defer must.Catch(&err)
	id := string(m.Data())
	j, err := q.due(ctx, id, worker)
	if j == nil || err != nil {
		return err
	}
	team, tell := q.team(j, id), q.teller(j.watched(id))
	ctx, span := traces.Start(traces.Received(ctx, m.Headers()), "prove", traces.Proof.String(id), traces.Model.String(j.Model), traces.Worker.String(worker))
	phase := ""
	with := team
	if j.Joint != nil {
		with = nil
	}
	file, err := prove(ctx, j, with, func(p string, done, total int) {
		if p != phase {
			phase = p
			span.AddEvent(p)
		}
		tell(p, done, total)
	})
	traces.End(span, err)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return q.leave(ctx, &result{ID: id, Worker: worker, Error: err.Error()})
	}
	digest := sha256.Sum256(file)
	out := &result{ID: id, Worker: worker, SHA256: hex.EncodeToString(digest[:]), Bytes: int64(len(file)), Helped: team.helped, Faults: team.faults}
	must.OK(persist(ctx, func() error { return q.files.put(ctx, proofFile(id, out.SHA256), file) }))
	return q.leave(ctx, out)
}

// leave puts a result into the stream of results.
func (q *Queue) leave(ctx context.Context, r *result) (err error) {
	defer must.Catch(&err)
	data := must.Get(json.Marshal(r))
	return persist(ctx, func() error {
		_, err := q.js.PublishMsg(ctx, message(ctx, results+r.ID, data))
		return err
	})
}

// persist calls store until it succeeds or the context ends. A store that is full or cannot be reached may come back, and then the
// proof need not be made again.
func persist(ctx context.Context, store func() error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		if store() == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Verifier returns an error unless a proof is valid and is about a job.
type Verifier func(ctx context.Context, j *Job, proof []byte) error

// faults is how many proofs of a job may be wrong before it is given up. A joint job is split into its parts after jointFaults, so that
// each part can have further faults before it is given up.
const (
	faults      = 5
	jointFaults = 2
)

// Check verifies the results that workers leave and enters them into the records, until the context ends. done is called with the
// record of every job that has ended; if notify is set, Notify gets it too. For a joint job that is proved, done is called with each of
// its parts. For a joint job that has failed, done is called with its own record only, and its parts are proved by themselves.
func (q *Queue) Check(ctx context.Context, verify Verifier, notify bool, done func(r *Record)) error {
	return q.consume(ctx, q.results, "results", q.reader("check"), func(_ jetstream.Consumer, m jetstream.Msg) (err error) {
		defer must.Catch(&err)
		var out result
		if err := json.Unmarshal(m.Data(), &out); err != nil || !IsID(out.ID) {
			return nil // not written by a worker
		}
		r, err := q.check(traces.Received(ctx, m.Headers()), &out, verify)
		if errors.Is(err, ErrUnknown) {
			return nil
		}
		if err != nil || !r.State.Final() {
			return err
		}
		if r.Texts == 0 {
			return q.tell(ctx, r, notify, done)
		}
		each := must.Get(q.settle(ctx, r))
		if r.State == Failed {
			done(r)
		}
		for _, r := range each {
			must.OK(q.tell(ctx, r, notify, done))
		}
		return nil
	})
}

// tell reports that a job has ended.
func (q *Queue) tell(ctx context.Context, r *Record, notify bool, done func(r *Record)) error {
	if notify {
		once := fmt.Sprintf("%s.%d", r.ID, r.Updated.UnixNano()) // a proof that has failed may be asked for again, and fail again
		if _, err := q.js.Publish(ctx, notices+r.ID, []byte(r.ID), jetstream.WithMsgID(once)); err != nil {
			return err
		}
	}
	done(r)
	return nil
}

// verified verifies the proof of a result. It returns the size of the proof, and what is wrong with it, "" if nothing
// is.
func (q *Queue) verified(ctx context.Context, j *Job, out *result, verify Verifier) (size int64, wrong string, err error) {
	if wrong, err := q.wrongPart(ctx, j); wrong != "" || err != nil {
		return 0, wrong, err
	}
	file, err := whole(ctx, q.files, proofFile(out.ID, out.SHA256))
	if errors.Is(err, errNoFile) {
		return 0, "the proof was not left", nil
	}
	if err != nil {
		return 0, "", err
	}
	if digest := sha256.Sum256(file); hex.EncodeToString(digest[:]) != out.SHA256 {
		return 0, "the proof has another digest than was said", nil
	}
	verifying, span := traces.Start(ctx, "verify", traces.Proof.String(out.ID), traces.Model.String(j.Model))
	err = verify(verifying, j, file)
	traces.End(span, err)
	if err == nil || ctx.Err() != nil {
		return int64(len(file)), "", ctx.Err()
	}
	return 0, err.Error(), nil
}

// enter enters a result whose proof was verified, or was found to be wrong. It reports whether the record
// changes, and whether the job has to be proved again.
func (r *Record) enter(out *result, size int64, wrong string) (changed, again bool) {
	if r.State == Proved {
		if r.SHA256 == out.SHA256 {
			return false, false
		}
		wrong = cmp.Or(wrong, "the proof has other bytes than the one before, though it holds: "+out.SHA256)
	}
	if wrong == "" {
		r.State, r.Bytes, r.SHA256, r.Worker, r.Helped, r.Error, r.Joint = Proved, size, out.SHA256, out.Worker, out.Helped, "", nil
		r.Faults = append(r.Faults, out.Faults[:min(len(out.Faults), 2*faults)]...)
		return true, false
	}
	if len(r.Faults) < 2*faults {
		r.Faults = append(r.Faults, out.Worker+": "+wrong)
	}
	switch {
	case r.State == Proved:
	case len(r.Faults) >= faults || r.Texts > 0 && len(r.Faults) >= jointFaults:
		r.State, r.Error = Failed, fmt.Sprintf("%d proofs of it were wrong", len(r.Faults))
	default:
		r.State, again = Queued, true
	}
	return true, again
}

// check verifies a result and enters it into its record.
func (q *Queue) check(ctx context.Context, out *result, verify Verifier) (_ *Record, err error) {
	defer must.Catch(&err)
	r, err := q.Record(ctx, out.ID)
	if err != nil || r.State == Proved && (r.SHA256 == out.SHA256 || r.Joint != nil) || r.State == Failed && out.Error != "" {
		return r, err
	}
	if out.Error != "" {
		return q.change(ctx, out.ID, func(r *Record) bool {
			if r.State.Final() {
				return false
			}
			r.State, r.Error = Failed, out.Error
			return true
		})
	}
	j := must.Get(q.job(ctx, out.ID))
	size, wrong, err := q.verified(ctx, j, out, verify)
	must.OK(err)
	again := false
	r, err = q.change(ctx, out.ID, func(r *Record) bool {
		var changed bool
		changed, again = r.enter(out, size, wrong)
		return changed
	})
	if err == nil && again {
		err = q.publish(ctx, r, "")
	}
	return r, err
}
