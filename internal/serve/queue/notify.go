package queue

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Limits of repeating a notice that its receiver does not accept: the pause after an attempt doubles from noticePause up to
// longestPause. All attempts together take about two days.
const (
	noticePause    = time.Second
	longestPause   = time.Hour
	noticeAttempts = 60
)

// Notify calls tell with the record of every job that has ended, until the context ends. If tell fails it is called
// again later.
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

// later is an error after which a message is to come again after a pause.
type later struct {
	error
	pause time.Duration
}
