package schedule

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var (
	errMemory = errors.New("no memory")
	errLost   = errors.New("the device is lost")
	errOwn    = errors.New("the task's own error")
)

// judge tells the errors above apart.
func judge(err error) Fault {
	switch {
	case errors.Is(err, errMemory):
		return Memory
	case errors.Is(err, errLost):
		return Lost
	}
	return Fatal
}

// work is a task of a simulation.
type work struct {
	need, host int64
	affinity   int
	takes      time.Duration
	faults     []fault // of the attempts on devices, in order
}

// fault is what goes wrong in an attempt on a device.
type fault int

const (
	none fault = iota
	memory
	lost
	own
	panics
	drains // the drain fails, as a launch does that shows late
)

// world runs simulated tasks, in the time of a synctest bubble, and sees to it that what
// runs at once fits.
type world struct {
	s       *Scheduler
	devices []Device
	slow    []int // by which a device takes longer

	mu       sync.Mutex
	reserved []int64
	workers  []map[int]bool
	done     []int    // how often each task ended well
	tried    []int    // attempts of each on devices
	wrong    []string // what must not happen
	ended    time.Duration
	late     map[Worker]bool // a drain fails
	started  time.Time
}

func newWorld(devices []Device, tasks int) *world {
	w := &world{devices: slices.Clone(devices), slow: make([]int, len(devices)), reserved: make([]int64, len(devices)), done: make([]int, tasks), tried: make([]int, tasks),
		late: map[Worker]bool{}, started: time.Now()}
	for i := range w.devices {
		w.slow[i] = 1
		w.workers = append(w.workers, map[int]bool{})
		w.devices[i].Name = fmt.Sprintf("device %d", i)
		w.devices[i].Drain = func(worker int) error { return w.drain(Worker{i, worker}) }
	}
	w.s = New(w.devices, judge)
	return w
}

func (w *world) bad(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// tasks makes the tasks of works.
func (w *world) tasks(works []work) []Task {
	tasks := make([]Task, len(works))
	for i, x := range works {
		tasks[i] = Task{ID: fmt.Sprintf("task %d", i), Need: x.need, HostNeed: x.host, Affinity: x.affinity,
			Run: func(ctx context.Context, on Worker) error { return w.run(ctx, i, &x, on) }}
	}
	return tasks
}

func (w *world) run(ctx context.Context, i int, x *work, on Worker) error {
	d := &w.devices[on.Device]
	need, f := x.need, none
	w.mu.Lock()
	if d.Host {
		need = x.host
	} else if w.tried[i]++; w.tried[i] <= len(x.faults) {
		f = x.faults[w.tried[i]-1]
	}
	if w.workers[on.Device][on.Number] || on.Number < 0 || on.Number >= d.Workers {
		w.bad("worker %v is taken twice", on)
	}
	w.workers[on.Device][on.Number] = true
	w.reserved[on.Device] += need
	most := margin(d.Capacity)
	if d.Most != nil && d.Most() > 0 {
		most = min(most, d.Most())
	}
	if n := len(w.workers[on.Device]); n > 1 && w.reserved[on.Device] > most || n == 1 && !d.Host && need > d.Capacity {
		w.bad("%d bytes are reserved on %s, of %d", w.reserved[on.Device], d.Name, d.Capacity)
	}
	w.mu.Unlock()
	defer func() {
		// What is reserved lasts until the drain.
		w.mu.Lock()
		defer w.mu.Unlock()
		w.reserved[on.Device] -= need
	}()
	select {
	case <-time.After(x.takes * time.Duration(w.slow[on.Device])):
	case <-ctx.Done():
		return ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = time.Since(w.started)
	switch f {
	case memory:
		return errMemory
	case lost:
		return errLost
	case own:
		return errOwn
	case panics:
		panic("a bug")
	case drains:
		w.late[on] = true
		return nil
	}
	if w.done[i]++; w.done[i] > 1 {
		w.bad("task %d ended twice", i)
	}
	return nil
}

func (w *world) drain(on Worker) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.workers[on.Device], on.Number)
	if w.late[on] {
		delete(w.late, on)
		return errLost
	}
	return nil
}

