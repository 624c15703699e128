package queue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// A proof that fails, is asked for again, and fails again, is told twice.
func TestToldAgain(t *testing.T) {
	q := opened(t, t.TempDir())
	defer q.Close()
	ctx, cancel := context.WithCancel(context.Background())
	told := make(chan *Record, 10)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	for _, f := range []func() error{
		func() error {
			return q.Work(ctx, commitment, "w", new(Worker), func(context.Context, *Job, *Team, func(string, int, int)) ([]byte, error) {
				return nil, errors.New("there is no memory")
			}, nil)
		},
		func() error { return q.Check(ctx, verifyBytes, true, func(*Record) {}) },
		func() error {
			return q.Notify(ctx, func(_ context.Context, r *Record) error {
				told <- r
				return nil
			})
		},
	} {
		wait.Go(func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
	}
	r := accepted(t, q, jobOf(1), true)
	for i := range 2 {
		select {
		case got := <-told:
			if got.ID != r.ID || got.State != Failed {
				t.Errorf("%+v", got)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("told %d times", i)
		}
		if _, err := q.Prove(ctx, r.ID); err != nil {
			t.Fatal(err)
		}
	}
}
