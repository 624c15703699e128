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

// Batch says which jobs a worker makes one of.
type Batch struct {
	// Most is how many texts one proof is of at most; with less than 2 each job is proved by itself.
	Most int
	// Fits says whether a joint job can be proved in the memory that there is.
	Fits func(j *Job) bool
}

// headClass is the header of a job's message that has its class.
const headClass = "Class"

// shortText is up to how many tokens texts count as equally long.
const shortText = 32

// class is what jobs have in common that may be proved together; "" for one that may not. They are of one rule of drawing, since a
// verifier holds all texts of a proof against the same, and of one owner unless that does not matter. The longer of two has less than
// twice as many tokens, as texts are filled up to the longest.
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

// watched are the proofs whose watchers are told how far the one of a job is.
func (j *Job) watched(id string) []string {
	if j.Joint == nil {
		return []string{id}
	}
	return seq.Map(j.Joint, func(p Part) string { return p.Job })
}

// taken is a message with the job that it is of.
type taken struct {
	m   jetstream.Msg
	id  string
	job *Job
}

// join makes one job of a message's and of those alike that wait behind it, if there are any: it does not wait for more. The joint job
// stands in the queue in their place, behind what waits already. Which texts it is of, in which order, does not change from then on:
// whoever proves it makes the same bytes. Every step can be repeated, by this worker or by another one that gets the messages when this
// one has ended.
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
		giveBack(list[len(list)/2:]) // a half of one at least
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
			_ = t.m.DoubleAck(ctx) // one that is lost has the message come again, which does nothing then
		} else {
			_ = t.m.Nak()
		}
	}
	return in[0], nil
}

func giveBack(list []*taken) {
	for _, t := range list {
		_ = t.m.Nak()
	}
}

// joinable returns the job of a message if it can become a part of a joint one; nil if it can not.
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

// joins says that a job can become a part of a joint one. One that a worker has begun with is left by itself: it may have ended over it.
func (r *Record) joins() bool {
	return r.State == Queued && r.Tries == 0 && r.Joint == nil && r.Parted == ""
}

// alike takes the jobs from the queue that are there and may be proved together with one.
func (q *Queue) alike(ctx context.Context, c jetstream.Consumer, first *taken, most int) (list []*taken) {
	found, err := c.FetchNoWait(most - 1)
	if err != nil {
		return nil // then it is proved by itself
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

// jointOf is the job that stands for several.
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

// enterJoint stores a joint job and queues it, and then says so in the records of the jobs that it stands for. It returns which of these
// now are a part of it: of one that another worker has begun with in the meantime, or joined with others, the message is that worker's.
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

// wrongPart says what is wrong with a joint job, as a worker has made it, if anything is: it has the texts of the jobs that it stands for,
// and these may be proved together.
func (q *Queue) wrongPart(ctx context.Context, j *Job) (wrong string, err error) {
	class := ""
	for i, p := range j.Joint {
		of, err := q.job(ctx, p.Job)
		if errors.Is(err, errNoFile) {
			continue // nor is its record there any longer
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

// isJoined says whether the joint job that a job has become a part of is there, so that nothing is to be done about the job itself.
func (q *Queue) isJoined(ctx context.Context, r *Record) (bool, error) {
	joint, err := q.Record(ctx, r.Joint.Proof)
	if errors.Is(err, ErrUnknown) {
		return false, nil
	}
	if err == nil && joint.State.Final() {
		_, err = q.settle(ctx, joint) // which whoever has checked the joint proof does as well, unless it was before this
	}
	return err == nil, err
}

// begin says in the records that a worker has begun with a job.
func (q *Queue) begin(ctx context.Context, id string, j *Job, worker string) (err error) {
	defer must.Catch(&err)
	must.Get(q.change(ctx, id, func(r *Record) bool {
		if r.State == Proved {
			return false
		}
		if r.State == Failed { // it was asked for again
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

// settle says in the records of the jobs that a joint one stands for how it has ended, and returns those that are proved by it. If it has
// failed they are queued again, each by itself. It may be called again and again.
func (q *Queue) settle(ctx context.Context, joint *Record) (proved []*Record, err error) {
	defer must.Catch(&err)
	j, err := q.job(ctx, joint.ID)
	if errors.Is(err, errNoFile) {
		return nil, nil // nor are they
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

// proveBy enters a joint proof that holds.
func (r *Record) proveBy(joint *Record, at *receipt.Place) (changed bool) {
	if r.State == Proved {
		return false
	}
	r.State, r.Joint, r.Bytes, r.SHA256, r.Worker, r.Error = Proved, at, joint.Bytes, joint.SHA256, joint.Worker, ""
	r.Faults = append(r.Faults, joint.Faults...)
	return true
}

// partFrom enters that a joint proof could not be made.
func (r *Record) partFrom(joint *Record) (changed bool) {
	if r.State.Final() || r.Parted != "" || r.Joint != nil && r.Joint.Proof != joint.ID || r.Joint == nil && r.State != Queued {
		return false
	}
	r.State, r.Joint, r.Parted, r.Tries = Queued, nil, joint.ID, 0
	r.Faults = append(r.Faults, joint.Faults...)
	return true
}
