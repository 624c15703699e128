package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// Batch says which jobs a worker proves together.
type Batch struct {
	// Most is the greatest number of texts of one proof. If it is less than 2, each job is proved by itself.
	Most int
	// Fits says whether there is enough memory to prove a joint job.
	Fits func(j *Job) bool
}

// headClass is the header of a job's message that holds the job's class.
const headClass = "Class"

// shortText is the number of tokens up to which texts are treated as equally long.
const shortText = 32

// class returns a digest that is equal for jobs that may be proved together; "" for a job that must be proved by itself. Such jobs
// have the same rule of drawing, since a verifier checks all texts of a proof against one rule; the same owner, unless texts are
// shared with everybody; and similar lengths. Texts are padded to the longest of them, so their numbers of tokens, rounded up to
// powers of two, must be equal: the longest then has less than twice as many tokens as the shortest.
func (j *Job) class() string {
	if j.Text == nil || j.Shared == "" {
		return ""
	}
	alike := struct {
		Shared, Owner string
		Sampling      *provemodel.Sampling
		Logits        bool
		Length        int
	}{j.Shared, j.Owner, j.Text.Sampling, j.Text.Logits, bits.Len(uint(max(len(j.Text.Prompt)+len(j.Text.Tokens), shortText) - 1))}
	if j.Shared == receipt.SharedAll {
		alike.Owner = ""
	}
	data, err := json.Marshal(alike)
	if err != nil {
		return ""
	}
	d := sha256.Sum256(data)
	return hex.EncodeToString(d[:])
}

// watched returns the ids of the proofs whose watchers are told the progress of a job's proof: those of its parts if it
// is a joint job.
func (j *Job) watched(id string) []string {
	if j.Joint == nil {
		return []string{id}
	}
	return seq.Map(j.Joint, func(p Part) string { return p.Job })
}

// taken is a message that was taken from the queue, with its job.
type taken struct {
	m   jetstream.Msg
	id  string
	job *Job
}

// join makes a joint job of a message's job and of others of its class that wait in the queue; it does not wait for more to come. The
// joint job is put at the end of the queue, in place of the others. Its texts and their order are fixed from then on, so whoever proves
// it makes the same bytes. Every step can be repeated, by this worker or by another one that gets the messages if this worker dies.
func (q *Queue) join(ctx context.Context, c jetstream.Consumer, m jetstream.Msg, batch *Batch) (joined bool, err error) {
	if batch == nil || batch.Most < 2 || m.Headers().Get(headClass) == "" {
		return false, nil
	}
	first, err := q.joinable(ctx, m)
	if first == nil || err != nil {
		return false, err
	}
	list := append([]*taken{first}, q.alike(ctx, c, first, batch.Most)...)
	for len(list) > 1 && !batch.Fits(jointOf(list)) {
		giveBack(list[len(list)/2:]) // at least one of them
		list = list[:len(list)/2]
	}
	if len(list) < 2 {
		return false, nil
	}
	in, err := q.enterJoint(ctx, list)
	if err != nil {
		giveBack(list[1:])
		return false, err
	}
	for i, t := range list[1:] {
		if in[i+1] {
			_ = t.m.DoubleAck(ctx) // if it is lost the message comes again, and has no effect then
		} else {
			_ = t.m.Nak()
		}
	}
	return in[0], nil
}

// giveBack returns messages to the queue.
func giveBack(list []*taken) {
	for _, t := range list {
		_ = t.m.Nak()
	}
}

// joinable returns the job of a message if it can become a part of a joint job, else nil.
func (q *Queue) joinable(ctx context.Context, m jetstream.Msg) (*taken, error) {
	t := &taken{m: m, id: string(m.Data())}
	r, err := q.Record(ctx, t.id)
	if errors.Is(err, ErrUnknown) {
		return nil, nil
	}
	if err != nil || !r.joins() {
		return nil, err
	}
	t.job, err = q.job(ctx, t.id)
	if errors.Is(err, errNoFile) {
		return nil, nil
	}
	if err != nil || t.job.class() != m.Headers().Get(headClass) {
		return nil, err
	}
	return t, nil
}

// joins says whether a job can become a part of a joint job. One that a worker has begun is proved by itself: it may be
// what killed that worker.
func (r *Record) joins() bool {
	return r.State == Queued && r.Tries == 0 && r.Joint == nil && r.Parted == ""
}

// alike takes from the queue the jobs that wait there and may be proved together with first; the result has at most
// most - 1 of them.
func (q *Queue) alike(ctx context.Context, c jetstream.Consumer, first *taken, most int) (list []*taken) {
	found, err := c.FetchNoWait(most - 1)
	if err != nil {
		return nil // first is then proved by itself
	}
	for m := range found.Messages() {
		t := (*taken)(nil)
		if m.Headers().Get(headClass) == first.job.class() {
			t, _ = q.joinable(ctx, m)
		}
		if t == nil || t.id == first.id || slices.ContainsFunc(list, func(o *taken) bool { return o.id == t.id }) {
			_ = m.Nak()
			continue
		}
		list = append(list, t)
	}
	return list
}

// jointOf returns the joint job that stands for several jobs.
func jointOf(list []*taken) *Job {
	first := list[0].job
	j := &Job{Model: first.Model, Commitment: first.Commitment, Shared: first.Shared}
	if first.Shared == receipt.SharedKey {
		j.Owner = first.Owner
	}
	for _, t := range list {
		j.Joint = append(j.Joint, Part{t.id, t.job.Text})
	}
	return j
}

