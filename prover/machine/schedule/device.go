package schedule

import "time"

// Device has memory, and workers on which tasks run beside each other.
type Device struct {
	Name string
	// Capacity is the bytes that are free for tasks and for what is pinned.
	Capacity int64
	// Workers is the number of tasks that may run at once, 1 at least.
	Workers int
	// A Host is where tasks run for which no device will do. It takes a task that
	// needs more than its capacity, alone: its memory is no hard limit.
	Host bool
	// Most, if set, returns the most bytes that tasks may have reserved beside each other, 0 for what there is room for. One that needs
	// more runs alone.
	Most func() int64
	// Drain, if set, waits for all that was enqueued on a worker.
	Drain func(worker int) error
}

// margin returns the part of n bytes that is reserved at most. What is pinned is no part of
// them: it is known as well as what a task takes, and what the margin is for, memory
// that no block fits into, goes by what comes and goes.
func margin(n int64) int64 { return n / 5 * 4 }

// Stats are what a device did.
type Stats struct {
	Name string
	// Tasks ended well here, of which Moved have another affinity or were begun elsewhere.
	Tasks, Moved int
	// Failed is how many attempts ended with an error.
	Failed int
	// Busy is how long at least one task was running, Work the sum over tasks.
	Busy, Work time.Duration
	// Reserved and Pinned are the most bytes that were at once.
	Reserved, Pinned int64
	Lost             bool
}

// device is a Device with what goes on there.
type device struct {
	Device
	number   int
	free     []int // workers
	running  map[*job]struct{}
	reserved int64
	pinned   int64
	alone    bool // the one task that is running must stay so
	lost     bool
	since    time.Time // when it was last idle
	stats    Stats
}

func newDevice(d Device, number int) *device {
	d.Workers = max(d.Workers, 1)
	x := &device{Device: d, number: number, running: map[*job]struct{}{}, stats: Stats{Name: d.Name}}
	for i := range d.Workers {
		x.free = append(x.free, d.Workers-1-i)
	}
	return x
}

// holds says whether a task fits on the device, idle, beside so many pinned bytes.
func (d *device) holds(j *job, pinned int64) bool {
	return !d.lost && (d.Host || !j.hostOnly && j.task.need(d) <= d.Capacity-pinned)
}

// takes says whether a task that the device holds can start there now.
func (d *device) takes(j *job) bool {
	switch {
	case len(d.free) == 0 || d.alone || !d.holds(j, d.pinned):
		return false
	case len(d.running) == 0:
		return true
	case j.alone:
		return false
	default:
		return d.reserved+j.task.need(d) <= d.room()
	}
}

// room is how many bytes several tasks may have reserved together.
func (d *device) room() int64 {
	room := margin(d.Capacity - d.pinned)
	if d.Most == nil {
		return room
	}
	if most := d.Most(); most > 0 {
		room = min(room, most)
	}
	return room
}

// start reserves a worker and memory for a task.
func (d *device) start(j *job) (worker int) {
	worker = d.free[len(d.free)-1]
	d.free = d.free[:len(d.free)-1]
	if len(d.running) == 0 {
		d.since = time.Now()
	}
	d.running[j] = struct{}{}
	for other := range d.running {
		other.shared = len(d.running) > 1 || other.shared && other != j
	}
	d.alone = j.alone
	d.reserved += j.task.need(d)
	d.stats.Reserved = max(d.stats.Reserved, d.reserved)
	j.began = time.Now()
	return worker
}

// end gives back what start has reserved.
func (d *device) end(j *job, worker int) {
	d.free = append(d.free, worker)
	delete(d.running, j)
	d.alone = false
	d.reserved -= j.task.need(d)
	now := time.Now()
	d.stats.Work += now.Sub(j.began)
	if len(d.running) == 0 {
		d.stats.Busy += now.Sub(d.since)
	}
}
