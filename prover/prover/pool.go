package prover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"weak"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/schedule"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
)

// Pool is a set of machines that prove the sub-transcripts (forks) of a proof in parallel. Once the root of
// the witness has been sent, no sub-transcript depends on another. Several calls of Prove may share a Pool.
type Pool struct {
	Schedule *schedule.Scheduler
	// Machines has one machine for each device of the scheduler, in the same order, hosts last.
	Machines []Machine
	// First is the index of the machine that commits and opens.
	First int
	// Track makes a task fail if its memory estimate was more than trackUnder bytes too small,
	// or trackOver bytes too large. It applies to backends that are backend.Measured.
	Track bool
	// Warn, if set, is called for each sub-transcript that is proved again. Several goroutines
	// may call it.
	Warn func(schedule.Notice)
}

// Machine is a device of a Pool.
type Machine struct {
	// Backend makes the machine's backend for a proof.
	Backend func(*model.Graph, backend.Witness) backend.Backend
	// Parallel says that the backend is a backend.Parallel, whose workers prove sub-transcripts.
	// Otherwise the backend itself does, and the device has one worker.
	Parallel bool
	// TaskNeed estimates the bytes of the machine's memory that proving a sub-transcript takes, and Stays
	// the bytes that are pinned for the whole proof. A nil function stands for 0 bytes.
	TaskNeed func(p *plan.Plan, f *plan.Fork) int64
	Stays    func(p *plan.Plan) int64
	// Segments returns for every chunk of a plan the number of its recompute segment. Chunks of
	// one segment share recomputed values, and are begun before those of the next; the values
	// of at most together segments are in memory at once. If Segments or its result is nil,
	// chunks may be proved in any order. (Segments of a text are something else.)
	Segments func(p *plan.Plan) (of []int, together int)
	Host     bool // whether the machine is a host, as in schedule.Device
}

// Judge returns the function that tells the scheduler (schedule.New) how to treat an error of a task on a device. An error that wraps
// memory means that the device was short of memory. A claim that does not hold would fail on any device, and a wrong memory estimate
// is a fault of the program, so both end the proof. After any other error the device is not used again.
func Judge(memory error) func(error) schedule.Fault {
	return func(err error) schedule.Fault {
		switch {
		case errors.As(err, new(reduce.ProverError)) || errors.As(err, new(*EstimateError)):
			return schedule.Fatal
		case errors.Is(err, memory):
			return schedule.Memory
		}
		return schedule.Lost
	}
}

// poolOf returns a Pool of a single backend, which proves the sub-transcripts one after the
// other.
func poolOf(b func(*model.Graph, backend.Witness) backend.Backend) *Pool {
	s := schedule.New([]schedule.Device{{Name: "the prover", Workers: 1, Host: true}}, nil)
	return &Pool{Schedule: s, Machines: []Machine{{Backend: b, Host: true}}}
}

// machines has the backends of one proof. That of Pool.First is made at once, each other one when it is first used.
type machines struct {
	pool  *Pool
	p     *plan.Plan
	wit   backend.Witness
	holds []func() // release the memory that is pinned on the devices

	mu       sync.Mutex
	backends []backend.Backend // by machine of pool; nil until it is made
}

// newMachines pins memory for a proof on all machines, and makes the backend of the first.
func newMachines(l *Pool, p *plan.Plan, wit backend.Witness) *machines {
	m := &machines{pool: l, p: p, wit: wit, backends: make([]backend.Backend, len(l.Machines))}
	for i := range l.Machines {
		if stays := l.Machines[i].Stays; stays != nil {
			m.holds = append(m.holds, l.Schedule.Pin(i, stays(p)))
		}
	}
	m.backends[l.First] = l.Machines[l.First].Backend(p.Graph, wit)
	return m
}

// worker returns the backend on which a task runs, and a function to call when the task has ended. first is the backend of Pool.First.
func (m *machines) worker(on schedule.Worker, first backend.Backend) (b backend.Backend, done func(), err error) {
	if on.Device == m.pool.First {
		b = first
	} else {
		m.mu.Lock()
		if m.backends[on.Device] == nil {
			m.backends[on.Device] = m.pool.Machines[on.Device].Backend(m.p.Graph, m.wit)
		}
		b = m.backends[on.Device]
		m.mu.Unlock()
	}
	if !m.pool.Machines[on.Device].Parallel {
		return b, func() {}, nil
	}
	own, err := b.(backend.Parallel).Worker(on.Number)
	if err != nil {
		return nil, nil, err
	}
	return own, own.Close, nil
}

