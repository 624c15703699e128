package queue

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/prove-model/prove-model/internal/must"
)

// Progress says how far a worker is with a proof.
type Progress struct {
	Phase string `json:"phase"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
}

// teller returns a function that sends the progress of a proof to the watchers of the given ids, a few times a second.
func (q *Queue) teller(ids []string) func(phase string, done, total int) {
	var last time.Time
	var phase string
	return func(p string, done, total int) {
		if p == phase && done != total && time.Since(last) < 200*time.Millisecond {
			return
		}
		last, phase = time.Now(), p
		if data, err := json.Marshal(Progress{p, done, total}); err == nil {
			for _, id := range ids {
				_ = q.nc.Publish(progress+id, data) // there may be no watcher
			}
		}
	}
}

// Watch calls each with the record of a proof, at once and whenever it changes, and with the progress in between; one of the two
// arguments is nil. It returns when the state is final, when each returns an error, or when the context ends.
func (q *Queue) Watch(ctx context.Context, id string, each func(r *Record, p *Progress) error) (err error) {
	defer must.Catch(&err)
	must.Get(q.Record(ctx, id))
	steps := make(chan *nats.Msg, 64)
	sub := must.Get(q.nc.ChanSubscribe(progress+id, steps))
	defer func() { _ = sub.Unsubscribe() }()
	w := must.Get(q.records.Watch(ctx, id))
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-steps:
			var p Progress
			if json.Unmarshal(m.Data, &p) == nil {
				must.OK(each(nil, &p))
			}
		case entry, ok := <-w.Updates():
			if !ok {
				return nats.ErrConnectionClosed
			}
			if entry == nil || entry.Operation() != jetstream.KeyValuePut { // nil marks the end of the values that existed before
				continue
			}
			var r Record
			must.OK(json.Unmarshal(entry.Value(), &r))
			if err := each(&r, nil); err != nil || r.State.Final() {
				return err
			}
		}
	}
}
