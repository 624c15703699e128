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

// Lanes are machines on which the forks of proofs are proved, several at once: after the
// root of the witness each depends on its own data alone. Several calls of Prove may
// share them.
type Lanes struct {
	Schedule *schedule.Scheduler
	// Machines are those of the scheduler's devices, in their order, hosts last.
	Machines []Machine
	// First is the number of the machine that commits and opens.
	First int
	// Track has every task fail whose estimate is not what the lane's backend took, where
	// that is a backend.Measured: more than trackUnder bytes short, or trackOver too much.
	Track bool
	// Warn, if set, is told of forks that are proved again, by several goroutines.
	Warn func(schedule.Notice)
}

// Machine is a device of Lanes.
type Machine struct {
	// Backend makes the machine's backend for a proof.
	Backend func(*model.Graph, backend.Witness) backend.Backend
	// Laned says that forks are proved on lanes of the backend, which is a
	// backend.Laned. Otherwise they are on itself, and the device has one lane.
	Laned bool
	// TaskNeed estimates the bytes that proving a fork takes there, beside what stays as
	// long as the proof, which is Stays. Nil stands for none.
	TaskNeed func(p *plan.Plan, f *plan.Fork) int64
	Stays    func(p *plan.Plan) int64
	// Stretches numbers the chunks of a plan: those of one number want values that are there at
	// a time, with those of as many numbers as are together, and so they are proved before those
	// of the next. Nil, or a nil result, stands for any order.
	Stretches func(p *plan.Plan) (of []int, together int)
	Host      bool // as of the scheduler's device
}

// Judge says whose a task's error on a device is (schedule.New), where memory is what an
// error wraps if the device was short of it. A claim that does not hold does not hold
// elsewhere either; whatever else a device fails with, it is not used again.
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

// oneLane is what runs forks on a backend alone, in their order.
func oneLane(b func(*model.Graph, backend.Witness) backend.Backend) *Lanes {
	s := schedule.New([]schedule.Device{{Name: "the prover", Lanes: 1, Host: true}}, nil)
	return &Lanes{Schedule: s, Machines: []Machine{{Backend: b, Host: true}}}
}

// machines are the backends of one proof, by machine; those but the first are made when
// they are first wanted.
type machines struct {
	lanes *Lanes
	p     *plan.Plan
	wit   backend.Witness
	holds []func()

	mu       sync.Mutex
	backends []backend.Backend
}

func newMachines(l *Lanes, p *plan.Plan, wit backend.Witness) *machines {
	m := &machines{lanes: l, p: p, wit: wit, backends: make([]backend.Backend, len(l.Machines))}
	for i := range l.Machines {
		if stays := l.Machines[i].Stays; stays != nil {
			m.holds = append(m.holds, l.Schedule.Hold(i, stays(p)))
		}
	}
	m.backends[l.First] = l.Machines[l.First].Backend(p.Graph, wit)
	return m
}

// lane returns a backend for a task, and what to call when it has ended.
func (m *machines) lane(on schedule.Lane, first backend.Backend) (b backend.Backend, done func(), err error) {
	if on.Device == m.lanes.First {
		b = first
	} else {
		m.mu.Lock()
		if m.backends[on.Device] == nil {
			m.backends[on.Device] = m.lanes.Machines[on.Device].Backend(m.p.Graph, m.wit)
		}
		b = m.backends[on.Device]
		m.mu.Unlock()
	}
	if !m.lanes.Machines[on.Device].Laned {
		return b, func() {}, nil
	}
	own, err := b.(backend.Laned).Lane(on.Number)
	if err != nil {
		return nil, nil, err
	}
	return own, own.Close, nil
}

// close gives everything back but the first backend, which the run closes.
func (m *machines) close() {
	for i, b := range m.backends {
		if b != nil && i != m.lanes.First {
			b.Close()
		}
	}
	for _, release := range m.holds {
		release()
	}
}

// forked is what proving a fork leaves.
type forked struct {
	bytes  []byte
	sponge *transcript.Sponge
	claims []plan.Claim
}

