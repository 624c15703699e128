package devices

import (
	"cmp"
	"math"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/peers"
	"github.com/prove-model/prove-model/prover/machine/schedule"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/prover"
)

// Stats says what a GPU, or the processor, did for the proofs made so far.
type Stats struct {
	Name string `json:"name"`
	// Chunks is the number of chunks that were proved here. Moved is how many of these were
	// planned for another device or begun there. Failed counts attempts that ended with an
	// error.
	Chunks int `json:"chunks"`
	Moved  int `json:"moved"`
	Failed int `json:"failed"`
	// Busy is how long at least one chunk was being proved. Work is the sum of the times of all chunks, which may overlap.
	Busy float64 `json:"busy_seconds"`
	Work float64 `json:"work_seconds"`
	// Reserved is the greatest sum of the estimates of chunks that were proved at the same
	// time. Pinned is the most that was kept for a whole proof. Peak is the most that was
	// allocated, 0 for the processor. Copied counts bytes that came directly from other
	// GPUs.
	Reserved   int64 `json:"reserved_bytes"`
	Pinned     int64 `json:"pinned_bytes"`
	Peak       int64 `json:"peak_bytes"`
	Uploaded   int64 `json:"uploaded_bytes"`
	Downloaded int64 `json:"downloaded_bytes"`
	Copied     int64 `json:"copied_bytes"`
	// Resident is the number of bytes of weights that are on the GPU.
	Resident int64 `json:"resident_bytes"`
	// Recomputed names what did not fit on the GPU in the last proof and was recomputed on
	// demand: "rows" of the opening, "keys" of look-ups, "values".
	Recomputed []string `json:"recomputed,omitempty"`
	Lost       bool     `json:"lost"`
}

// Stats returns the Stats of all devices, GPUs first; nothing if no proof was begun.
func (d *Set) Stats() []Stats {
	d.mu.Lock()
	s := d.schedule
	d.mu.Unlock()
	if s == nil {
		return nil
	}
	all := []Stats{}
	for i, x := range s.Stats() {
		y := Stats{Name: x.Name, Chunks: x.Tasks, Moved: x.Moved, Failed: x.Failed, Lost: x.Lost,
			Busy: x.Busy.Seconds(), Work: x.Work.Seconds(), Reserved: x.Reserved, Pinned: x.Pinned}
		if i < len(d.gpus) {
			t := d.gpus[i].machine.Traffic()
			y.Peak, y.Uploaded, y.Downloaded, y.Copied = t.Peak, t.Uploaded, t.Downloaded, t.Copied
			y.Resident = int64(d.gpus[i].machine.Reserved())
			y.Recomputed = d.gpus[i].machine.Mode().Recomputed()
		}
		all = append(all, y)
	}
	return all
}

// Share says how much of the processor proofs may use: memory in bytes for the chunks that are proved at once, and the
// greatest number of these.
type Share struct {
	Memory  int64 // 0: defaultShare
	Workers int   // 0: 1
}

// defaultShare is the memory of a Share that does not say.
const defaultShare = 8 << 30

func (s Share) bytes() int64 { return cmp.Or(s.Memory, defaultShare) }

// scheduler returns the Set's scheduler. The first call makes it, with the processor's
// share `of`.
func (d *Set) scheduler(of Share) *schedule.Scheduler {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.schedule != nil {
		return d.schedule
	}
	var devices []schedule.Device
	for _, g := range d.gpus {
		x := schedule.Device{Name: g.name, Capacity: int64(g.free), Workers: g.streams, Most: g.machine.Spare, Drain: g.machine.Drain}
		if g.free == 0 {
			x.Capacity = math.MaxInt64 // the driver does not tell the free memory
		}
		devices = append(devices, x)
	}
	if !d.required || len(d.gpus) == 0 {
		devices = append(devices, schedule.Device{Name: "processor", Capacity: of.bytes(), Workers: max(1, of.Workers), Host: true})
	}
	d.schedule = schedule.New(devices, prover.Judge(kernels.ErrMemory))
	for _, g := range d.gpus {
		if !g.works() {
			d.schedule.Lose(g.number)
		}
	}
	return d.schedule
}

