package schedule

import "time"

// Device describes a device: its memory, and the number of tasks that it runs at once.
type Device struct {
	Name string
	// Capacity is the bytes that are free for tasks and for what is pinned (Scheduler.Pin).
	Capacity int64
	// Workers is the number of tasks that may run at once, 1 at least.
	Workers int
	// A Host runs the tasks that fit on no other device. It also takes a task that needs
	// more than its capacity, alone: its memory is no hard limit.
	Host bool
	// Most, if set, returns the most bytes that several tasks may have reserved together, 0 for no bound but the
	// capacity. A task that needs more runs alone.
	Most func() int64
	// Drain, if set, waits for all that was enqueued on a worker. It is called after every
	// task, before the task's memory counts as free; its error is the task's.
	Drain func(worker int) error
}

// margin returns how much of n bytes several tasks may reserve together: four fifths. The
// rest allows for fragmentation: gaps of free memory into which no block fits. They come
// from blocks that come and go, so n is without pinned memory, which stays.
func margin(n int64) int64 { return n / 5 * 4 }

// Stats are what a device has done so far.
type Stats struct {
	Name string
	// Tasks is how many tasks ended well here. Of them, Moved have another affinity, or failed before in an earlier attempt.
	Tasks, Moved int
	// Failed is how many attempts ended with an error.
	Failed int
	// Busy is how long at least one task was running, Work the sum over tasks.
	Busy, Work time.Duration
	// Reserved and Pinned are the most bytes that were reserved, and pinned, at once.
	Reserved, Pinned int64
	Lost             bool
}

// device is a Device and its state. Scheduler.mu protects it.
type device struct {
	Device
	number   int   // index in Scheduler.devices
	free     []int // numbers of idle workers
	running  map[*job]struct{}
	reserved int64 // bytes, by the running tasks
	pinned   int64 // bytes
	alone    bool  // the one task that is running must have no other beside it
	lost     bool
	since    time.Time // when it began to run something, after it was idle
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

// holds says whether a task would fit on the device if it were idle and had so many pinned bytes.
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

// start reserves a worker and memory for a task, and notes for all running tasks whether others run beside them.
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
