package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ofParts is how many parts the proofs of these tests have.
const ofParts = 10

// partOf stands for a part of a proof; long makes it one that no message holds.
func partOf(j *Job, i int, long bool) []byte {
	whole := bytesOf(j)
	size := len(whole) / ofParts
	part := whole[i*size:][:size]
	if long {
		part = bytes.Repeat(part, 1<<21/size)
	}
	return part
}

// together is a prover that shares its parts. own is called for every one that it proves itself.
func together(long bool, own func(ctx context.Context, i int)) Prover {
	return func(ctx context.Context, j *Job, team *Team, _ func(string, int, int)) ([]byte, error) {
		var mu sync.Mutex
		found := make([][]byte, ofParts)
		put := func(i int, b []byte) error {
			if !bytes.Equal(b, partOf(j, i, long)) {
				return errors.New("it does not hold")
			}
			mu.Lock()
			defer mu.Unlock()
			found[i] = partOf(j, i, false)
			return nil
		}
		order := make([]int, ofParts)
		for i := range order {
			order[i] = i
		}
		team.Begin([]byte("roots of "+j.Commitment), order, put)
		defer team.End()
		prove := func(i int) {
			own(ctx, i)
			_ = put(i, partOf(j, i, long))
		}
		for i := range order {
			if team.Claim(i) {
				prove(i)
			}
		}
		for _, i := range team.Left() {
			mu.Lock()
			there := found[i] != nil
			mu.Unlock()
			if !there {
				prove(i)
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		return bytes.Join(found, nil), nil
	}
}

// shop is a NATS server with a queue that accepts and checks, and with what workers have.
type shop struct {
	t      *testing.T
	url    string
	q      *Queue
	ctx    context.Context
	wait   sync.WaitGroup
	number int
	batch  *Batch
}

func opening(t *testing.T) *shop {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("NATS does not start")
	}
	ctx, cancel := context.WithCancel(context.Background())
	shop := &shop{t: t, url: s.ClientURL(), ctx: ctx}
	shop.q = shop.connected(false)
	shop.wait.Go(func() {
		if err := shop.q.Check(ctx, verifyBytes, false, func(*Record) {}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		shop.wait.Wait()
		shop.q.Close()
		s.Shutdown()
		s.WaitForShutdown()
	})
	return shop
}

func (s *shop) connected(join bool) *Queue {
	s.t.Helper()
	q, err := Connect(s.ctx, s.url, Options{Silence: 3 * time.Second, Join: join})
	if err != nil {
		s.t.Fatal(err)
	}
	return q
}

// worker runs one, as a process of its own would be: it proves if prove is set, and helps if help is. kill ends it without a word.
func (s *shop) worker(prove Prover, help Helper) (kill func()) {
	s.t.Helper()
	q := s.connected(true)
	worker := new(Worker)
	s.number++
	name := fmt.Sprintf("w%d", s.number)
	ctx, cancel := context.WithCancel(s.ctx)
	killed := new(atomic.Bool)
	if prove != nil {
		s.wait.Go(func() { s.ends(ctx, killed, name, q.Work(ctx, commitment, name, worker, prove, s.batch)) })
	}
	if help != nil {
		s.wait.Go(func() { s.ends(ctx, killed, name, q.Help(ctx, commitment, name, worker, help)) })
	}
	kill = sync.OnceFunc(func() {
		killed.Store(true)
		q.nc.Close()
		cancel()
	})
	s.t.Cleanup(kill)
	return kill
}

// ends says that a worker has ended though nobody has told it to.
func (s *shop) ends(ctx context.Context, killed *atomic.Bool, name string, err error) {
	if ctx.Err() == nil && !killed.Load() {
		s.t.Errorf("%s ends: %v", name, err)
	}
}

// helps is a helper that proves a part after another. alter, if set, changes what it leaves.
func helps(long bool, alter func(i int, b []byte) []byte) Helper {
	return func(ctx context.Context, j *Job, roots []byte, next func(context.Context, int, []byte) (int, error)) error {
		if string(roots) != "roots of "+j.Commitment {
			return errors.New("other roots")
		}
		part, b := -1, []byte(nil)
		for {
			i, err := next(ctx, part, b)
			if err != nil || i < 0 {
				return err
			}
			part, b = i, partOf(j, i, long)
			if alter != nil {
				b = alter(i, b)
			}
		}
	}
}

func (s *shop) proved() *Record {
	s.t.Helper()
	j := jobOf(int(time.Now().UnixNano()))
	r := ended(s.t, s.q, accepted(s.t, s.q, j, true).ID)
	if r.State != Proved || !bytes.Equal(held(s.t, s.q, r), bytesOf(j)) {
		s.t.Errorf("%+v", r)
	}
	return r
}

// Workers that have nothing to do prove parts of another's proof, also long ones.
func TestTeam(t *testing.T) {
	for _, long := range []bool{false, true} {
		s := opening(t)
		var own, others atomic.Int64
		s.worker(together(long, func(_ context.Context, i int) {
			if own.Add(1) == 1 { // of three parts of two workers at least one has been left
				until(t, "help", func() bool { return others.Load() > 2 })
			}
		}), nil)
		for range 2 {
			s.worker(nil, helps(long, func(_ int, b []byte) []byte { others.Add(1); return b }))
		}
		if r := s.proved(); len(r.Faults) > 0 || r.Helped == 0 || r.Helped > int(others.Load()) {
			t.Errorf("%d parts by others: %+v", others.Load(), r)
		}
	}
}

// until waits for something that happens in other goroutines.
func until(t *testing.T, what string, happened func() bool) {
	for end := time.Now().Add(time.Minute); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s does not happen", what)
			return
		}
	}
}

