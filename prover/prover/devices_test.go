package prover

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/peers"
	cudarun "github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/machine/schedule"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
)

var full = flag.Bool("full", false, "try all cases of tests that else take a few of each kind; make full does")

// layered is a stack of dense layers, each a chunk: [rows, width] times [width, width]. With
// the small table kernels on the host take little time.
func layered(layers, rows, width int, small bool) *builder {
	rng := rand.New(rand.NewPCG(1, 4))
	b := &builder{}
	x := b.input(rows, width)
	var relu model.TableID
	shift := 6
	if !small {
		relu = b.relu()
	} else {
		shift = 8
		relu = b.table(model.Table{Name: "small relu", Kind: model.TablePiecewise, Bits: 6, Min: -32, Pieces: []model.Piece{{End: 32}, {End: 64, Slope: 1}}})
	}
	for i := range layers {
		w := b.fixed(rng, 3, width, width)
		x = b.requantise(fmt.Sprintf("layer %d", i), []int{rows, width}, model.Acc{Products: []model.Product{
			{Coef: 1, A: x, B: w, LabelsA: []int{0, 5}, LabelsB: []int{1, 5}}}}, shift, relu)
	}
	b.g.Outputs = []model.TensorID{x}
	b.g.Finish(2*rows*width + 1)
	return b
}

var errOffBus = errors.New("the device fell off the bus")

// rig are devices with streams on one that computes, and the processor.
type rig struct {
	capacities []int
	gpus       []kernels.Device // in place of devices with streams, if set
	workers    int
	host       bool
	forward    bool                         // they run the circuit as well
	drops      bool                         // and keep no keys
	again      bool                         // nor values
	ahead      bool                         // but those of the next segment, too
	warn       func(error)                  // is told of what the processor does for a device, if set
	alone      bool                         // the last device reaches no other one
	fault      func(op string, n int) error // of the last device
}

func (c *rig) open(on kernels.Device) (l *Pool, machines []*cuda.Machine, streams []*devicetest.Streams, closeAll func()) {
	l = &Pool{}
	warn := func(error) {}
	if c.warn != nil {
		warn = c.warn
	}
	var devices []schedule.Device
	for i, bytes := range c.capacities {
		var fault func(string, int) error
		if i == len(c.capacities)-1 {
			fault = c.fault
		}
		s := devicetest.NewStreams(on, bytes, fault)
		if c.alone && i == len(c.capacities)-1 {
			s.Alone()
		}
		m := cuda.NewMachine(s)
		if c.gpus != nil {
			m = cuda.NewMachine(c.gpus[i])
		}
		m.Streams = c.workers
		m.SetMode(device.Mode{Keys: c.drops, Values: c.again, Ahead: c.ahead})
		need := func(p *plan.Plan, f *plan.Fork) int64 {
			n, err := m.TaskNeed(p, f)
			if err != nil {
				panic(err)
			}
			return n
		}
		streams, machines = append(streams, s), append(machines, m)
		devices = append(devices, schedule.Device{Name: fmt.Sprintf("GPU %d", i), Capacity: int64(bytes), Workers: c.workers, Drain: m.Drain})
		l.Machines = append(l.Machines, Machine{Parallel: true, TaskNeed: need, Stays: m.Stays, Segments: m.Segments, Backend: func(g *model.Graph, w backend.Witness) backend.Backend {
			team := &peers.Group{}
			for _, x := range machines {
				if x != m {
					team.Others = append(team.Others, x.Context)
				}
			}
			return backend.NewFallback(g, m.BackendWith(team, g, w), cpu.New(g, w), backend.Policy{Warn: warn, Passes: func(err error) bool { return errors.Is(err, kernels.ErrMemory) }})
		}})
	}
	if c.host {
		devices = append(devices, schedule.Device{Name: "processor", Capacity: 1 << 30, Workers: 1, Host: true})
		l.Machines = append(l.Machines, Machine{Parallel: true, Host: true, Backend: func(g *model.Graph, w backend.Witness) backend.Backend { return cpu.New(g, w) }})
	}
	l.Schedule = schedule.New(devices, Judge(kernels.ErrMemory))
	return l, machines, streams, func() {
		for i, m := range machines {
			m.Close()
			streams[i].Drain() // what a fault has left
		}
	}
}