// simulate runs works in a bubble.
func simulate(t *testing.T, devices []Device, works []work, slow int) (w *world, notices []Notice, err error) {
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(devices, len(works))
		if slow > 0 {
			w.slow[0] = slow
		}
		var mu sync.Mutex
		err = w.s.Run(t.Context(), w.tasks(works), func(n Notice) {
			mu.Lock()
			defer mu.Unlock()
			notices = append(notices, n)
		})
	})
	return w, notices, err
}

// lowerBound is a time below which works cannot be done: for any size, those at least
// as large only fit on so many workers at once; and none of them is larger than the margin.
func lowerBound(devices []Device, works []work) time.Duration {
	works = slices.Clone(works)
	slices.SortFunc(works, func(a, b work) int { return int(b.need - a.need) })
	var most, sum time.Duration
	var times []time.Duration // of the larger ones, the longest first
	for _, x := range works {
		sum += x.takes
		at, _ := slices.BinarySearchFunc(times, x.takes, func(a, b time.Duration) int { return int(b - a) })
		times = slices.Insert(times, at, x.takes)
		workers := 0
		for _, d := range devices {
			workers += int(min(int64(d.Workers), margin(d.Capacity)/x.need))
		}
		most = max(most, x.takes, sum/time.Duration(workers))
		// Of workers + 1 tasks two are on the same worker, of 2·workers + 1 three, and so on.
		if workers < len(times) {
			most = max(most, times[workers-1]+times[workers])
		}
		for n := 2; n*workers < len(times); n++ {
			most = max(most, time.Duration(n+1)*times[n*workers])
		}
	}
	var area, all float64
	var largest int64
	for _, x := range works {
		area += float64(x.need) * float64(x.takes)
		largest = max(largest, x.need)
	}
	for _, d := range devices {
		all += float64(min(margin(d.Capacity), int64(d.Workers)*largest))
	}
	return max(most, time.Duration(area/all))
}

// TestSimulation: on thousands of random sets of tasks nothing is reserved twice, every
// task ends once, and all of them within one and a half times what no order can beat.
// Time grows with memory, as that of chunks does, a task takes at most a quarter of
// what may be reserved on the smallest device, and there are enough tasks that the last
// ones weigh little (docs/scale.md has the figures of other sets).
func TestSimulation(t *testing.T) {
	worst := 0.0
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		rng := rand.New(rand.NewPCG(seed, 0))
		for range 20 {
			devices := make([]Device, []int{1, 2, 3, 8}[rng.IntN(4)])
			capacity, workers := int64(1<<40), 0
			for i := range devices {
				devices[i] = Device{Capacity: 1000 + rng.Int64N(3000), Workers: 1 + rng.IntN(24/(2+len(devices)))}
				capacity = min(capacity, devices[i].Capacity)
				workers += devices[i].Workers
			}
			works := make([]work, workers*(6+rng.IntN(6)))
			shape := rng.IntN(3)
			for i := range works {
				need := 1 + rng.Int64N(margin(capacity)/4)
				if shape == 1 && rng.IntN(2) > 0 { // half are small
					need = 1 + need/10
				}
				affinity := rng.IntN(len(devices))
				if shape == 2 {
					affinity = i * len(devices) / len(works)
				}
				works[i] = work{need: need, affinity: affinity, takes: time.Duration(need*(5+rng.Int64N(6))) * time.Millisecond}
			}
			w, notices, err := simulate(t, devices, works, 0)
			if err != nil || len(notices) > 0 || len(w.wrong) > 0 {
				rt.Fatalf("%v, notices %v, %q", err, notices, w.wrong)
			}
			for i, n := range w.done {
				if n != 1 {
					rt.Fatalf("task %d ended %d times", i, n)
				}
			}
			least := lowerBound(devices, works)
			worst = max(worst, float64(w.ended)/float64(least))
			if w.ended > least*3/2 {
				rt.Fatalf("it took %v, and no less than %v is possible: %+v devices, %d workers, %d tasks", w.ended, least, devices, workers, len(works))
			}
		}
	})
	t.Logf("at most %.2f of the lower bound", worst)
}