// Whatever those who help do, the proof is made, and has the same bytes.
func TestTeamFaults(t *testing.T) {
	t.Run("wrong bytes", func(t *testing.T) {
		s := opening(t)
		var given, ended atomic.Int64
		s.worker(together(false, func(_ context.Context, i int) {
			if i == 0 {
				until(t, "help", func() bool { return ended.Load() > 0 })
			}
		}), nil)
		wrong := helps(false, func(_ int, b []byte) []byte { given.Add(1); return append([]byte("x"), b[1:]...) })
		s.worker(nil, func(ctx context.Context, j *Job, roots []byte, next func(context.Context, int, []byte) (int, error)) error {
			defer ended.Add(1)
			return wrong(ctx, j, roots, next)
		})
		r := s.proved()
		if len(r.Faults) != 1 || !strings.Contains(r.Faults[0], "w2: a part of the proof") || given.Load() != 1 {
			t.Errorf("%d parts were wrong: %+v", given.Load(), r)
		}
	})
	t.Run("killed", func(t *testing.T) {
		s := opening(t)
		var at atomic.Int64
		s.worker(together(false, func(_ context.Context, i int) {
			if i == 0 {
				until(t, "help", func() bool { return at.Load() > 2 })
			}
		}), nil)
		var kill func()
		kill = s.worker(nil, helps(false, func(_ int, b []byte) []byte {
			if at.Add(1) == 3 {
				kill()
			}
			return b
		}))
		s.proved()
	})
	t.Run("slow", func(t *testing.T) {
		s := opening(t)
		begun, release := make(chan struct{}), make(chan struct{})
		s.worker(together(false, func(_ context.Context, i int) {
			if i == 0 {
				<-begun
			}
		}), nil)
		var once sync.Once
		s.worker(nil, helps(false, func(_ int, b []byte) []byte {
			once.Do(func() { close(begun) })
			<-release
			return b
		}))
		s.proved()
		close(release) // it leaves something for a proof that was made
		s.proved()
	})
	t.Run("gives up", func(t *testing.T) {
		s := opening(t)
		var begun atomic.Int64
		s.worker(together(false, func(_ context.Context, i int) {
			if i == 0 {
				until(t, "help", func() bool { return begun.Load() > 1 })
			}
		}), nil)
		s.worker(nil, func(ctx context.Context, _ *Job, _ []byte, next func(context.Context, int, []byte) (int, error)) error {
			if i, err := next(ctx, -1, nil); err != nil || i < 0 {
				t.Errorf("part %d, %v", i, err)
			}
			begun.Add(1)
			return errors.New("there is no memory")
		})
		s.proved()
	})
	// The worker that makes the proof ends: another makes it anew, with help.
	t.Run("the maker killed", func(t *testing.T) {
		s := opening(t)
		var helped atomic.Int64
		gone := make(chan struct{})
		leave := sync.OnceFunc(func() { close(gone) })
		kill := s.worker(together(false, func(ctx context.Context, i int) {
			if i > 0 {
				until(t, "help", func() bool { return helped.Load() > 0 })
				leave()
				<-ctx.Done()
			}
		}), nil)
		s.worker(nil, helps(false, func(_ int, b []byte) []byte { helped.Add(1); time.Sleep(10 * time.Millisecond); return b }))
		s.wait.Go(func() {
			<-gone
			kill()
			s.worker(together(false, func(context.Context, int) {}), nil)
		})
		s.proved()
	})
	// NATS does not reach anybody for a while: what is said is lost.
	t.Run("lost", func(t *testing.T) {
		s := opening(t)
		s.worker(together(false, func(context.Context, int) {}), nil)
		s.worker(nil, func(context.Context, *Job, []byte, func(context.Context, int, []byte) (int, error)) error {
			return nil // as if all that it says were lost
		})
		s.proved()
	})
}

