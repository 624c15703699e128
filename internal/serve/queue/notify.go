package queue

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Bounds of telling somebody who does not answer: an attempt is followed by another after a pause that doubles up to the longest, for
// two days in all.
const (
	noticePause    = time.Second
	longestPause   = time.Hour
	noticeAttempts = 60
)

// Notify calls a function with every job that has come to its end, until the context ends; again and again if it fails.
func (q *Queue) Notify(ctx context.Context, tell func(ctx context.Context, r *Record) error) error {
	return q.consume(ctx, q.notices, "notices", q.reader("notify"), func(_ jetstream.Consumer, m jetstream.Msg) error {
		r, err := q.Record(ctx, string(m.Data()))
		if errors.Is(err, ErrUnknown) {
			return nil
		}
		if err == nil {
			err = tell(ctx, r)
		}
		meta, failed := m.Metadata()
		if err == nil || failed != nil || ctx.Err() != nil {
			return err
		}
		if meta.NumDelivered >= noticeAttempts {
			return nil
		}
		return &later{err, min(noticePause<<min(meta.NumDelivered-1, 20), longestPause)}
	})
}

// later is an error after which a message comes again after a pause.
type later struct {
	error
	pause time.Duration
}
