package run

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Forward runs circuits on devices. The steps of a chunk run on the chunk's device, many of them in one launch,
// and all values stay there.
type Forward struct {
	// Contexts[i] is the device of chunk i. The last one is also the device of all further chunks.
	Contexts []*device.Context
	// Host is a number of entries: tensors with fewer are also downloaded to the host, all
	// at once when the run is over, since the processor makes their proofs.
	Host int
	// Watch, if set, is called when a run begins. It returns the run's Watcher, nil for none.
	Watch func(*Run) Watcher
}

var _ forward.Machine = (*Forward)(nil)

// Run implements forward.Machine. It returns nil and no error if the circuit is not for devices or if a number leaves its range: then the
// host has to run it. An error is the context's, or a device.Error. After an error it waits for all devices before it frees the run's
// memory, since each may be reading memory of another.
func (f *Forward) Run(ctx context.Context, g *model.Graph, weights model.Weights, inputs [][]int32) (forward.Kept, error) {
	if len(g.Hidden) > 0 { // runs with hidden inputs are made on the host
		return nil, nil
	}
	homes := make([]*device.Context, g.Chunks)
	for i := range homes {
		homes[i] = f.Contexts[min(i, len(f.Contexts)-1)]
	}
	p, err := takeProgram(g, weights, homes, f.Host)
	if errors.Is(err, errNot) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := newRun(p)
	ok, err := r.execute(ctx, inputs, f.Watch)
	if err != nil || !ok {
		for _, part := range p.parts {
			if part.m.Dev.Sync() != nil { // this machine may still read memory of others; err is the first error
				_ = part.m.Dev.Sync() // once more, for the work behind the call that failed
			}
		}
		r.Close()
		return nil, err
	}
	for _, part := range p.parts {
		part.m.Keep(r)
	}
	return r, nil
}

// A Watcher works on what a run has computed while the run goes on.
type Watcher interface {
	// Reached is called by the goroutine that enqueues the run, when all that the run computes in a chunk is enqueued on the
	// queue of the chunk's device, the counts of its look-ups included. Work that comes after that queue may read the chunk's values.
	Reached(ctx context.Context, r *Run, chunk int)
	// Close is called before the values are freed. When it returns, no work that the Watcher has enqueued may read them any more.
	Close()
}

// Watcher returns the run's Watcher, nil if it has none.
func (r *Run) Watcher() Watcher { return r.watcher }

// Worth estimates whether a forward pass takes less time on a GPU than on a processor with many
// cores. threshold is the least number of leaves of a look-up tree that is built on the GPU: with
// so many look-ups, a pass on the processor also has to upload their keys and values for the tree. Only
// speed depends on the answer.
func Worth(g *model.Graph, threshold int) bool {
	const (
		perRun, perStep      = 100_000, 8_000 // nanoseconds on a device: of a run and of a step, whatever is computed
		perEntry, perProduct = 4, 1.0 / 32    // nanoseconds on the processor: of an entry and of a multiplication
		perUpload            = 10_000         // nanoseconds to upload a list of keys or values
	)
	device, host := float64(perRun), 0.0
	lookUps, uploads := 0, 0
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Kind == model.StepZero {
			continue
		}
		n := float64(model.Size(s.Shape))
		device += perStep
		host += perEntry * n
		if s.Kind == model.StepLookup {
			lookUps, uploads = lookUps+int(n), uploads+2
		}
		for j := range s.Acc.Products {
			host += perProduct * n * float64(g.Terms(&s.Acc.Products[j], s.Shape))
		}
	}
	if lookUps >= threshold {
		host += perUpload * float64(uploads)
	}
	return device < host
}

// mostPrograms is how many programs a machine caches.
const mostPrograms = 4

// takeProgram returns a program of the circuit, from the cache of the first machine (programsOf) or compiled. A
// program is used by one run at a time: takeProgram removes it from the cache, and leave puts it back. Programs for the
// same circuit that are out of date are freed.
func takeProgram(g *model.Graph, weights model.Weights, homes []*device.Context, host int) (p *program, err error) {
	known := programsOf(homes[0])
	known.Lock()
	known.list = slices.DeleteFunc(known.list, func(x *program) bool {
		switch {
		case x.g != g || p != nil:
			return false
		case x.host == host && slices.Equal(x.Contexts, homes) && x.current(weights):
			p = x
		default:
			x.free()
		}
		return true
	})
	known.Unlock()
	if p == nil {
		return compile(g, weights, homes, host)
	}
	return p, nil
}

// leave puts the program into the cache, when the run that used it is over, and frees the oldest one if there are too many.
func (p *program) leave() {
	known := programsOf(p.Contexts[0])
	known.Lock()
	defer known.Unlock()
	if known.list = append(known.list, p); len(known.list) > mostPrograms {
		known.list[0].free()
		known.list = slices.Delete(known.list, 0, 1)
	}
}

// programs is the cache of a machine: programs that no run is using, oldest first.
type programs struct {
	sync.Mutex
	list []*program
}