// TestFaults: whatever fails, tasks end once on some device or host, or there is an
// error that names those that could not, and nothing is reserved afterwards.
func TestFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		for range 10 {
			devices := make([]Device, rapid.SampledFrom([]int{1, 2, 3, 8}).Draw(rt, "devices"))
			for i := range devices {
				devices[i] = Device{Capacity: rapid.Int64Range(100, 1000).Draw(rt, "capacity"), Workers: rapid.IntRange(1, 4).Draw(rt, "workers")}
				if most := rapid.Int64Range(-500, 1000).Draw(rt, "most"); most >= 0 {
					devices[i].Most = func() int64 { return most }
				}
			}
			host := rapid.Bool().Draw(rt, "host")
			if host {
				devices = append(devices, Device{Capacity: rapid.Int64Range(10, 1000).Draw(rt, "host's capacity"), Workers: 2, Host: true})
			}
			ofAll := rapid.SampledFrom([][]fault{{none, memory}, {none, none, none, lost, drains}, {none, memory, lost}, {none, none, none, own}, {none, none, memory, panics}}).Draw(rt, "kinds")
			works := make([]work, rapid.IntRange(1, 30).Draw(rt, "tasks"))
			fatal := false
			for i := range works {
				works[i] = work{need: rapid.Int64Range(0, 1000).Draw(rt, "need"), host: rapid.Int64Range(0, 1000).Draw(rt, "host's need"),
					affinity: rapid.IntRange(-1, len(devices)-1).Draw(rt, "affinity"), takes: time.Duration(rapid.Int64Range(0, 100).Draw(rt, "takes")) * time.Millisecond,
					faults: rapid.SliceOfN(rapid.SampledFrom(ofAll), 0, 3).Draw(rt, "faults")}
				fatal = fatal || slices.Contains(works[i].faults, own) || slices.Contains(works[i].faults, panics)
			}
			w, _, err := simulate(t, devices, works, rapid.IntRange(0, 20).Draw(rt, "slow"))
			if len(w.wrong) > 0 {
				rt.Fatalf("%q", w.wrong)
			}
			if err != nil && host && !fatal {
				rt.Fatalf("with a host: %v", err)
			}
			for i, n := range w.done {
				if err == nil && n != 1 {
					rt.Fatalf("task %d ended %d times, and there is no error", i, n)
				}
			}
			if err != nil {
				for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
					if !errors.As(e, new(*TaskError)) && !errors.As(e, new(*DeadlockError)) || !strings.HasPrefix(e.Error(), "task ") {
						rt.Fatalf("an error without a task: %v", e)
					}
				}
			}
			for _, d := range w.s.devices {
				if d.reserved != 0 || len(d.running) != 0 || len(d.free) != d.Workers || d.alone {
					rt.Fatalf("%s is left with %d bytes reserved", d.Name, d.reserved)
				}
			}
			if len(w.s.waiting) > 0 || w.s.running != 0 {
				rt.Fatal("tasks are left")
			}
		}
	})
}

// Memory that was short beside others is tried again alone, and then on the host.
func TestMemory(t *testing.T) {
	devices := []Device{{Capacity: 1000, Workers: 4}, {Capacity: 1, Workers: 1, Host: true}}
	works := []work{{need: 100, takes: time.Second, faults: []fault{memory}}, {need: 90, host: 50, takes: time.Second, faults: []fault{memory, memory}}, {need: 80, takes: 5 * time.Second}}
	w, notices, err := simulate(t, devices, works, 0)
	if err != nil || len(w.wrong) > 0 {
		t.Fatal(err, w.wrong)
	}
	// Two beside the third, then each alone, and the second on the host.
	if w.ended != 8*time.Second {
		t.Errorf("it took %v", w.ended)
	}
	if len(notices) != 3 || !notices[0].Alone || !notices[1].Alone || notices[2].Alone || notices[2].Task != "task 1" {
		t.Errorf("said %v", notices)
	}
	if s := w.s.Stats(); s[0].Tasks != 2 || s[0].Failed != 3 || s[1].Tasks != 1 || s[1].Moved != 1 || s[0].Reserved != 270 || s[0].Busy != 7*time.Second || s[0].Work != 9*time.Second {
		t.Errorf("%+v", s)
	}
}