// proveForks proves all forks, on whatever lane is free, and returns what they leave in
// their order. Each begins from the same state of the transcript.
func (r *run) proveForks(main *transcript.Sponge, public reduce.Public) ([]forked, error) {
	forks := r.plan.Forks
	results := make([]forked, len(forks))
	stretches, together := r.lanes.stretches(r.plan)
	tasks := make([][]schedule.Task, 1)
	if len(stretches) > 0 {
		tasks = make([][]schedule.Task, slices.Max(stretches)+1)
	}
	var mu sync.Mutex // of the progress
	done := 0
	ahead := r.ahead()
	for i, task := range r.lanes.tasks(r.plan) {
		var ok bool
		if results[i], ok = r.resume(i, main, public); ok {
			done++
			if err := r.step(PhaseChunks, done, len(forks)); err != nil {
				return nil, err
			}
			continue
		}
		ahead.needs = append(ahead.needs, task.Need)
		task.Run = func(ctx context.Context, on schedule.Lane) error {
			ahead.begins()
			defer ahead.ends()
			result, err := r.proveFork(ctx, forks[i], main.Fork(uint64(i)), public, on)
			if err != nil {
				return err
			}
			if kept := r.opts.Results; kept != nil {
				kept.KeepFork(i, result.bytes)
			}
			results[i] = result
			mu.Lock()
			defer mu.Unlock()
			done++
			return r.step(PhaseChunks, done, len(forks))
		}
		in := len(tasks) - 1 // that of the outputs
		if c := forks[i].Chunk; c >= 0 && len(stretches) > 0 {
			in = stretches[c]
		}
		tasks[in] = append(tasks[in], task)
	}
	return results, r.lanes.inTurn(r.ctx, tasks, together)
}

// stretches is that of the machine that commits, which runs circuits by stretches only alone.
func (l *Lanes) stretches(p *plan.Plan) (of []int, together int) {
	if of := l.Machines[l.First].Stretches; of != nil {
		return of(p)
	}
	return nil, 0
}

// task describes the task of a fork.
func (l *Lanes) task(p *plan.Plan, f *plan.Fork) schedule.Task {
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

// tasks describes the tasks of all forks. Neighbours have the same home, and each
// machine that is no host as much to do as the others: chunks are consecutive layers, so
// that what two of them read is on one device.
func (l *Lanes) tasks(p *plan.Plan) []schedule.Task {
	homes := int64(0)
	for i := range l.Machines {
		if !l.Machines[i].Host {
			homes++
		}
	}
	tasks := make([]schedule.Task, len(p.Forks))
	total := int64(0)
	for i, f := range p.Forks {
		tasks[i] = l.task(p, f)
		total += tasks[i].Need + 1
	}
	before := int64(0)
	for i := range tasks {
		n := tasks[i].Need + 1
		if homes > 0 {
			tasks[i].Home = int(float64(homes) * (float64(before) + float64(n)/2) / float64(total))
		}
		before += n
	}
	return tasks
}

// Homes returns the machine that each chunk of a plan is proved on if nothing comes
// between: where its weights are wanted.
func (l *Lanes) Homes(p *plan.Plan) []int {
	homes := make([]int, p.Graph.Chunks)
	for i, t := range l.tasks(p) {
		if c := p.Forks[i].Chunk; c >= 0 {
			homes[c] = t.Home
		}
	}
	return homes
}

// proveFork proves one fork on a lane.
func (r *run) proveFork(ctx context.Context, f *plan.Fork, start *transcript.Sponge, public reduce.Public, on schedule.Lane) (_ forked, err error) {
	b, done, err := r.machines.lane(on, r.backend)
	if err != nil {
		return forked{}, err
	}
	defer done()
	w := transcript.NewWriter(start)
	party := r.party(ctx, w, b)
	claims := reduce.Run(r.plan, f, party, public)
	if err := party.Err(); err != nil {
		return forked{}, err
	}
	if err := r.track(f, b, on); err != nil {
		return forked{}, err
	}
	return forked{bytes: slices.Clip(w.Bytes()), sponge: w.Sponge, claims: claims}, nil
}

// What an estimate may be off by.
const (
	trackUnder = 1 << 20
	trackOver  = 5 << 20
)

// EstimateError says that a task took other memory than was estimated.
type EstimateError struct{ Estimated, Took int64 }

func (e *EstimateError) Error() string {
	return fmt.Sprintf("it took %d bytes of the device's memory, and %d were estimated", e.Took, e.Estimated)
}

// track holds the estimate of a fork against what a lane took.
func (r *run) track(f *plan.Fork, b backend.Backend, on schedule.Lane) error {
	need := r.lanes.Machines[on.Device].TaskNeed
	m, ok := b.(backend.Measured)
	if !r.lanes.Track || !ok || need == nil {
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