// run runs a circuit on the devices of its chunks, without devices that have failed.
func (b *builder) runOn(t *testing.T, l *Pool, machines []*cuda.Machine, key *proof.Key, wit *forward.Witness) *forward.Witness {
	t.Helper()
	p, err := key.Plan(b.g.Instance)
	if err != nil {
		t.Fatal(err)
	}
	var inputs [][]int32
	for _, id := range b.g.Inputs {
		inputs = append(inputs, wit.Tensor(id))
	}
	var sent []backend.Commitment
	for i := range p.Trees {
		if p.Trees[i].Sent() {
			sent = append(sent, p.Trees[i].Commitment)
		}
	}
	on := &cudarun.Forward{Watch: func(r *cudarun.Run) cudarun.Watcher {
		if a := peers.NewAhead(r, &b.g, 0, sent); a != nil {
			return a
		}
		return nil
	}}
	for _, at := range l.Affinities(p) {
		on.Contexts = append(on.Contexts, machines[at].Context)
	}
	for range machines {
		w, err := forward.RunOn(t.Context(), on, &b.g, b.w, inputs)
		var failed *device.Error
		switch {
		case err == nil:
			return w
		case !errors.As(err, &failed):
			t.Fatal(err)
		}
		for i := range on.Contexts {
			if on.Contexts[i] == failed.On {
				on.Contexts[i] = machines[0].Context
			}
		}
	}
	return wit
}

