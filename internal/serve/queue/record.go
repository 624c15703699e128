package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// State says how far the proof of a job is.
type State string

// A proof is kept, queued, proving, and in the end proved or failed.
const (
	Kept    State = "kept"    // nobody has asked for it yet
	Queued  State = "queued"  // it waits for a worker
	Proving State = "proving" // a worker is making it
	Proved  State = "proved"  // it was made and verified
	Failed  State = "failed"  // it could not be made; Error says why
)

// Final says whether the state changes only if somebody asks for the proof again.
func (s State) Final() bool { return s == Proved || s == Failed }

// Record has what is known about a proof.
type Record struct {
	ID         string    `json:"id"`
	State      State     `json:"state"`
	Model      string    `json:"model"`
	Commitment string    `json:"model_commitment"`
	Owner      string    `json:"owner,omitempty"`
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`
	Bytes      int64     `json:"bytes,omitempty"`  // size of the proof
	SHA256     string    `json:"sha256,omitempty"` // of the proof
	Error      string    `json:"error,omitempty"`
	Worker     string    `json:"worker,omitempty"` // which is proving it or has proved it
	Helped     int       `json:"helped,omitempty"` // number of its parts that other workers have proved
	// Faults lists proofs, and parts of proofs, that were not valid or that differed from earlier ones, each with its
	// worker.
	Faults []string `json:"faults,omitempty"`
	// Joint is the place of the job's text in a proof of several texts; nil: it is proved by itself.
	Joint *receipt.Place `json:"joint,omitempty"`
	// Parted is the id of a joint job that could not be proved, so that this job is proved by itself.
	Parted string `json:"parted,omitempty"`
	// Texts is the number of jobs that a joint job stands for, 0 for other jobs.
	Texts int `json:"texts,omitempty"`
	// Tries is how often a worker has begun the proof since somebody asked for it.
	Tries int `json:"tries,omitempty"`
}

// open says whether the job can be queued: it is neither waiting nor proved, and is no joint job.
func (r *Record) open() bool { return r.Texts == 0 && (r.State == Kept || r.State == Failed) }

// File returns the id under which the proof's file is stored: the record's own, or that of the joint job.
func (r *Record) File() string {
	if r.Joint != nil {
		return r.Joint.Proof
	}
	return r.ID
}

// ErrUnknown is the error about a proof or key that does not exist.
var ErrUnknown = errors.New("there is no such proof")

// Record returns the record of a proof.
func (q *Queue) Record(ctx context.Context, id string) (*Record, error) {
	r, _, err := q.record(ctx, id)
	return r, err
}

// record returns the record of a proof, and its revision in the store.
func (q *Queue) record(ctx context.Context, id string) (_ *Record, _ uint64, err error) {
	defer must.Catch(&err)
	if !IsID(id) {
		return nil, 0, ErrUnknown
	}
	entry, err := q.records.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, ErrUnknown
	}
	must.OKAs(err, "the store of proofs")
	r := &Record{}
	must.OKAs(json.Unmarshal(entry.Value(), r), "the store of proofs: record %s", id)
	return r, entry.Revision(), nil
}

// enter creates a record unless there is one with its id, and returns the one in the store.
func (q *Queue) enter(ctx context.Context, r *Record) (_ *Record, err error) {
	defer must.Catch(&err)
	r.Created = q.now().UTC()
	r.Updated = r.Created
	data := must.Get(json.Marshal(r))
	if _, err = q.records.Create(ctx, r.ID, data); errors.Is(err, jetstream.ErrKeyExists) {
		return q.Record(ctx, r.ID)
	}
	must.OKAs(err, "the store of proofs")
	return r, nil
}

// change changes a record by a function, which returns whether it has changed anything. If several change a record at once, by is called
// again with what the others have written.
func (q *Queue) change(ctx context.Context, id string, by func(r *Record) bool) (_ *Record, err error) {
	defer must.Catch(&err)
	for {
		r, revision, err := q.record(ctx, id)
		must.OK(err)
		if !by(r) {
			return r, nil
		}
		r.Updated = q.now().UTC()
		data := must.Get(json.Marshal(r))
		_, err = q.records.Update(ctx, id, data, revision)
		if err == nil {
			return r, nil
		}
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return nil, fmt.Errorf("the store of proofs: %w", err)
		}
	}
}