// A job comes before helping: a worker that helps stops, and what it had is proved by another.
func TestTeamYields(t *testing.T) {
	s := opening(t)
	helping, stopped := make(chan struct{}), make(chan struct{})
	first := true
	var mu sync.Mutex
	maker := together(false, func(_ context.Context, i int) {
		if i == 0 {
			<-helping
			<-stopped
		}
	})
	s.worker(func(ctx context.Context, j *Job, team *Team, p func(string, int, int)) ([]byte, error) {
		return maker(ctx, j, team, p)
	}, nil)
	a := jobOf(1)
	r := accepted(t, s.q, a, true)
	until(t, "the proof", func() bool { r, _ = s.q.Record(s.ctx, r.ID); return r.State == Proving })
	s.worker(proveBytes, func(ctx context.Context, _ *Job, _ []byte, next func(context.Context, int, []byte) (int, error)) error {
		if i, err := next(ctx, -1, nil); err != nil || i < 0 {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if !first {
			return nil
		}
		first = false
		close(helping)
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	})
	<-helping
	b := accepted(t, s.q, jobOf(2), true)
	for _, id := range []string{b.ID, r.ID} {
		if got := ended(t, s.q, id); got.State != Proved {
			t.Errorf("%+v", got)
		}
	}
}

// Parts that come in several messages, some of them twice, are put together; one of which a message is lost is not.
func TestWhole(t *testing.T) {
	type message struct {
		at, data string
		more     bool
	}
	for name, c := range map[string]struct {
		sent []message
		want string
	}{
		"one":               {[]message{{"0", "abc", false}}, "abc"},
		"three":             {[]message{{"0", "abc", true}, {"3", "def", true}, {"6", "g", false}}, "abcdefg"},
		"twice":             {[]message{{"0", "abc", true}, {"0", "abc", true}, {"3", "def", true}, {"3", "def", true}, {"6", "g", false}}, "abcdefg"},
		"the last is empty": {[]message{{"0", "abc", true}, {"3", "", false}}, "abc"},
		"one is lost":       {[]message{{"0", "abc", true}, {"6", "g", false}}, ""},
		"the first is lost": {[]message{{"3", "def", true}, {"6", "g", false}}, ""},
		"no number":         {[]message{{"x", "abc", false}}, ""},
		"too long":          {[]message{{"0", "abc", true}, {"268435456", "def", false}}, ""},
	} {
		team := (&Queue{}).team(jobOf(1), "x")
		for i, s := range c.sent {
			m := nats.NewMsg("x")
			m.Header.Set(headAt, s.at)
			if m.Data = []byte(s.data); s.more {
				m.Header.Set(headMore, "yes")
			}
			got, whole := team.whole(m, "w 1")
			if last := i == len(c.sent)-1; whole != last || last && string(got) != c.want {
				t.Errorf("%s: %q, %t", name, got, whole)
			}
		}
		if len(team.halves) > 0 {
			t.Errorf("%s: %v is left", name, team.halves)
		}
	}
}
