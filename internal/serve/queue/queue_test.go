package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	provemodel "github.com/prove-model/prove-model"
)

var commitment = fmt.Sprintf("%064x", 7)

func jobOf(n int) *Job {
	return &Job{Model: "m", Commitment: commitment, Inputs: provemodel.Input{{float64(n), 0.1}}}
}

// bytesOf stands for the proof of a job.
func bytesOf(j *Job) []byte {
	id, err := j.ID()
	if err != nil {
		panic(err)
	}
	return bytes.Repeat([]byte(id), 100)
}

func verifyBytes(_ context.Context, j *Job, file []byte) error {
	if !bytes.Equal(file, bytesOf(j)) {
		return errors.New("it is another proof")
	}
	return nil
}

func proveBytes(_ context.Context, j *Job, _ *Team, progress func(string, int, int)) ([]byte, error) {
	progress("prove", 1, 1)
	return bytesOf(j), nil
}

// silence is how long a worker may be silent in tests: much longer than a machine with other work
// keeps one from being heard, which says so three times in it.
const silence = 2 * time.Second

func opened(t *testing.T, folder string) *Queue {
	t.Helper()
	q, err := Embedded(context.Background(), folder, Options{Silence: silence})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// running has workers prove until stop is called.
func running(t *testing.T, q *Queue, provers ...Prover) (stop func(), done *atomic.Int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	done = new(atomic.Int64)
	for i, p := range provers {
		wait.Go(func() {
			if err := q.Work(ctx, commitment, fmt.Sprintf("w%d", i), new(Worker), p, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Go(func() {
		if err := q.Check(ctx, verifyBytes, false, func(*Record) { done.Add(1) }); err != nil {
			t.Error(err)
		}
	})
	return func() { cancel(); wait.Wait() }, done
}

// ended waits until a proof is.
func ended(t *testing.T, q *Queue, id string) *Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var last *Record
	if err := q.Watch(ctx, id, func(r *Record, _ *Progress) error {
		if r != nil {
			last = r
		}
		return nil
	}); err != nil {
		t.Fatalf("proof %s: %v, %+v", id, err, last)
	}
	return last
}

func accepted(t *testing.T, q *Queue, j *Job, now bool) *Record {
	t.Helper()
	r, err := q.Accept(context.Background(), j, now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func held(t *testing.T, q *Queue, r *Record) []byte {
	t.Helper()
	f, err := q.Proof(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What was accepted is there when the store is opened again, and is proved then.
func TestOutlasts(t *testing.T) {
	dir := t.TempDir()
	q := opened(t, dir)
	if _, err := Embedded(context.Background(), dir, Options{}); err == nil {
		t.Error("a second server has the same folder")
	}
	var ids []string
	for n := range 20 {
		ids = append(ids, accepted(t, q, jobOf(n), true).ID)
	}
	kept := accepted(t, q, jobOf(100), false)
	q.Close()

	q = opened(t, dir)
	defer q.Close()
	if n, err := q.Waiting(context.Background()); err != nil || n != 20 {
		t.Errorf("%d jobs wait, %v", n, err)
	}
	stop, _ := running(t, q, proveBytes, proveBytes)
	defer stop()
	for n, id := range ids {
		r := ended(t, q, id)
		if r.State != Proved || !bytes.Equal(held(t, q, r), bytesOf(jobOf(n))) {
			t.Errorf("%+v", r)
		}
	}
	if r, err := q.Record(context.Background(), kept.ID); err != nil || r.State != Kept {
		t.Errorf("nobody asked for it: %+v, %v", r, err)
	}
	if _, err := q.Prove(context.Background(), kept.ID); err != nil {
		t.Fatal(err)
	}
	if r := ended(t, q, kept.ID); r.State != Proved {
		t.Errorf("%+v", r)
	}
}

// Many who ask for one thing at once have one proof of it.
func TestOnce(t *testing.T) {
	q := opened(t, t.TempDir())
	defer q.Close()
	var proofs atomic.Int64
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if _, err := q.Accept(context.Background(), jobOf(1), true); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	stop, done := running(t, q, func(ctx context.Context, j *Job, team *Team, p func(string, int, int)) ([]byte, error) {
		proofs.Add(1)
		return proveBytes(ctx, j, team, p)
	})
	id, _ := jobOf(1).ID()
	ended(t, q, id)
	for n := 1; n > 0; time.Sleep(10 * time.Millisecond) {
		n, _ = q.Waiting(context.Background())
	}
	stop()
	if proofs.Load() != 1 || done.Load() != 1 {
		t.Errorf("proved %d times, done %d times", proofs.Load(), done.Load())
	}
}

// A worker that leaves wrong bytes is found out, and another one proves the job.
func TestWrongBytes(t *testing.T) {
	q := opened(t, t.TempDir())
	defer q.Close()
	var calls atomic.Int64
	stop, _ := running(t, q, func(ctx context.Context, j *Job, team *Team, p func(string, int, int)) ([]byte, error) {
		if calls.Add(1) < 3 {
			return []byte("wrong"), nil
		}
		return proveBytes(ctx, j, team, p)
	})
	defer stop()
	r := accepted(t, q, jobOf(1), true)
	for end := time.Now().Add(time.Minute); r.State != Proved && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r, _ = q.Record(context.Background(), r.ID)
	}
	if r.State != Proved || len(r.Faults) != 2 || !bytes.Equal(held(t, q, r), bytesOf(jobOf(1))) {
		t.Errorf("%+v", r)
	}

	// One that is always wrong is given up, and can be asked for again.
	var right atomic.Bool
	q2 := opened(t, t.TempDir())
	defer q2.Close()
	stop2, _ := running(t, q2, func(ctx context.Context, j *Job, team *Team, p func(string, int, int)) ([]byte, error) {
		if right.Load() {
			return proveBytes(ctx, j, team, p)
		}
		return []byte("wrong"), nil
	})
	defer stop2()
	r = accepted(t, q2, jobOf(1), true)
	if r = ended(t, q2, r.ID); r.State != Failed || len(r.Faults) != faults {
		t.Errorf("%+v", r)
	}
	right.Store(true)
	if _, err := q2.Prove(context.Background(), r.ID); err != nil {
		t.Fatal(err)
	}
	if r = ended(t, q2, r.ID); r.State != Proved {
		t.Errorf("%+v", r)
	}
}

// A job that cannot be proved says why.
func TestFails(t *testing.T) {
	q := opened(t, t.TempDir())
	defer q.Close()
	stop, _ := running(t, q, func(context.Context, *Job, *Team, func(string, int, int)) ([]byte, error) {
		return nil, errors.New("there is no memory")
	})
	defer stop()
	if r := ended(t, q, accepted(t, q, jobOf(1), true).ID); r.State != Failed || r.Error != "there is no memory" {
		t.Errorf("%+v", r)
	}
}

// A worker that falls silent, as one that was killed does, loses its job to another.
func TestSilent(t *testing.T) {
	q := opened(t, t.TempDir())
	defer q.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := accepted(t, q, jobOf(1), true)
	// Take the job as Work would, and do nothing more about it.
	c, err := q.jobs.CreateOrUpdateConsumer(ctx, q.workers(commitment))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := c.Next(); err != nil || string(m.Data()) != r.ID {
		t.Fatal(err)
	}
	stop, _ := running(t, q, proveBytes)
	defer stop()
	if r = ended(t, q, r.ID); r.State != Proved {
		t.Errorf("%+v", r)
	}
}

// A worker that is told to end while it proves gives its job back at once.
func TestDrains(t *testing.T) {
	q := opened(t, t.TempDir())
	defer q.Close()
	begun := make(chan struct{})
	stop, _ := running(t, q, func(ctx context.Context, _ *Job, _ *Team, _ func(string, int, int)) ([]byte, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	r := accepted(t, q, jobOf(1), true)
	<-begun
	stop()
	stop, _ = running(t, q, proveBytes)
	defer stop()
	if r = ended(t, q, r.ID); r.State != Proved {
		t.Errorf("%+v", r)
	}
}

// A second proof that holds with other bytes is a fault of the worker, and the first stays.
func TestOtherBytes(t *testing.T) {
	q := opened(t, t.TempDir())
	defer q.Close()
	ctx := context.Background()
	any := func(context.Context, *Job, []byte) error { return nil }
	r := accepted(t, q, jobOf(1), true)
	for i, file := range [][]byte{[]byte("one"), []byte("two"), []byte("one")} {
		digest := fmt.Sprintf("%x", sha256.Sum256(file))
		if err := q.files.put(ctx, proofFile(r.ID, digest), file); err != nil {
			t.Fatal(err)
		}
		var err error
		if r, err = q.check(ctx, &result{ID: r.ID, Worker: "w", SHA256: digest}, any); err != nil {
			t.Fatal(err)
		}
		if r.State != Proved || len(r.Faults) != min(i, 1) || string(held(t, q, r)) != "one" {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// A store that is full takes no job, and a worker keeps what it has proved until there is room.
func TestFull(t *testing.T) {
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, JetStreamMaxStore: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	q, err := open(ctx, nc, Options{Silence: silence})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if _, err := q.js.CreateStream(ctx, jetstream.StreamConfig{Name: "others", Subjects: []string{"others"}}); err != nil {
		t.Fatal(err)
	}
	fill := func() {
		for {
			if _, err := q.js.Publish(ctx, "others", make([]byte, 20_000)); err != nil {
				return
			}
		}
	}
	r := accepted(t, q, jobOf(1), true)
	var proofs atomic.Int64
	stop, _ := running(t, q, func(ctx context.Context, j *Job, team *Team, p func(string, int, int)) ([]byte, error) {
		if proofs.Add(1) == 1 {
			fill()
		}
		return proveBytes(ctx, j, team, p)
	})
	defer stop()
	for proofs.Load() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(3 * silence)
	big := &Job{Model: "m", Commitment: commitment, Inputs: provemodel.Input{make([]float64, 20_000)}}
	if _, err := q.Accept(ctx, big, true); err == nil {
		t.Error("a job is accepted that there is no room for")
	}
	if r, err := q.Record(ctx, r.ID); err != nil || r.State.Final() {
		t.Errorf("%+v, %v", r, err)
	}
	if err := q.js.DeleteStream(ctx, "others"); err != nil {
		t.Fatal(err)
	}
	if r = ended(t, q, r.ID); r.State != Proved || proofs.Load() != 1 {
		t.Errorf("proved %d times: %+v", proofs.Load(), r)
	}
}

func TestIDs(t *testing.T) {
	a, _ := jobOf(1).ID()
	other := jobOf(1)
	other.Owner = "somebody"
	for _, j := range []*Job{jobOf(2), other, {Model: "m", Commitment: commitment, Text: &Text{Prompt: []int{1}, Tokens: []int{2}}}} {
		if b, err := j.ID(); err != nil || a == b || !IsID(b) {
			t.Errorf("%s, %v", b, err)
		}
	}
	if _, err := (&Job{}).ID(); err == nil {
		t.Error("a job of nothing")
	}
	q := opened(t, t.TempDir())
	defer q.Close()
	for _, id := range []string{"", "x", "../../etc/passwd", a + "0", "*", ">"} {
		if _, err := q.Record(context.Background(), id); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := q.Key(context.Background(), id); !errors.Is(err, ErrUnknown) {
			t.Errorf("key %q: %v", id, err)
		}
	}
}

// A proof whose file has expired, before its record does, is one that is not there.
func TestExpiredFile(t *testing.T) {
	q := opened(t, t.TempDir())
	defer q.Close()
	stop, _ := running(t, q, proveBytes)
	defer stop()
	r := ended(t, q, accepted(t, q, jobOf(1), true).ID)
	if err := q.files.(objects).Delete(t.Context(), proofFile(r.ID, r.SHA256)); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Proof(t.Context(), r); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}