// close closes all backends but the first, which the run closes, and releases the pinned memory.
func (m *machines) close() {
	for i, b := range m.backends {
		if b != nil && i != m.pool.First {
			b.Close()
		}
	}
	for _, release := range m.holds {
		release()
	}
}

// forked is the result of proving one sub-transcript.
type forked struct {
	bytes  []byte             // what the prover has sent
	sponge *transcript.Sponge // the state at its end
	claims []plan.Claim       // on committed tensors
}

// proveForks proves all sub-transcripts, each on a free worker or in another process, and returns their results in order. Each
// starts from the state main. roots are the bytes that the proof has sent before that state: another process, which knows the
// statement, reads them to get to the same state.
//
// Results that are stored are taken first. The rest run as tasks, those of one recompute segment after those of the segment
// before (inTurn). Parts that another process has claimed and not finished by then are proved here as well.
func (r *run) proveForks(main *transcript.Sponge, roots []byte, public reduce.Public) ([]forked, error) {
	forks := r.plan.Forks
	all := newParts(r, main, public)
	segments, together := r.pool.segments(r.plan)
	tasks := make([][]schedule.Task, 1)
	if len(segments) > 0 {
		tasks = make([][]schedule.Task, slices.Max(segments)+1)
	}
	ahead, list := r.ahead(), r.pool.tasks(r.plan)
	var open []int // the sub-transcripts that have no result yet
	for i := range list {
		if result, ok := r.resume(i, main, public); ok {
			if err := all.put(i, result); err != nil {
				return nil, err
			}
			continue
		}
		ahead.needs = append(ahead.needs, list[i].Need)
		open = append(open, i)
	}
	shared := r.opts.Together
	if shared == nil {
		shared = alone{}
	}
	shared.Begin(roots, slices.DeleteFunc(byWork(r.plan), func(i int) bool { return !slices.Contains(open, i) }), all.accept)
	defer shared.End()
	task := func(i int, mine func(int) bool) schedule.Task {
		t := list[i]
		t.Run = func(ctx context.Context, on schedule.Worker) error {
			ahead.begins()
			defer ahead.ends()
			if !mine(i) {
				return nil
			}
			return all.race(ctx, i, func(ctx context.Context) error {
				result, err := r.proveFork(ctx, i, main.Fork(uint64(i)), public, on)
				if err != nil {
					return err
				}
				all.keep(i, result.bytes)
				return all.put(i, result)
			})
		}
		return t
	}
	for _, i := range open {
		in := len(tasks) - 1 // the outputs' sub-transcript goes with the last segment
		if c := forks[i].Chunk; c >= 0 && len(segments) > 0 {
			in = segments[c]
		}
		tasks[in] = append(tasks[in], task(i, shared.Claim))
	}
	if err := r.pool.inTurn(r.ctx, tasks, together); err != nil {
		return nil, err
	}
	var again []schedule.Task
	for _, i := range shared.Left() {
		again = append(again, task(i, func(int) bool { return !all.has(i) }))
	}
	if err := r.pool.Schedule.Run(r.ctx, again, r.pool.Warn); err != nil {
		return nil, err
	}
	return all.results, r.ctx.Err()
}

// segments returns the recompute segments of the chunks on the machine that commits (Machine.Segments). It has some only if it
// is the only GPU.
func (l *Pool) segments(p *plan.Plan) (of []int, together int) {
	if of := l.Machines[l.First].Segments; of != nil {
		return of(p)
	}
	return nil, 0
}

// task describes the task of proving a sub-transcript: its name, and the most memory that it needs on any GPU and on any host.
func (l *Pool) task(p *plan.Plan, f *plan.Fork) schedule.Task {
	t := schedule.Task{ID: fmt.Sprintf("chunk %d of %d", f.Chunk+1, p.Graph.Chunks), Like: weak.Make(f)}
	if f.Chunk < 0 {
		t.ID = "the outputs"
	}
	for k := range l.Machines {
		m := &l.Machines[k]
		if m.TaskNeed == nil {
			continue
		}
		if need := m.TaskNeed(p, f); m.Host {
			t.HostNeed = max(t.HostNeed, need)
		} else {
			t.Need = max(t.Need, need)
		}
	}
	return t
}