// TestDevices: the same bytes, or one clean error, on one, two, three and eight devices
// of unequal memory, with one worker and several, whatever fails; and nothing is left on
// any of them.
func TestDevices(t *testing.T) {
	t.Parallel()
	dev := devicetest.Open(t)
	b := layered(5, 2, 12, true)
	wit := b.run(t, rand.New(rand.NewPCG(1, 4)))
	sec := proof.Security{TargetBits: 40, GrindBits: 2}
	key, tree, err := Commit(context.Background(), b.g.Template(), b.w, sec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b.g.Chunks < 5 {
		t.Fatalf("%d chunks", b.g.Chunks)
	}
	prove := func(wit *forward.Witness, opts Options) ([]byte, error) {
		var buf bytes.Buffer
		_, err := Prove(context.Background(), key, b.g.Instance, tree, wit, &buf, opts)
		return buf.Bytes(), err
	}
	want, err := prove(wit, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const large = 1 << 24
	at := func(from, to int, err error) func(string, int) error {
		return func(_ string, n int) error {
			if n >= from && n <= to {
				return err
			}
			return nil
		}
	}
	cases := map[string]rig{
		"one":                 {capacities: []int{large}, workers: 1},
		"one, workers":        {capacities: []int{large}, workers: 4, host: true},
		"two, workers":        {capacities: []int{large, large / 2}, workers: 2},
		"three":               {capacities: []int{large / 2, large, large / 4}, workers: 1},
		"eight, small":        {capacities: []int{large, 1, 1, large, 100, large, 5000, 300000}, workers: 2, host: true},
		"none large enough":   {capacities: []int{5000, 1000}, workers: 2, host: true},
		"allocation":          {capacities: []int{large, large}, workers: 3, host: true, fault: at(150, 150, devicetest.ErrInjected)},
		"launch":              {capacities: []int{large, large}, workers: 3, fault: onceInFork(errOffBus)},
		"lost":                {capacities: []int{large, large}, workers: 2, fault: at(160, 1<<30, errOffBus)},
		"only one, lost":      {capacities: []int{large}, workers: 2, host: true, fault: at(300, 1<<30, errOffBus)},
		"only one, no way":    {capacities: []int{large}, workers: 2, fault: at(300, 1<<30, errOffBus)},
		"slow":                {capacities: []int{large, large}, workers: 1, fault: func(string, int) error { time.Sleep(20 * time.Microsecond); return nil }},
		"forward, two":        {capacities: []int{large, large}, workers: 2, forward: true},
		"forward, alone":      {capacities: []int{large, large}, workers: 1, forward: true, alone: true},
		"forward, eight":      {capacities: []int{large / 2, large, 40000, large, large, 5000, large / 4, large}, workers: 2, forward: true, host: true},
		"forward, lost":       {capacities: []int{large, large, large}, workers: 2, forward: true, fault: at(20, 1<<30, errOffBus)},
		"keys made again":     {capacities: []int{large, large}, workers: 2, forward: true, drops: true},
		"again, alone":        {capacities: []int{large, large}, workers: 2, forward: true, drops: true, alone: true},
		"again, eight":        {capacities: []int{large / 2, large, 40000, large, large, 5000, large / 4, large}, workers: 2, forward: true, drops: true, host: true},
		"again, then lost":    {capacities: []int{large, large}, workers: 2, forward: true, drops: true, fault: at(130, 1<<30, errOffBus)},
		"values made again":   {capacities: []int{large}, workers: 1, forward: true, again: true},
		"values, workers":     {capacities: []int{large}, workers: 3, forward: true, again: true},
		"values, ahead":       {capacities: []int{large}, workers: 3, forward: true, again: true, ahead: true},
		"values, ahead, lost": {capacities: []int{large}, workers: 3, forward: true, again: true, ahead: true, host: true, fault: at(150, 1<<30, errOffBus)},
		"values, lost":        {capacities: []int{large}, workers: 2, forward: true, again: true, host: true, fault: at(150, 1<<30, errOffBus)},
		"values, no memory":   {capacities: []int{large}, workers: 2, forward: true, again: true, host: true, fault: at(170, 173, devicetest.ErrInjected)},
		"kept, then lost":     {capacities: []int{large, large}, workers: 2, forward: true, fault: at(130, 1<<30, errOffBus)},
		"no reading there":    {capacities: []int{large, large}, workers: 2, forward: true, fault: func(op string, _ int) error { return read(op) }},
		"panic in a backend":  {capacities: []int{large, large}, workers: 2, fault: func(string, int) error { panics(inFork()); return nil }},
	}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		if testing.Short() && c.host || !*full && i%2 != 0 {
			continue
		}
		l, machines, streams, closeAll := c.open(dev)
		on := wit
		if c.forward {
			on = b.runOn(t, l, machines, key, wit)
		}
		got, err := prove(on, Options{Pool: l})
		if c.forward {
			on.Close()
		}
		closeAll()
		switch {
		case name == "only one, no way" || strings.HasPrefix(name, "panic"):
			if err == nil || !errors.As(err, new(*schedule.TaskError)) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || !bytes.Equal(got, want):
			t.Errorf("%s: another proof, or %v", name, err)
		}
		for i, s := range streams {
			if s.Live() != 0 {
				t.Errorf("%s: %d bytes are left on device %d", name, s.Live(), i)
			}
		}
		stats := l.Schedule.Stats()
		if copied := streams[0].Copied(); name == "forward, two" && copied == 0 || name == "forward, alone" && copied > 0 {
			t.Errorf("%s: %d bytes were copied", name, copied)
		}
		if name == "two, workers" && (stats[0].Tasks == 0 || stats[1].Tasks == 0 || stats[0].Pinned == 0) {
			t.Errorf("%s: %+v", name, stats)
		}
		if lost := slices.ContainsFunc(stats, func(s schedule.Stats) bool { return s.Lost }); lost != (errors.Is(err, errOffBus) || c.fault != nil && (name == "launch" || strings.Contains(name, "lost"))) {
			t.Errorf("%s: lost %v: %+v", name, lost, stats)
		}
	}
}

// TestAhead: devices hash what they have computed while others go on with the run, so that the commitment hashes nothing, and the
// proof is the same. One that is short of memory then, or that has failed, leaves it to the commitment.
func TestAhead(t *testing.T) {
	t.Parallel()
	dev := devicetest.Open(t)
	b := layered(6, 2, 12, true)
	wit := b.run(t, rand.New(rand.NewPCG(1, 4)))
	key, tree, err := Commit(t.Context(), b.g.Template(), b.w, proof.Security{TargetBits: 20, GrindBits: 2}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if _, err := Prove(t.Context(), key, b.g.Instance, tree, wit, &want, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		fault       func(op string) error // while the run is hashed
		busy        bool                  // it has values of another run
		ahead, late bool                  // whether the last device hashes while it runs, and when it commits
	}{
		{name: "all", ahead: true},
		{name: "another run", busy: true, late: true},
		{name: "no memory", ahead: true, late: true, fault: func(op string) error {
			if op == "alloc" {
				return devicetest.ErrInjected
			}
			return nil
		}},
		{name: "a launch fails", ahead: true, late: true, fault: func(op string) error {
			if op == "launch" {
				return devicetest.ErrInjected
			}
			return nil
		}},
	} {
		var ahead, late atomic.Bool
		r := rig{capacities: []int{1 << 30, 1 << 30}, workers: 2, forward: true, warn: func(err error) { t.Error(c.name, err) }, fault: func(op string, _ int) error {
			switch {
			case within("(*Ahead).Reached"):
				ahead.Store(true)
				if c.fault != nil {
					return c.fault(op)
				}
			case op == "launch" && within("(*groupHasher).Digests"):
				late.Store(true)
			}
			return nil
		}}
		l, machines, streams, closeAll := r.open(dev)
		if c.busy {
			machines[1].Keep(nothing{})
		}
		on := b.runOn(t, l, machines, key, wit)
		var got bytes.Buffer
		if _, err := Prove(t.Context(), key, b.g.Instance, tree, on, &got, Options{Pool: l}); err != nil {
			t.Fatal(c.name, err)
		}
		on.Close()
		closeAll()
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: another proof", c.name)
		}
		if ahead.Load() != c.ahead || late.Load() != c.late {
			t.Errorf("%s: hashed while it runs: %v, when it commits: %v", c.name, ahead.Load(), late.Load())
		}
		for i, s := range streams {
			if s.Live() != 0 {
				t.Errorf("%s: %d bytes are left on device %d", c.name, s.Live(), i)
			}
		}
	}
}

// nothing has no memory to give back.
type nothing struct{}

func (nothing) Close() {}

// TestTwoGPUs is for two GPUs, which run a circuit of many chunks and prove it, again and
// again, with the CPU's bytes: what one has computed the other one copies.
func TestTwoGPUs(t *testing.T) {
	gpus, ok := devicetest.Two(t)
	if !ok {
		t.Skip("PROVE_MODEL_TEST_GPU is not 1, or there is one GPU")
	}
	b := layered(12, 200, 300, false)
	wit := b.run(t, rand.New(rand.NewPCG(1, 4)))
	key, tree, err := Commit(t.Context(), b.g.Template(), b.w, proof.DefaultSecurity, Options{})
	if err != nil {
		t.Fatal(err)
	}
	prove := func(wit *forward.Witness, opts Options) []byte {
		var buf bytes.Buffer
		if _, err := Prove(t.Context(), key, b.g.Instance, tree, wit, &buf, opts); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	want := prove(wit, Options{})
	for _, workers := range []int{1, 4} {
		c := rig{capacities: []int{1 << 32, 1 << 32}, gpus: gpus[:], workers: workers, forward: true}
		l, machines, _, closeAll := c.open(nil)
		for range 10 {
			on := b.runOn(t, l, machines, key, wit)
			got := prove(on, Options{Pool: l})
			on.Close()
			if !bytes.Equal(got, want) {
				t.Errorf("%d workers: another proof", workers)
			}
		}
		for i, m := range machines {
			t.Logf("%d workers, GPU %d: %+v", workers, i, m.Traffic())
			if m.Traffic().Copied == 0 {
				t.Error("nothing was copied")
			}
		}
		closeAll()
	}
}

// read is the fault of a device from which no other one can read.
func read(op string) error {
	if op == "read" {
		return errOffBus
	}
	return nil
}

// inFork says whether a fork is being proved by the caller.
func inFork() bool { return within("proveFork") }

// within says whether the caller is called by a function with a name that ends so.
func within(name string) bool {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

// onceInFork is a fault of the first operation of a fork.
func onceInFork(err error) func(string, int) error {
	var done atomic.Bool
	return func(string, int) error {
		if inFork() && done.CompareAndSwap(false, true) {
			return err
		}
		return nil
	}
}

func panics(now bool) {
	if now {
		panic("a bug")
	}
}

// TestTrackMemory: what tasks take is what was estimated, and one that takes more or less
// is an error. The kernels do not run, and the prover does not look at its claims: so
// this is about sizes for which the limits of Pool.Track are tight.
func TestTrackMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		b         *builder
		threshold int
	}{
		{"small", layered(3, 2, 12, true), 0}, {"layers", layered(3, 600, 700, false), 0}, {"powers of two", layered(2, 512, 1024, false), backend.DefaultThreshold},
		{"everything", everything(rand.New(rand.NewPCG(1, 2))), 0},
		{"keys made again", layered(3, 600, 700, false), 0}, {"some made again", layered(2, 512, 1024, false), backend.DefaultThreshold},
	} {
		if c.name == "everything" {
			c.b.g.Finish(200)
		}
		wit := c.b.run(t, rand.New(rand.NewPCG(3, 4)))
		sec := proof.Security{TargetBits: 40, GrindBits: 2}
		p, err := plan.New(&c.b.g, sec.Config())
		if err != nil {
			t.Fatal(err)
		}
		for _, more := range []int64{0, trackOver + 1<<20, -2 * trackUnder} {
			if more != 0 && c.name != "small" {
				continue
			}
			m := cuda.NewMachine(kernels.NewDry(132))
			m.Threshold = c.threshold
			if strings.HasSuffix(c.name, "made again") {
				m.SetMode(device.Mode{Keys: true})
				inputs := [][]int32{wit.Tensor(c.b.g.Inputs[0])}
				on := &cudarun.Forward{Contexts: []*device.Context{m.Context}, Host: c.threshold}
				if wit, err = forward.RunOn(t.Context(), on, &c.b.g, c.b.w, inputs); err != nil || wit.Kept() == nil {
					t.Fatal(err)
				}
			}
			need := func(p *plan.Plan, f *plan.Fork) int64 {
				n, err := m.TaskNeed(p, f)
				if err != nil {
					t.Error(err)
				}
				return n + more
			}
			l := &Pool{Track: true, Schedule: schedule.New([]schedule.Device{{Name: "dry", Workers: 1, Capacity: 1 << 40}}, Judge(kernels.ErrMemory))}
			l.Machines = []Machine{{Parallel: true, TaskNeed: need, Backend: func(g *model.Graph, w backend.Witness) backend.Backend {
				return backend.NewFallback(g, m.Backend(g, w), cpu.New(g, w), backend.Policy{Threshold: c.threshold})
			}}}
			r := newRun(context.Background(), &proof.Key{}, p, nil, wit, Options{Pool: l})
			defer r.close()
			r.role = reduce.NewUncheckedProver
			largest := int64(0)
			r.tracked = func(e *EstimateError) {
				largest = max(largest, e.Took)
				// What is small hides behind the limits.
				if off := e.Estimated - more - e.Took; off < -closeBytes-e.Took/100 || off > closeBytes+e.Took/20 {
					t.Errorf("%s: %d bytes, estimated %d", c.name, e.Took, e.Estimated-more)
				}
			}
			main := proof.NewHeader(r.key, p).Statement(r.public(p.Graph.Inputs), r.public(p.Graph.Outputs))
			_, err := r.proveForks(main, nil, reduce.Public{Inputs: r.public(p.Graph.Inputs), Outputs: r.public(p.Graph.Outputs)})
			r.close()
			m.Close()
			if failed := errors.As(err, new(*EstimateError)); failed != (more != 0) || err != nil && !failed {
				t.Errorf("%s, %d more: %v", c.name, more, err)
			}
			if more == 0 {
				t.Logf("%s: the largest task took %d bytes", c.name, largest)
			}
		}
	}
}

// closeBytes is what an estimate may be off by in a test beside a part of it.
const closeBytes = 16 << 10

// TestValuesAgain: the CPU's bytes where values of the circuit are made again by its segments,
// for commitments whose rows are shorter than the table's and others; what a run keeps is less.
func TestValuesAgain(t *testing.T) {
	t.Parallel()
	dev := devicetest.Open(t)
	all := everything(rand.New(rand.NewPCG(1, 2)))
	all.g.Finish(100)
	for i, b := range []*builder{layered(12, 16, 8, true), layered(4, 1, 20, true), all} {
		wit := b.run(t, rand.New(rand.NewPCG(1, 4)))
		key, tree, err := Commit(t.Context(), b.g.Template(), b.w, proof.Security{TargetBits: 20, GrindBits: 2}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if _, err := Prove(t.Context(), key, b.g.Instance, tree, wit, &want, Options{}); err != nil {
			t.Fatal(err)
		}
		kept := make([]int64, 4)
		for try, again := range []bool{false, true, true, true} { // then one segment ahead, then with some that keep theirs
			if !*full && (try < 3 && b == all || try > 0 && try < 3 && i == 1) { // the host takes long, and the last one has every kind of step as well
				continue
			}
			var made atomic.Bool // for a commitment
			r := rig{capacities: []int{1 << 26}, workers: 2, forward: true, again: again, warn: func(err error) { t.Error(err) }, fault: func(op string, _ int) error {
				if op == "launch" && within("(*Leader).commit") && within("(*Run).enter") {
					made.Store(true)
				}
				return nil
			}}
			l, machines, streams, closeAll := r.open(dev)
			how := device.Mode{Rows: again, Values: again, Ahead: try >= 2}
			if try == 3 {
				how.Kept = 2
			}
			machines[0].SetMode(how)
			machines[0].MaxResident, machines[0].Piece = 0, 1<<12
			on := b.runOn(t, l, machines, key, wit)
			var buf bytes.Buffer
			if _, err := Prove(t.Context(), key, b.g.Instance, tree, on, &buf, Options{Pool: l}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(buf.Bytes(), want.Bytes()) {
				t.Errorf("circuit %d: another proof", i)
			}
			if s := l.Schedule.Stats()[0]; s.Failed > 0 || s.Lost {
				t.Errorf("circuit %d: %+v", i, s)
			}
			p, err := key.Plan(b.g.Instance)
			if err != nil {
				t.Fatal(err)
			}
			if of, together := machines[0].Segments(p); again && (slices.Max(of) < 1 || together != min(try, 2)) {
				t.Errorf("circuit %d: segments %v, %d together", i, of, together)
			}
			kept[try] = machines[0].Traffic().Live // and the weights
			if made.Load() {
				t.Errorf("circuit %d: values are made again for the commitment, which could be hashed while the circuit was run", i)
			}
			on.Close()
			closeAll()
			if streams[0].Live() != 0 {
				t.Errorf("circuit %d: %d bytes are left", i, streams[0].Live())
			}
		}
		t.Logf("circuit %d: %d chunks, a run keeps %d bytes", i, b.g.Chunks, kept)
		if i > 0 && !*full {
			continue
		}
		if kept[1] >= kept[0] || kept[3] <= kept[2] {
			t.Errorf("circuit %d: a run keeps %d bytes, %d where values are made again, and %d where two segments keep theirs", i, kept[0], kept[1], kept[3])
		}
	}
}