// enterJoint stores a joint job, queues it, and then says so in the records of its parts. It reports for each job whether it is a part
// now. A job is not if meanwhile another worker has begun it or joined it with others; its message then belongs to that worker.
func (q *Queue) enterJoint(ctx context.Context, list []*taken) (in []bool, err error) {
	defer must.Catch(&err)
	j := jointOf(list)
	id := must.Get(j.ID())
	data := must.Get(j.encode())
	must.OKAs(q.files.put(ctx, jobFile(id), data), "the store of proofs")
	r := must.Get(q.enter(ctx, &Record{ID: id, State: Queued, Model: j.Model, Commitment: j.Commitment, Owner: j.Owner, Texts: len(list)}))
	must.OK(q.publish(ctx, r, ""))
	in = make([]bool, len(list))
	for i, t := range list {
		r, err := q.change(ctx, t.id, func(r *Record) bool {
			if !r.joins() {
				return false
			}
			r.Joint = &receipt.Place{Proof: id, TextID: i + 1, Texts: len(list)}
			return true
		})
		if err != nil && !errors.Is(err, ErrUnknown) {
			return nil, err
		}
		in[i] = err == nil && r.Joint != nil && r.Joint.Proof == id
	}
	return in, nil
}

// wrongPart returns what is wrong with a joint job that a worker has made, "" if nothing is. Its texts must be those of the jobs that it
// stands for, and these jobs must be ones that may be proved together.
func (q *Queue) wrongPart(ctx context.Context, j *Job) (wrong string, err error) {
	class := ""
	for i, p := range j.Joint {
		of, err := q.job(ctx, p.Job)
		if errors.Is(err, errNoFile) {
			continue // its record has expired too
		}
		if err != nil {
			return "", err
		}
		class = cmp.Or(class, of.class())
		alike := class != "" && of.class() == class && of.Commitment == j.Commitment && of.Shared == j.Shared && (j.Shared != receipt.SharedKey || of.Owner == j.Owner)
		if !alike || !reflect.DeepEqual(of.Text, p.Text) {
			return fmt.Sprintf("text %d is not that of job %s, or may not be proved with the others", i+1, p.Job), nil
		}
	}
	return "", nil
}

// isJoined says whether the joint job exists of which a job has become a part. If so, nothing has to be done for the
// job itself.
func (q *Queue) isJoined(ctx context.Context, r *Record) (bool, error) {
	joint, err := q.Record(ctx, r.Joint.Proof)
	if errors.Is(err, ErrUnknown) {
		return false, nil
	}
	if err == nil && joint.State.Final() {
		_, err = q.settle(ctx, joint) // for the case that the joint proof was settled before this job's record named it
	}
	return err == nil, err
}

// begin records that a worker has begun with a job, and with the parts of a joint job.
func (q *Queue) begin(ctx context.Context, id string, j *Job, worker string) (err error) {
	defer must.Catch(&err)
	must.Get(q.change(ctx, id, func(r *Record) bool {
		if r.State == Proved {
			return false
		}
		if r.State == Failed { // it was asked for again after it had failed
			r.Tries = 0
		}
		r.State, r.Worker, r.Error = Proving, worker, ""
		r.Tries++
		return true
	}))
	for _, p := range j.Joint {
		if _, err := q.change(ctx, p.Job, func(r *Record) bool {
			if r.State.Final() || r.Joint == nil || r.Joint.Proof != id {
				return false
			}
			r.State, r.Worker, r.Error = Proving, worker, ""
			return true
		}); err != nil && !errors.Is(err, ErrUnknown) {
			return err
		}
	}
	return nil
}

// settle records, for the parts of a joint job, how the joint job has ended, and returns the records of those that its proof proves. If
// the joint job has failed, its parts are queued again, each by itself. settle may be called several times.
func (q *Queue) settle(ctx context.Context, joint *Record) (proved []*Record, err error) {
	defer must.Catch(&err)
	j, err := q.job(ctx, joint.ID)
	if errors.Is(err, errNoFile) {
		return nil, nil // its parts have expired too
	}
	must.OK(err)
	for i, p := range j.Joint {
		r, err := q.change(ctx, p.Job, func(r *Record) bool {
			if joint.State == Proved {
				return r.proveBy(joint, &receipt.Place{Proof: joint.ID, TextID: i + 1, Texts: len(j.Joint)})
			}
			return r.partFrom(joint)
		})
		if errors.Is(err, ErrUnknown) {
			continue
		}
		must.OK(err)
		switch {
		case r.State == Proved && r.Joint != nil && r.Joint.Proof == joint.ID:
			proved = append(proved, r)
		case !r.State.Final() && r.Parted == joint.ID:
			must.OK(q.publishOnce(ctx, r, "", r.ID+".parted."+joint.ID))
		}
	}
	return proved, nil
}

// proveBy records that a joint proof, which was verified, proves the job. at is the place of its text.
func (r *Record) proveBy(joint *Record, at *receipt.Place) (changed bool) {
	if r.State == Proved {
		return false
	}
	r.State, r.Joint, r.Bytes, r.SHA256, r.Worker, r.Error = Proved, at, joint.Bytes, joint.SHA256, joint.Worker, ""
	r.Faults = append(r.Faults, joint.Faults...)
	return true
}

// partFrom records that a joint proof could not be made, and that the job is to be proved by itself.
func (r *Record) partFrom(joint *Record) (changed bool) {
	if r.State.Final() || r.Parted != "" || r.Joint != nil && r.Joint.Proof != joint.ID || r.Joint == nil && r.State != Queued {
		return false
	}
	r.State, r.Joint, r.Parted, r.Tries = Queued, nil, joint.ID, 0
	r.Faults = append(r.Faults, joint.Faults...)
	return true
}