// blocksEach is the number of blocks of chunks that each GPU gets, if there are several.
const blocksEach = 8

// tasks describes the tasks of all sub-transcripts and assigns each to a GPU (the task's Affinity). It cuts the list of chunks into
// blocksEach blocks for each GPU, of about the same memory need, which stands for work here. The GPU with the least work so
// far gets the next block. Chunks are consecutive layers, so values that neighbouring chunks read are mostly on one GPU. The forward
// pass runs on one GPU at a time; as blocks alternate, the other GPUs can commit meanwhile to the chunks that they have.
func (l *Pool) tasks(p *plan.Plan) []schedule.Task {
	devices := int64(0)
	for i := range l.Machines {
		if !l.Machines[i].Host {
			devices++
		}
	}
	tasks := make([]schedule.Task, len(p.Forks))
	total := int64(0)
	for i, f := range p.Forks {
		tasks[i] = l.task(p, f)
		total += tasks[i].Need + 1
	}
	if devices == 0 {
		return tasks
	}
	before, block, at := int64(0), 0, 0 // the needs of the tasks so far, the number of the current block, and the GPU that has it
	sums := make([]int64, devices)
	for i := range tasks {
		n := tasks[i].Need + 1
		// The task is in the block that its middle falls into, if the sum of all needs is cut into blocks of equal length.
		if of := int(float64(blocksEach*devices) * (float64(before) + float64(n)/2) / float64(total)); of != block {
			block, at = of, slices.Index(sums, slices.Min(sums))
		}
		tasks[i].Affinity = at
		before, sums[at] = before+n, sums[at]+n
	}
	return tasks
}

// Affinities returns for each chunk of a plan the index of the machine that proves it, unless the scheduler moves
// it. The chunk's weights should be on that machine.
func (l *Pool) Affinities(p *plan.Plan) []int {
	devices := make([]int, p.Graph.Chunks)
	for i, t := range l.tasks(p) {
		if c := p.Forks[i].Chunk; c >= 0 {
			devices[c] = t.Affinity
		}
	}
	return devices
}

// proveFork proves sub-transcript i on a worker, from the forked state start. In a masked proof what it sends is masked with the
// sub-transcript's pads, and its claims are only completed by readBack.
func (r *run) proveFork(ctx context.Context, i int, start *transcript.Sponge, public reduce.Public, on schedule.Worker) (_ forked, err error) {
	b, done, err := r.machines.worker(on, r.backend)
	if err != nil {
		return forked{}, err
	}
	defer done()
	f, w := r.plan.Forks[i], transcript.NewWriter(start)
	if r.hiding != nil {
		w.Mask(r.plan.Pads.Of(i, r.hiding.secrets.Pads))
	}
	role := r.role(ctx, w, b)
	claims := reduce.Run(r.plan, f, role, public)
	if err := role.Err(); err != nil {
		return forked{}, err
	}
	if r.hiding != nil {
		w.Unmask()
	}
	if err := r.track(f, b, on); err != nil {
		return forked{}, err
	}
	return forked{bytes: slices.Clip(w.Bytes()), sponge: w.Sponge, claims: claims}, nil
}

// The bytes by which a memory estimate may be too small (trackUnder) or too large (trackOver), if Pool.Track is set.
const (
	trackUnder = 1 << 20
	trackOver  = 5 << 20
)

// EstimateError says that a task took more or less memory than was estimated, in bytes.
type EstimateError struct{ Estimated, Took int64 }

func (e *EstimateError) Error() string {
	return fmt.Sprintf("it took %d bytes of the device's memory, and %d were estimated", e.Took, e.Estimated)
}

// track compares the memory estimate of a sub-transcript with what its worker took.
func (r *run) track(f *plan.Fork, b backend.Backend, on schedule.Worker) error {
	need := r.pool.Machines[on.Device].TaskNeed
	m, ok := b.(backend.Measured)
	if !r.pool.Track || !ok || need == nil {
		return nil
	}
	e := &EstimateError{need(r.plan, f), m.Peak()}
	if r.tracked != nil {
		r.tracked(e)
	}
	if e.Took > e.Estimated+trackUnder || e.Estimated > e.Took+trackOver {
		return e
	}
	return nil
}