// machines returns the devices that chunks are proved on, in the order of the scheduler's devices.
func (d *Set) machines(s Share, warn Log) *prover.Pool {
	l := &prover.Pool{Schedule: d.scheduler(s), Track: d.track, Warn: func(n schedule.Notice) { d.notice(n, warn) }}
	for _, g := range d.gpus {
		l.Machines = append(l.Machines, prover.Machine{
			Parallel: true,
			Backend:  func(gr *model.Graph, wit backend.Witness) backend.Backend { return d.backendOn(g, warn, gr, wit) },
			TaskNeed: func(p *plan.Plan, f *plan.Fork) int64 { return d.taskNeed(g, p, f) },
			Stays:    g.machine.Stays,

			Segments: g.machine.Segments,
		})
	}
	if g := d.first(); g != nil {
		l.First = g.number
	} else if !d.required {
		l.First = len(d.gpus)
	}
	if !d.required || len(d.gpus) == 0 {
		l.Machines = append(l.Machines, prover.Machine{
			Parallel: true, Host: true,
			Backend:  func(g *model.Graph, wit backend.Witness) backend.Backend { return cpu.New(g, wit) },
			TaskNeed: func(p *plan.Plan, f *plan.Fork) int64 { return cpu.TaskNeed(p.Graph, f) },
		})
	}
	return l
}

// backendOn makes a backend on a GPU; on the processor if the GPU has failed.
func (d *Set) backendOn(on *gpu, warn Log, g *model.Graph, wit backend.Witness) backend.Backend {
	c := cpu.New(g, wit)
	if on == nil || !on.works() {
		return c
	}
	return backend.NewFallback(g, on.machine.BackendWith(d.team(on, warn), g, wit), c, d.policy(on, warn))
}

// shared is how many times the threshold the number of values of a commitment must be, at
// least, for several GPUs to make it together.
const shared = 64

// leastShared is the least number of values of a commitment that several GPUs make together.
func (d *Set) leastShared() int { return shared * d.threshold }

// team returns the group of GPUs that help the GPU `on` make commitments.
func (d *Set) team(on *gpu, warn Log) *peers.Group {
	t := &peers.Group{Least: d.leastShared(), Lost: func(failed *device.Error) {
		for _, g := range d.gpus {
			if g.machine.Context == failed.On {
				d.fail(g, warn, failed)
			}
		}
	}}
	for _, g := range d.gpus {
		if g != on && g.works() {
			t.Others = append(t.Others, g.machine.Context)
		}
	}
	return t
}

// taskNeed estimates how many bytes the sub-transcript f, of a chunk or of the public outputs, takes on a GPU.
func (d *Set) taskNeed(g *gpu, p *plan.Plan, f *plan.Fork) int64 {
	n, err := g.machine.TaskNeed(p, f)
	if err != nil { // for sizes that no device can take
		n = g.machine.Need(p).Tasks
	}
	return n
}

// notice warns about a chunk that is proved again, because its device failed or was short of memory.
func (d *Set) notice(n schedule.Notice, warn Log) {
	switch {
	case n.Fault == schedule.Lost:
		for _, g := range d.gpus {
			if g.name == n.Device {
				d.fail(g, warn, n.Err)
			}
		}
	case n.Alone:
		warn("%s was short of memory on %s: %v; it is tried again alone", n.Task, n.Device, n.Err)
	default:
		warn("%s was short of memory on %s: %v; it is proved on the CPU", n.Task, n.Device, n.Err)
	}
}

// Foresee warns, before any work, if the largest chunk does not fit on any GPU or, without
// GPUs, into the processor's share.
func (d *Set) Foresee(s Share, p *plan.Plan, warn Log) {
	var largest *plan.Fork
	var need, room int64
	needs := make([]int64, len(p.Forks)*len(d.gpus))
	parallel.For(len(needs), 1, func(from, to int) {
		for i := from; i < to; i++ {
			needs[i] = d.taskNeed(d.gpus[i%len(d.gpus)], p, p.Forks[i/len(d.gpus)])
		}
	})
	for i, n := range needs {
		if n > need {
			need, largest = n, p.Forks[i/len(d.gpus)]
		}
	}
	for _, g := range d.gpus {
		if g.free == 0 {
			return
		}
		room = max(room, int64(g.free)-g.machine.Stays(p))
	}
	if largest != nil && need > room {
		d.WarnOnce("large chunk", warn, "chunk %d of %d takes about %.2f GB beside what stays on a GPU, and no GPU has more than %.2f GB for it: it will be proved on the CPU",
			largest.Chunk+1, p.Graph.Chunks, float64(need)/1e9, float64(max(room, 0))/1e9)
	}
	if len(d.gpus) > 0 {
		return
	}
	need = 0
	for _, f := range p.Forks {
		if n := cpu.TaskNeed(p.Graph, f); n > need {
			need, largest = n, f
		}
	}
	if need > s.bytes() {
		d.WarnOnce("large chunk", warn, "chunk %d of %d takes about %.2f GB, and the budget is %.2f GB: it will be proved alone", largest.Chunk+1, p.Graph.Chunks, float64(need)/1e9, float64(s.bytes())/1e9)
	}
}
