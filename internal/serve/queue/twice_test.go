package queue

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Two workers that have the same job, since one was silent for so long that another got it, and then goes on: what the second leaves
// changes nothing, whichever it is.
func TestTwoWorkers(t *testing.T) {
	q := opened(t, t.TempDir())
	defer q.Close()
	ctx := context.Background()
	c, err := q.jobs.CreateOrUpdateConsumer(ctx, q.workers(commitment))
	if err != nil {
		t.Fatal(err)
	}
	r := accepted(t, q, jobOf(1), true)
	take := func() jetstream.Msg {
		m, err := c.Next(jetstream.FetchMaxWait(time.Minute))
		if err != nil || string(m.Data()) != r.ID {
			t.Fatal(err)
		}
		return m
	}
	slow, fast := take(), take() // after q.wait
	var done atomic.Int64
	check, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- q.Check(check, verifyBytes, false, func(*Record) { done.Add(1) }) }()
	err = q.work(ctx, slow, "slow", func(ctx context.Context, j *Job, team *Team, p func(string, int, int)) ([]byte, error) {
		if err := q.work(ctx, fast, "fast", proveBytes); err != nil {
			t.Error(err)
		}
		until(t, "the first proof", func() bool { r, _ = q.Record(ctx, r.ID); return r.State == Proved })
		return proveBytes(ctx, j, team, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "that both results are checked", func() bool {
		info, err := q.results.Info(ctx)
		return err == nil && info.State.Msgs == 0
	})
	if r, err := q.Record(ctx, r.ID); err != nil || r.State != Proved || r.Worker != "fast" || len(r.Faults) > 0 || !bytes.Equal(held(t, q, r), bytesOf(jobOf(1))) {
		t.Errorf("%+v, %v", r, err)
	}
	// The job comes a third time, and is passed over.
	if err := q.work(ctx, slow, "slow", func(context.Context, *Job, *Team, func(string, int, int)) ([]byte, error) {
		t.Error("what was proved is proved again")
		return nil, nil
	}); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if done.Load() > 2 {
		t.Errorf("done %d times", done.Load())
	}
}

// Clocks of servers and workers that do not agree, or that are set while jobs wait, in either direction, change nothing about jobs.
func TestClocks(t *testing.T) {
	s := opening(t)
	var step atomic.Int64 // of the server's clock
	s.q.now = func() time.Time { return time.Now().Add(time.Duration(step.Load())) }
	fail := new(atomic.Bool)
	kill := s.worker(func(ctx context.Context, j *Job, team *Team, p func(string, int, int)) ([]byte, error) {
		if fail.Load() {
			return []byte("wrong"), nil
		}
		return proveBytes(ctx, j, team, p)
	}, nil)
	defer kill()
	for n, by := range []time.Duration{0, -time.Hour, 48 * time.Hour, -24 * 365 * time.Hour, 0} {
		step.Store(int64(by))
		j := jobOf(n)
		fail.Store(true)
		r := accepted(t, s.q, j, true)
		if r = ended(t, s.q, r.ID); r.State != Failed || len(r.Faults) != faults {
			t.Errorf("clock set by %v: %+v", by, r)
		}
		step.Store(-int64(by))
		fail.Store(false)
		if _, err := s.q.Prove(s.ctx, r.ID); err != nil {
			t.Fatal(err)
		}
		if r = ended(t, s.q, r.ID); r.State != Proved || !bytes.Equal(held(t, s.q, r), bytesOf(j)) {
			t.Errorf("clock set by %v and back: %+v", by, r)
		}
	}
}