// programsOf returns the cache of programs of a machine, which it keeps with the device (device.Context.Cached).
func programsOf(m *device.Context) *programs {
	return m.Cached(func() device.Closer { return &programs{} }).(*programs)
}

// Close implements device.Closer. The Context has closed all runs before, so all programs are in the cache.
func (p *programs) Close() {
	p.Lock()
	defer p.Unlock()
	for _, x := range p.list {
		x.free()
	}
	p.list = nil
}

// current says whether the program may be used: its weights are the given ones, they are still at the addresses in its records, and the
// mode is the same.
func (p *program) current(weights model.Weights) bool {
	if slices.ContainsFunc(p.parts, func(x *part) bool { return x.age != x.m.Generation() || x.mode.Forward() != x.m.Mode().Forward() }) {
		return false
	}
	for i := range p.g.Tensors {
		if p.g.Tensors[i].Kind == model.Fixed && !device.Same(p.weights[i], weights[i]) {
			return false
		}
	}
	return true
}

// A Run is a forward pass on devices and the values that it left there.
type Run struct {
	*program
	memory  map[*part]*memory
	watcher Watcher // nil if there is none
	once    sync.Once

	mu   sync.Mutex
	made map[int]*recomputed // by segment: the recomputed values that are on the device
}

// memory is the memory of a run on one machine, with the work in which its launches find it.
type memory struct {
	*device.Scope
	work
	host []byte // a copy of the small memory (part.small), once the run is over
}

var _ forward.Kept = (*Run)(nil)

// newRun returns a run of a program, without memory yet.
func newRun(p *program) *Run {
	r := &Run{program: p, memory: map[*part]*memory{}, made: map[int]*recomputed{}}
	for _, x := range p.parts {
		r.memory[x] = &memory{Scope: device.NewScope(x.m.Dev), work: work{dev: x.m.Dev, bases: kernels.Bases{Code: x.code}}}
	}
	return r
}

// bases returns the addresses of the run's memory on a machine. Bases.Again, the memory of a segment, is set only while the circuit is run.
func (r *Run) bases(p *part) *kernels.Bases { return &r.memory[p].bases }

// execute enqueues the program, waits for it, and reports whether all numbers were in range.
func (r *Run) execute(ctx context.Context, inputs [][]int32, watch func(*Run) Watcher) (ok bool, err error) {
	defer device.Catch(&err)
	for _, p := range r.parts {
		p.check(r.begin(p, inputs))
	}
	if watch != nil {
		r.watcher = watch(r)
	}
	for n := range len(r.ops) + 1 { // after n operations
		if n > 0 {
			device.Check(ctx.Err())
			op := r.ops[n-1]
			op.on.check(op.do(r))
		}
		for _, chunk := range r.completed[n] {
			if r.watcher != nil {
				r.watcher.Reached(ctx, r, chunk)
			}
		}
	}
	ok = true
	for _, p := range r.parts {
		m := r.memory[p]
		m.host = make([]byte, p.small)
		p.check(p.m.Dev.Download(m.host, m.bases.Small))
		ok = ok && m.host[0] == 0
		m.Free(m.acc)
		m.Free(m.bases.Again)
		m.acc, m.bases.Again = 0, 0
	}
	return ok, nil
}

// check gives up after an error. The error is of the part's machine unless it is a device.Error, which names another one.
func (p *part) check(err error) {
	if err != nil && !errors.As(err, new(*device.Error)) {
		err = &device.Error{On: p.m, Err: err}
	}
	device.Check(err)
}

// begin allocates the run's memory on one machine, clears the parts that begin as zeros, and uploads inputs and constants (part.puts).
func (r *Run) begin(p *part, inputs [][]int32) (err error) {
	defer device.Catch(&err)
	m := r.memory[p]
	for _, x := range []struct {
		at           *kernels.Ptr
		bytes, zeros int
	}{
		{&m.bases.Small, p.small, p.smallZeros}, {&m.bases.Large, p.large, p.largeZeros}, {&m.acc, 8 * p.sums, 0}, {&m.bases.Again, p.again, 0},
	} {
		if x.bytes > 0 {
			*x.at = device.Get(m.Alloc(x.bytes))
			device.Check(p.m.Dev.Clear(*x.at, x.zeros))
		}
	}
	for _, x := range p.puts {
		values := x.values
		if values == nil {
			values = ints.Int32s(inputs[x.input])
		}
		device.Check(device.UploadAs(p.m.Dev, x.tensor(r.bases(p)).Ptr, values, x.Width))
	}
	return nil
}

// keptOf returns the run that has the values of a witness on devices, nil if the host has them.
func keptOf(w backend.Witness) *Run {
	if k, ok := w.(interface{ Kept() forward.Kept }); ok {
		r, _ := k.Kept().(*Run)
		return r
	}
	return nil
}

// Close implements forward.Kept: it frees the values and gives the program back. Streams that read the values must
// have been waited for. It may be called several times.
func (r *Run) Close() {
	r.once.Do(func() {
		if r.watcher != nil {
			r.watcher.Close()
		}
		for p, m := range r.memory {
			m.Close()
			p.m.Drop(r)
		}
		r.dropSegments(true)
		r.leave()
	})
}
