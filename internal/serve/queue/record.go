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

// State is how far the proof of a job is.
type State string

// A proof is kept, queued, proving, and in the end proved or failed.
const (
	Kept    State = "kept"    // nobody has asked for it; it can be made at any time
	Queued  State = "queued"  // it waits for a worker
	Proving State = "proving" // a worker makes it
	Proved  State = "proved"  // it was made and verified
	Failed  State = "failed"  // it could not be made; Error says why
)

// Final says that nothing more will happen by itself.
func (s State) Final() bool { return s == Proved || s == Failed }

// Record is what is known of a proof.
type Record struct {
	ID         string    `json:"id"`
	State      State     `json:"state"`
	Model      string    `json:"model"`
	Commitment string    `json:"model_commitment"`
	Owner      string    `json:"owner,omitempty"`
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`
	Bytes      int64     `json:"bytes,omitempty"`  // of the proof
	SHA256     string    `json:"sha256,omitempty"` // likewise
	Error      string    `json:"error,omitempty"`
	Worker     string    `json:"worker,omitempty"` // that proves or has proved it
	Helped     int       `json:"helped,omitempty"` // parts of it that other workers have proved
	// Faults are proofs and parts of proofs that did not hold, or differed, each with its worker.
	Faults []string `json:"faults,omitempty"`
	// Joint is where it stands in a proof of several texts; nil: it is proved by itself.
	Joint *receipt.Place `json:"joint,omitempty"`
	// Parted is the id of a joint proof that could not be made, after which it is proved by itself.
	Parted string `json:"parted,omitempty"`
	// Texts is how many others a joint job stands for, 0 if it is none.
	Texts int `json:"texts,omitempty"`
	// Tries is how often a worker has begun with it since somebody asked for it.
	Tries int `json:"tries,omitempty"`
}

// open says that a job is neither waiting nor proved: it can be asked for.
func (r *Record) open() bool { return r.Texts == 0 && (r.State == Kept || r.State == Failed) }

// File is the id that the file of the proof goes by: its own, or that of the joint proof which it stands in.
func (r *Record) File() string {
	if r.Joint != nil {
		return r.Joint.Proof
	}
	return r.ID
}

// ErrUnknown is the error about a proof that there is none of.
var ErrUnknown = errors.New("there is no such proof")

// Record returns what is known of a proof.
func (q *Queue) Record(ctx context.Context, id string) (*Record, error) {
	r, _, err := q.record(ctx, id)
	return r, err
}

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

// enter makes a record unless there is one, and returns the one that there is then.
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

// change changes a record by a function, which says whether there is anything to change. Of several who do so at once each sees what the
// one before has left.
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
