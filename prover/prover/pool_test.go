package prover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/conformance"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/schedule"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

var errShort = errors.New("short of memory")

// A farm are workers of devices that are the CPU with faults, and of the CPU.
type farm struct {
	devices, workers int
	capacity         int64 // of the first device; others have more
	host             bool
	first            int                         // the machine that commits and opens
	faults           map[int]*conformance.Faults // by device
}

// chunkNeed is the estimate of a farm's tasks.
func chunkNeed(_ *plan.Plan, f *plan.Fork) int64 { return 1000 + 100*int64(f.Chunk) }

func (c *farm) open(warn func(schedule.Notice)) *Pool {
	l := &Pool{Warn: warn, First: c.first}
	var devices []schedule.Device
	for i := range c.devices {
		devices = append(devices, schedule.Device{Name: fmt.Sprintf("device %d", i), Capacity: c.capacity + 700*int64(i), Workers: c.workers})
		faults := c.faults[i]
		if faults == nil {
			faults = &conformance.Faults{}
		}
		l.Machines = append(l.Machines, Machine{Parallel: true, TaskNeed: chunkNeed, Backend: func(g *model.Graph, w backend.Witness) backend.Backend {
			p := backend.Policy{Warn: func(error) {}, Passes: func(err error) bool { return errors.Is(err, errShort) }}
			return backend.NewFallback(g, conformance.Faulty{Of: cpu.New(g, w), Faults: faults}, cpu.New(g, w), p)
		}})
	}
	if c.host {
		devices = append(devices, schedule.Device{Name: "processor", Capacity: c.capacity, Workers: c.workers, Host: true})
		l.Machines = append(l.Machines, Machine{Parallel: true, Host: true, TaskNeed: chunkNeed, Backend: func(g *model.Graph, w backend.Witness) backend.Backend { return cpu.New(g, w) }})
	}
	l.Schedule = schedule.New(devices, Judge(errShort))
	return l
}

// TestPool: the same bytes, or one clean error, for any number of devices and workers,
// of any memory, whatever fails.
func TestPool(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hash.Blake3, 100)
	wit := f.run(t)
	prove := func(opts Options) ([]byte, error) {
		var buf bytes.Buffer
		_, err := Prove(context.Background(), f.key, f.b.g.Instance, f.tree, wit, &buf, opts)
		return buf.Bytes(), err
	}
	want, err := prove(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.b.g.Chunks < 5 {
		t.Fatalf("%d chunks are too few", f.b.g.Chunks)
	}
	kinds := map[string]func(at int) *conformance.Faults{
		"sound":  func(int) *conformance.Faults { return &conformance.Faults{} },
		"memory": func(at int) *conformance.Faults { return &conformance.Faults{Bad: at, Err: errShort} },
		"short":  func(at int) *conformance.Faults { return &conformance.Faults{Bad: at, Err: errShort, ForGood: true} },
		"launch": func(at int) *conformance.Faults { return &conformance.Faults{Bad: at} },
		"lost":   func(at int) *conformance.Faults { return &conformance.Faults{Bad: at, ForGood: true} },
		"slow":   func(int) *conformance.Faults { return &conformance.Faults{Slow: 20 * time.Microsecond} },
		"panic":  func(at int) *conformance.Faults { return &conformance.Faults{Bad: at, Panic: true} },
	}
	survived := 0 // runs in which something failed
	for i, c := range []farm{
		{devices: 0, workers: 1, capacity: 1, host: true}, {devices: 0, workers: 3, capacity: 5000, host: true},
		{devices: 1, workers: 1, capacity: 1 << 20, host: true}, {devices: 1, workers: 4, capacity: 4000}, {devices: 2, workers: 2, capacity: 1500, host: true},
		{devices: 3, workers: 1, capacity: 4000, first: 2}, {devices: 8, workers: 2, capacity: 1 << 20}, {devices: 8, workers: 4, capacity: 100, host: true},
	} {
		for k, kind := range slices.Sorted(maps.Keys(kinds)) {
			faults := kinds[kind]
			if !*full && (i+k)%3 > 0 { // every kind on some farms, and every farm with some kinds
				continue
			}
			bad := faults(40)
			c.faults = map[int]*conformance.Faults{c.devices / 2: bad}
			var notices atomic.Int32
			got, err := prove(Options{Pool: c.open(func(schedule.Notice) { notices.Add(1) })})
			name := fmt.Sprintf("%d devices, %d workers, %d bytes, host %v, %s", c.devices, c.workers, c.capacity, c.host, kind)
			if err == nil {
				if !bytes.Equal(got, want) {
					t.Errorf("%s: another proof", name)
				}
				// A device that the others leave little to do may not come to its fault.
				failed := bad.Bad > 0 && bad.Calls >= bad.Bad
				if failed {
					survived++
				}
				if c.capacity > 1000 && failed != (notices.Load() > 0) {
					t.Errorf("%s: %d tasks were tried again", name, notices.Load())
				}
				continue
			}
			// A panic is an error. Without a host, so is the loss of the only device, and
			// memory that is short when nothing else runs.
			short := kind == "short" || kind == "memory"
			if kind != "panic" && (c.host || c.devices > 1 && !short) {
				t.Errorf("%s: %v", name, err)
			}
			if !errors.As(err, new(*schedule.TaskError)) && !errors.As(err, new(*schedule.DeadlockError)) {
				t.Errorf("%s: not the error of a task: %v", name, err)
			}
		}
	}
	if survived == 0 {
		t.Error("nothing failed")
	}
}

// Two devices share the work, in turns.
func TestHomes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hash.Poseidon2, 100)
	c := farm{devices: 2, workers: 1, capacity: 1 << 20}
	l := c.open(nil)
	p, err := f.key.Plan(f.b.g.Instance)
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(context.Background(), f.key, p, f.tree, f.run(t), Options{Pool: l})
	defer r.close()
	tasks := l.tasks(p)
	var sums [2]int64
	turns := 0
	for i, x := range tasks {
		if i > 0 && x.Affinity != tasks[i-1].Affinity {
			turns++
		}
		sums[x.Affinity] += x.Need
	}
	if most := 2*blocksEach - 1; turns < min(most, len(tasks)-1)/2 || turns > most {
		t.Errorf("%d turns of %d tasks", turns, len(tasks))
	}
	if 2*sums[0] < sums[1] || 2*sums[1] < sums[0] {
		t.Errorf("%v bytes by affinity", sums)
	}
	if err := r.prove(&bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	for _, s := range l.Schedule.Stats() {
		if s.Tasks == 0 {
			t.Errorf("%+v", s)
		}
	}
}