// Tasks run beside each other as far as the bytes suffice that a device says they may take, and one that needs more runs alone.
func TestMost(t *testing.T) {
	most := int64(0)
	devices := []Device{{Capacity: 10000, Workers: 4, Most: func() int64 { return most }}}
	works := []work{{need: 100, takes: time.Second}, {need: 100, takes: time.Second}, {need: 100, takes: time.Second}, {need: 300, takes: time.Second}}
	for _, c := range []struct {
		most, reserved int64
		ended          time.Duration
	}{{0, 600, time.Second}, {600, 600, time.Second}, {400, 400, 2 * time.Second}, {200, 300, 3 * time.Second}, {1, 300, 4 * time.Second}} {
		most = c.most
		w, notices, err := simulate(t, devices, works, 0)
		if err != nil || len(w.wrong) > 0 || len(notices) > 0 {
			t.Fatal(err, w.wrong, notices)
		}
		if s := w.s.Stats(); w.ended != c.ended || s[0].Reserved != c.reserved {
			t.Errorf("within %d bytes it took %v and %d bytes", c.most, w.ended, s[0].Reserved)
		}
	}
}

// The tasks of a lost device move, and it is reported once.
func TestLost(t *testing.T) {
	devices := []Device{{Capacity: 1000, Workers: 2}, {Capacity: 1000, Workers: 2}}
	works := make([]work, 8)
	for i := range works {
		works[i] = work{need: 10, takes: time.Second}
	}
	works[0].faults, works[1].faults = []fault{lost}, []fault{drains}
	w, notices, err := simulate(t, devices, works, 0)
	if err != nil || len(w.wrong) > 0 || len(notices) != 1 || notices[0].Fault != Lost {
		t.Fatal(err, w.wrong, notices)
	}
	if s := w.s.Stats(); !s[0].Lost || s[0].Tasks != 0 || s[0].Failed != 2 || s[1].Tasks != 8 || s[1].Moved != 8 {
		t.Errorf("%+v", s)
	}
	works[2].faults, works[3].faults = []fault{lost}, []fault{lost}
	_, _, err = simulate(t, devices, works, 0)
	var dead *DeadlockError
	if !errors.As(err, &dead) || !errors.Is(err, errLost) || !dead.Capacity[1].Lost {
		t.Errorf("no device is left: %v", err)
	}
}

// After a failure nothing new starts, and all errors are there, in the tasks' order.
func TestErrors(t *testing.T) {
	works := make([]work, 6)
	for i := range works {
		works[i] = work{need: int64(60 - i), takes: time.Duration(i+1) * time.Second}
	}
	works[0].faults, works[2].faults, works[1].faults = []fault{own}, []fault{panics}, []fault{memory}
	w, _, err := simulate(t, []Device{{Capacity: 1000, Workers: 3}}, works, 0)
	if len(w.wrong) > 0 || slices.Max(w.done) != 0 {
		t.Errorf("%q, done %v", w.wrong, w.done)
	}
	var p *PanicError
	if !errors.Is(err, errOwn) || !errors.Is(err, errMemory) || !errors.As(err, &p) || p.Value != "a bug" || !strings.Contains(string(p.Stack), "schedule_test.go") {
		t.Errorf("%v", err)
	}
	for i, line := range []string{"task 0 on device 0: the task's", "task 1 on device 0: no memory", "task 2 on device 0: panic: a bug"} {
		if all := err.(interface{ Unwrap() []error }).Unwrap(); len(all) != 3 || !strings.HasPrefix(all[i].Error(), line) {
			t.Errorf("error %d of %d: %v", i, len(all), all[i])
		}
	}
}

// What fits nowhere is an error that says how much there is, and a host takes it where
// there is one.
func TestDeadlock(t *testing.T) {
	devices := []Device{{Capacity: 100, Workers: 2}, {Capacity: 300, Workers: 2}}
	works := []work{{need: 50, takes: time.Second}, {need: 301, host: 7, takes: time.Second}, {need: 300, takes: time.Second}}
	w, _, err := simulate(t, devices, works, 0)
	var dead *DeadlockError
	if !errors.As(err, &dead) || dead.ID != "task 1" || dead.Need != 301 || len(dead.Capacity) != 2 || dead.Capacity[1].Bytes != 300 || len(w.wrong) > 0 {
		t.Errorf("%v, %q", err, w.wrong)
	}
	if want := "task 1 needs 301 bytes: device 0 has room for 100, device 1 has room for 300"; err == nil || err.Error() != want {
		t.Errorf("said %v", err)
	}
	w, _, err = simulate(t, append(devices, Device{Capacity: 1, Workers: 1, Host: true}), works, 0)
	if err != nil || len(w.wrong) > 0 || w.s.Stats()[2].Tasks != 1 {
		t.Errorf("%v, %q", err, w.wrong)
	}
}

