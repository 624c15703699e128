package prover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/plan"
	"github.com/prove-model/prove-model/prover/schedule"
	"github.com/prove-model/prove-model/prover/sites"
	"github.com/prove-model/prove-model/prover/transcript"
)

// Lanes are machines on which the forks of proofs are proved, several at once: after the
// root of the witness each depends on its own data alone. Several calls of Prove may
// share them.
type Lanes struct {
	Schedule *schedule.Scheduler
	// Machines are those of the scheduler's devices, in their order. The first one
	// commits and opens.
	Machines []Machine
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
	Host     bool // as of the scheduler's device
}

// Judge says whose a task's error on a device is (schedule.New), where memory is what an
// error wraps if the device was short of it. A claim that does not hold does not hold
// elsewhere either; whatever else a device fails with, it is not used again.
func Judge(memory error) func(error) schedule.Fault {
	return func(err error) schedule.Fault {
		switch {
		case errors.As(err, new(sites.ProverError)) || errors.As(err, new(*EstimateError)):
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
	m.backends[0] = l.Machines[0].Backend(p.Graph, wit)
	return m
}

// lane returns a backend for a task, and what to call when it has ended.
func (m *machines) lane(on schedule.Lane, first backend.Backend) (b backend.Backend, done func(), err error) {
	if on.Device == 0 {
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
	for _, b := range m.backends[1:] {
		if b != nil {
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
func (r *run) proveForks(main *transcript.Sponge, public sites.Public) ([]forked, error) {
	forks := r.plan.Forks
	results := make([]forked, len(forks))
	tasks := make([]schedule.Task, 0, len(forks))
	var mu sync.Mutex // of the progress
	done := 0
	for i, f := range forks {
		var ok bool
		if results[i], ok = r.resume(i, main, public); ok {
			done++
			if err := r.step(PhaseChunks, done, len(forks)); err != nil {
				return nil, err
			}
			continue
		}
		task := r.task(f)
		task.Run = func(ctx context.Context, on schedule.Lane) error {
			result, err := r.proveFork(ctx, f, main.Fork(uint64(i)), public, on)
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
		tasks = append(tasks, task)
	}
	r.home(tasks)
	return results, r.lanes.Schedule.Run(r.ctx, tasks, r.lanes.Warn)
}

// task describes the task of a fork.
func (r *run) task(f *plan.Fork) schedule.Task {
	t := schedule.Task{ID: fmt.Sprintf("chunk %d of %d", f.Chunk+1, r.plan.Graph.Chunks)}
	if f.Chunk < 0 {
		t.ID = "the outputs"
	}
	for k := range r.lanes.Machines {
		m := &r.lanes.Machines[k]
		if m.TaskNeed == nil {
			continue
		}
		if need := m.TaskNeed(r.plan, f); m.Host {
			t.HostNeed = max(t.HostNeed, need)
		} else {
			t.Need = max(t.Need, need)
		}
	}
	return t
}

// home gives neighbouring forks the same home, each machine that is no host as much to do
// as the others. Chunks are consecutive layers, so that what two of them read is on one
// device.
func (r *run) home(tasks []schedule.Task) {
	homes := 0
	for i := range r.lanes.Machines {
		if !r.lanes.Machines[i].Host {
			homes++ // hosts come last
		}
	}
	if homes < 2 {
		return
	}
	total := int64(0)
	for i := range tasks {
		total += tasks[i].Need + 1
	}
	before := int64(0)
	for i := range tasks {
		n := tasks[i].Need + 1
		tasks[i].Home = int((2*before + n) * int64(homes) / (2 * total))
		before += n
	}
}

// proveFork proves one fork on a lane.
func (r *run) proveFork(ctx context.Context, f *plan.Fork, start *transcript.Sponge, public sites.Public, on schedule.Lane) (_ forked, err error) {
	b, done, err := r.machines.lane(on, r.backend)
	if err != nil {
		return forked{}, err
	}
	defer done()
	w := transcript.NewWriter(start)
	party := r.party(ctx, w, b)
	claims := sites.Run(r.plan, f, party, public)
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
	if e.Took > e.Estimated+trackUnder || e.Estimated > e.Took+trackOver {
		return e
	}
	return nil
}
