package provemodel

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/schedule"
	"github.com/prove-model/prove-model/prover/math/arena"
)

// A limit changes no byte; one that is too small is refused before anything is done, with
// the least that will do.
func TestLimitMemory(t *testing.T) {
	c, in := commit(t, quick...)
	p, err := Prove(t.Context(), c, in, proveWith(quick...))
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Circuit().Estimate(in, commitWith(quick...), proveWith(quick...))
	if err != nil {
		t.Fatal(err)
	}
	if e.Memory < e.Beside || e.Least < 64<<20 || e.Commit <= 0 || e.Prove <= 0 || e.Device != 0 {
		t.Errorf("%+v", *e)
	}
	small, err := LimitMemory(64<<20, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var short *MemoryError
	if _, err := Prove(t.Context(), c, in, proveWith(quick...)); !errors.As(err, &short) || short.Limit != 64<<20 || short.Least != e.Least {
		t.Errorf("%v", err)
	}
	if _, err := Commit(t.Context(), c.Circuit(), commitWith(quick...)); !errors.As(err, &short) {
		t.Errorf("a commitment: %v", err)
	}
	if _, err := LimitMemory(1<<40, ""); !errors.Is(err, arena.ErrBound) {
		t.Errorf("a second limit: %v", err)
	}
	if _, err := small(); err != nil {
		t.Error(err)
	}
	large, err := LimitMemory(e.Least, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other, q := prove(t, quick...)
	filed, err := large()
	if err != nil || runtime.GOOS == "linux" && filed == 0 {
		t.Errorf("%d bytes in files, %v", filed, err)
	}
	if other.Commitment() != c.Commitment() || !slices.Equal(p.File, q.File) {
		t.Error("another key or proof")
	}
	if arena.Bounded() != 0 {
		t.Error("the limit is still in force")
	}
}

// What a float model's run takes is known before it is run.
func TestFloatRunWithinMemory(t *testing.T) {
	quantised := func(outputs ...int) error {
		b := graph.NewBuilder("wide")
		x := b.Expand(b.Input("x", graph.Float, []int{1}), []int{outputs[0], 1 << 10})
		b.At("Relu", "large")
		y := b.Apply(graph.Relu, x)
		if len(outputs) == 1 {
			y = b.Reduce(graph.Sum, y, []int{0, 1}, true)
		}
		b.Output("y", y)
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		_, err = Quantise(t.Context(), NewModel(g), []Input{{{1}}}, nil)
		return err
	}
	end, err := LimitMemory(255<<20, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var short *MemoryError
	if err := quantised(1 << 14); !errors.As(err, &short) || short.Least != 2<<14<<10<<3 || !strings.Contains(short.At, `"large`) {
		t.Errorf("a run of two values of 2^24 elements in 255 MB: %v", err)
	}
	if _, err := end(); err != nil {
		t.Error(err)
	}
	if err := quantised(1<<14+1, 0); err == nil || !strings.Contains(err.Error(), `output "y"`) {
		t.Errorf("an output of more than 2^24 entries: %v", err)
	}
}

// counting is a device that only counts, of which so many bytes are free.
type counting struct {
	*kernels.Dry
	free int64
}

func (c counting) Available() (free, total int64, err error) { return c.free, c.free, nil }

// Where a GPU has room for the whole proof, the estimate has for the process what is left for it, and for the GPU what it takes, which a
// budget bounds; where it has none, what the processor takes, which may do all.
func TestEstimateOnDevice(t *testing.T) {
	b := graph.NewBuilder("wide")
	x := b.Expand(b.Input("x", graph.Float, []int{1}), []int{1 << 11, 1 << 10})
	for range 3 {
		x = b.Apply(graph.Relu, b.Add(x, x))
	}
	b.Output("y", b.Reduce(graph.Sum, x, []int{0, 1}, true))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	in := Input{{1}}
	c, err := Quantise(t.Context(), NewModel(g), []Input{in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	on := func(free, budget int64) *Estimate {
		dev, err := openGPU(t.Context(), &GPUOptions{MemoryBudget: budget}, finds(counting{kernels.NewDry(132), free}))
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		e, err := c.Estimate(in, nil, &ProveOptions{Device: dev, MemoryBudget: budget})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	processor, err := c.Estimate(in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := on(1<<40, 0)
	if whole.Beside > processor.Beside/2 || whole.Memory > processor.Memory*2/3 || whole.Device < 1<<20 || whole.DeviceBeside > whole.Device || whole.DeviceShort {
		t.Errorf("a GPU does all: %+v; the processor: %+v", *whole, *processor)
	}
	within := on(1<<40, whole.DeviceBeside*19/20)
	if within.DeviceBeside > whole.DeviceBeside*19/20 || within.Beside != whole.Beside || within.DeviceShort {
		t.Errorf("in a budget of nineteen parts in twenty of %d bytes: %+v", whole.DeviceBeside, *within)
	}
	if e := on(1<<40, 1); !e.DeviceShort || e.DeviceBeside <= 1 || e.Beside != whole.Beside {
		t.Errorf("in a budget of one byte: %+v", *e)
	}
	if e := on(1<<20, 0); !e.DeviceShort || e.Beside != processor.Beside || e.Least != processor.Least || e.Memory != processor.Memory {
		t.Errorf("on a GPU of 1 MB: %+v; on the processor %+v", *e, *processor)
	}
}

// A budget that a proof cannot keep within is warned of once for all proofs on a device, and one that is not reached bounds nothing.
func TestBudgetTold(t *testing.T) {
	r := &recorder{t: t}
	w := newWatch(r)
	defer w.stop()
	o := &ProveOptions{Device: &Device{}, MemoryBudget: 1 << 30, CacheDir: t.TempDir()}
	for _, c := range []struct {
		beside int64
		bound  int64
		told   int
	}{{1 << 30, 0, 0}, {9 << 30, 8 << 30, 1}, {9 << 30, 8 << 30, 1}} {
		release, err := o.bounded(&Estimate{Memory: 10 << 30, Beside: c.beside, Least: 8 << 30}, w)
		if err != nil {
			t.Fatal(err)
		}
		if got := arena.Bounded(); got != c.bound || len(r.log) != c.told {
			t.Errorf("%d bytes beside the weights: %d are the bound, said %q", c.beside, got, r.log)
		}
		release()
	}
}

// Chunks that are proved at once on a GPU keep within the budget, beside what stays there, however much more is free; one that
// takes more is proved alone.
func TestBudgetOfChunks(t *testing.T) {
	_, c := writingAs(t, &OpenOptions{Tokens: 32, MaxTokens: 2})
	p, err := c.key.Plan(model.Instance{Sizes: []int{22, 1}, Segment: &model.Segment{}, ChunkEntries: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	// What chunks reserve at once, and the most that one takes.
	run := func(budget int64) (together, largest, stays int64) {
		dev, err := openGPU(t.Context(), &GPUOptions{Required: true, Threshold: 1 << 6, MemoryBudget: budget}, finds(counting{kernels.NewDry(132), 1 << 40}))
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		warned := 0
		set := dev.set()
		set.Reserve(p, 1, func(string, ...any) { warned++ })
		pool := set.Prover(devices.Share{}, nil).Pool
		gpu, need := pool.Machines[0], set.Takes(p)
		if over := budget > 0 && need.Beside > budget; over != (warned == 1) {
			t.Errorf("%d warnings in a budget of %d of a proof that takes %d", warned, budget, need.Beside)
		}
		synctest.Test(t, func(t *testing.T) {
			var tasks []schedule.Task
			var mu sync.Mutex
			running := int64(0)
			add := func(n int64) {
				mu.Lock()
				defer mu.Unlock()
				running += n
				together = max(together, running)
			}
			for _, f := range p.Forks {
				n := gpu.TaskNeed(p, f)
				largest = max(largest, n)
				tasks = append(tasks, schedule.Task{Need: n, Run: func(context.Context, schedule.Worker) error {
					add(n)
					time.Sleep(time.Second)
					add(-n)
					return nil
				}})
			}
			if err := pool.Schedule.Run(t.Context(), tasks, nil); err != nil {
				t.Error(err)
			}
		})
		return together, largest, gpu.Stays(p) - (need.Peak - need.Beside)
	}
	free, largest, stays := run(0)
	if free < 7*largest {
		t.Fatalf("without a budget chunks take %d bytes at once, and one up to %d", free, largest)
	}
	budget := stays + 3*largest
	if together, _, stays := run(budget); together+stays > budget || together < 2*largest {
		t.Errorf("chunks of up to %d bytes take %d at once beside %d, in a budget of %d", largest, together, stays, budget)
	}
	if together, largest, _ := run(1); together != largest {
		t.Errorf("in a budget of one byte chunks take %d at once, and one up to %d", together, largest)
	}
}