// Memory that is pinned is not reserved, and the margin is of the rest.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld([]Device{{Capacity: 100, Workers: 2}}, 2)
		release := w.s.Pin(0, 40)
		works := []work{{need: 24, takes: time.Second}, {need: 24, takes: time.Second}}
		if err := w.s.Run(t.Context(), w.tasks(works), nil); err != nil || w.ended != time.Second {
			t.Errorf("of 60 bytes 48 can be reserved: it took %v, %v", w.ended, err)
		}
		w.started, w.done = time.Now(), []int{0, 0}
		works = []work{{need: 25, takes: time.Second}, {need: 25, takes: time.Second}}
		if err := w.s.Run(t.Context(), w.tasks(works), nil); err != nil || w.ended != 2*time.Second {
			t.Errorf("it took %v, %v", w.ended, err)
		}
		works[0].need = 61
		if err := w.s.Run(t.Context(), w.tasks(works), nil); !errors.As(err, new(*DeadlockError)) {
			t.Errorf("61 bytes beside 40 of 100: %v", err)
		}
		release()
		release()
		w.done = []int{0, 0}
		if err := w.s.Run(t.Context(), w.tasks(works), nil); err != nil {
			t.Error(err)
		}
		if s := w.s.Stats()[0]; s.Pinned != 40 {
			t.Errorf("%+v", s)
		}
	})
}

// A large task comes to its turn although small ones keep coming.
func TestNoStarvation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New([]Device{{Name: "d", Capacity: 1000, Workers: 4}}, judge)
		sleep := func(d time.Duration) func(context.Context, Worker) error {
			return func(context.Context, Worker) error { time.Sleep(d); return nil }
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 300 * time.Millisecond)
				for ctx.Err() == nil {
					if err := s.Run(t.Context(), []Task{{ID: "small", Need: 200, Run: sleep(time.Second)}}, nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		time.Sleep(5 * time.Second)
		began := time.Now()
		if err := s.Run(t.Context(), []Task{{ID: "large", Need: 800, Run: sleep(time.Second)}}, nil); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the large task waited %v", took)
		}
		cancel()
		wg.Wait()
	})
}

// When the context ends nothing new starts, and Run returns once all has ended.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld([]Device{{Capacity: 100, Workers: 1}}, 3)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		works := []work{{need: 3, takes: time.Second}, {need: 2, takes: time.Second}, {need: 1, takes: time.Second}}
		if err := w.s.Run(ctx, w.tasks(works), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(w.started); took != 1500*time.Millisecond || !slices.Equal(w.done, []int{1, 0, 0}) {
			t.Errorf("after %v: %v", took, w.done)
		}
		if err := w.s.Run(ctx, w.tasks(works), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestLongestFirst: tasks that took long the last time start before others, whatever memory they take.
func TestLongestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New([]Device{{Name: "one", Capacity: 1000, Workers: 1}}, nil)
		for run := range 3 {
			var order []int
			tasks := make([]Task, 4)
			for i := range tasks {
				like := any(i)
				if i == 0 {
					like = nil
				}
				tasks[i] = Task{Need: int64(100 - i), Like: like, Run: func(context.Context, Worker) error {
					order = append(order, i)
					time.Sleep(time.Duration(i) * time.Second)
					return nil
				}}
			}
			if err := s.Run(t.Context(), tasks, nil); err != nil {
				t.Fatal(err)
			}
			want := []int{3, 2, 1, 0} // of which the last one is not known
			if run == 0 {
				want = []int{0, 1, 2, 3}
			}
			if !slices.Equal(order, want) {
				t.Errorf("run %d: %v", run, order)
			}
		}
	})
}
