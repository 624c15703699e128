package schedule

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// patience is how many times tasks further back in the queue may start before a waiting
// one, until a device is kept free for it.
const patience = 16

// Scheduler runs tasks on devices. It is safe for concurrent use: the tasks of several
// calls share the devices.
type Scheduler struct {
	judge func(error) Fault

	mu       sync.Mutex // protects all below, and the jobs and calls
	devices  []*device
	waiting  []*job                // in the order of enqueue
	arrivals int                   // jobs so far, which numbers them
	running  int                   // attempts that run now, on all devices
	took     map[any]time.Duration // by Task.Like: how long the last such task took
}

// mostTimes bounds Scheduler.took, which is cleared when it is full.
const mostTimes = 1 << 12

// New returns a scheduler. judge says what kind of error a task's error is, for devices
// that are no hosts; on a host every error is Fatal, as panics are anywhere.
func New(devices []Device, judge func(error) Fault) *Scheduler {
	s := &Scheduler{judge: judge, took: map[any]time.Duration{}}
	for i, d := range devices {
		s.devices = append(s.devices, newDevice(d, i))
	}
	return s
}

// job is a task that waits or runs.
type job struct {
	task     *Task
	call     *call
	took     time.Duration // how long the last task with the same Like took, 0 if that is not known
	index    int           // of the task in its call
	arrival  int
	passed   int  // how many jobs further back in the queue have started before this one
	alone    bool // memory was short while others ran beside it: it must run alone on its device
	hostOnly bool // memory was short although it ran alone: it must run on a host
	shared   bool // others have run beside it in this attempt
	attempts int
	began    time.Time  // this attempt
	last     *TaskError // of the last attempt that failed, nil if none has
}

// call is one call of Run.
type call struct {
	ctx    context.Context
	left   int     // jobs that wait, that run, or whose notice is still to be given
	failed bool    // no more of its jobs are started
	errs   []error // by task
	notice func(Notice)
	done   chan struct{} // closed when left is zero
}

// Run runs the tasks and returns when all have ended. It returns nil if all ended well,
// otherwise the errors of all tasks that failed, joined in the order of the tasks, each a
// *TaskError or a *DeadlockError. When the context ends, no more tasks are started, and
// once those that run have ended, the context's error is returned. notice, if set, is
// called for tasks that are run again, by several goroutines at once.
func (s *Scheduler) Run(ctx context.Context, tasks []Task, notice func(Notice)) error {
	if err := ctx.Err(); err != nil || len(tasks) == 0 {
		return err
	}
	c := &call{ctx: ctx, left: len(tasks), errs: make([]error, len(tasks)), notice: notice, done: make(chan struct{})}
	s.mu.Lock()
	for i := range tasks {
		s.arrivals++
		s.enqueue(&job{task: &tasks[i], call: c, took: s.took[tasks[i].Like], index: i, arrival: s.arrivals})
	}
	s.admit()
	s.mu.Unlock()
	select {
	case <-c.done:
	case <-ctx.Done():
		s.mu.Lock()
		s.drop(c)
		s.admit()
		s.mu.Unlock()
		<-c.done
	}
	if err := ctx.Err(); err != nil && c.failed {
		return err
	}
	return errors.Join(c.errs...)
}

// Pin subtracts bytes from what tasks may reserve on a device until release is called: for
// data that stay there longer than a task. It does not wait, so running tasks and pinned
// bytes together may exceed the capacity.
func (s *Scheduler) Pin(device int, bytes int64) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.devices[device]
	d.pinned += bytes
	d.stats.Pinned = max(d.stats.Pinned, d.pinned)
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		d.pinned -= bytes
		s.admit()
	})
}

// Workers is how many tasks can run at once on the devices that are not lost, or on the hosts if no device is left.
func (s *Scheduler) Workers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	devices, hosts := 0, 0
	for _, d := range s.devices {
		switch {
		case d.Host:
			hosts += d.Device.Workers
		case !d.lost:
			devices += d.Device.Workers
		}
	}
	return cmp.Or(devices, hosts)
}

// Lose marks a device as lost: no more tasks are started there.
func (s *Scheduler) Lose(device int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.devices[device].lost = true
	s.admit()
}

// Stats returns what the devices have done so far.
func (s *Scheduler) Stats() []Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Stats, len(s.devices))
	for i, d := range s.devices {
		all[i] = d.stats
		all[i].Lost = d.lost
	}
	return all
}

// enqueue inserts a job into the queue. Jobs that must run alone come first, as they have
// been run before. The others are sorted by how long the last of their kind took, then by
// memory, largest first, then by arrival.
func (s *Scheduler) enqueue(j *job) {
	before := func(a, b *job) int {
		if a.alone != b.alone {
			if a.alone {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(s.size(b), s.size(a)), a.arrival-b.arrival)
	}
	at, _ := slices.BinarySearchFunc(s.waiting, j, before)
	s.waiting = slices.Insert(s.waiting, at, j)
}

// size is the memory by which a job is sorted: its need on devices, or on a host if there
// are only hosts.
func (s *Scheduler) size(j *job) int64 {
	for _, d := range s.devices {
		if !d.Host {
			return j.task.Need
		}
	}
	return j.task.HostNeed
}

// may says whether a job may run on a device at all: it would fit there if the device were
// idle, and, if the device is a host, it would fit on no other device.
func (s *Scheduler) may(j *job, d *device) bool {
	if !d.holds(j, d.pinned) {
		return false
	}
	return !d.Host || !slices.ContainsFunc(s.devices, func(o *device) bool { return !o.Host && o.holds(j, o.pinned) })
}

// admit starts the jobs that can start, and fails those that cannot start ever. It is
// called whenever a job comes or ends, memory is unpinned, or a device is lost.
//
// So no call waits for ever. While something runs, its end calls admit again. If nothing
// runs on any device, a waiting job would have started on an idle device that may take it;
// if there is none, the job fails here with a DeadlockError.
func (s *Scheduler) admit() {
	s.start(false)
	s.start(true)
	for _, j := range slices.Clone(s.waiting) {
		// A job that only pinned bytes keep from fitting waits as long as something runs: a running
		// task's call may release them.
		possible := slices.ContainsFunc(s.devices, func(d *device) bool { return d.holds(j, 0) })
		if (!possible || s.running == 0) && slices.Contains(s.waiting, j) {
			s.remove(j)
			s.fail(j, s.deadlock(j))
		}
	}
}

// start goes through the queue in order and starts the jobs that can start. With idle
// false, a device takes a job of another affinity only if no job with its own affinity
// waits that it could start, and if it has less to do than the other device (balanced).
// With idle true, in the second call by admit, it takes any job that fits, so that no
// worker is idle while one does.
func (s *Scheduler) start(idle bool) {
	p := placement{Scheduler: s, idle: idle, kept: make([]bool, len(s.devices)), own: make([]int, len(s.devices)), backlog: s.backlog()}
	for _, j := range s.waiting {
		if h := s.affinity(j); h != nil && h.takes(j) {
			p.own[h.number]++
		}
	}
	for i := 0; i < len(s.waiting); {
		j := s.waiting[i]
		room, best := p.choose(j)
		if best == nil {
			if room != nil && (j.alone || j.passed >= patience) {
				p.kept[room.number] = true // jobs further back do not start there, so it becomes free for this one
			}
			i++
			continue
		}
		for _, before := range s.waiting[:i] {
			before.passed++
		}
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.launch(j, best)
		if best.number == j.task.Affinity {
			p.own[best.number]--
		} else {
			p.backlog = s.backlog()
		}
	}
}

// affinity returns the device that has the job's data, nil if none has.
func (s *Scheduler) affinity(j *job) *device {
	if a := j.task.Affinity; a >= 0 && a < len(s.devices) {
		return s.devices[a]
	}
	return nil
}

// placement is the state of one call of start; slices are by device number.
type placement struct {
	*Scheduler
	idle    bool
	kept    []bool    // the device is kept free for a job that has waited long, or must run alone
	own     []int     // waiting jobs with this device's affinity that it could take now
	backlog []float64 // see the method backlog
}

// choose returns two devices, nil where there is none: room, on which the job fits once
// that is idle, and best, on which the job is to start now. The device with its data is
// preferred for both.
func (p *placement) choose(j *job) (room, best *device) {
	at := p.affinity(j)
	for _, d := range p.devices {
		if !p.may(j, d) {
			continue
		}
		if room == nil || d == at {
			room = d
		}
		switch {
		case p.kept[d.number] || !d.takes(j):
		case d == at:
			return room, d
		case p.balanced(j, at, d) && (best == nil || p.backlog[d.number] < p.backlog[best.number]):
			best = d
		}
	}
	return room, best
}

// balanced reports whether d may take a job whose data are on the device `at`: with the job
// it would have no more bytes a worker to do than `at` has (backlog), and no job of its own to start.
func (p *placement) balanced(j *job, at, d *device) bool {
	return p.idle || at == nil || d.Host != at.Host ||
		p.own[d.number] == 0 && p.backlog[d.number]+float64(j.task.need(d))/float64(d.Workers) <= p.backlog[at.number]
}

// backlog returns, by device, the memory of the jobs that run there and of those that wait
// with its affinity, in bytes divided by the number of workers: a measure of its work.
func (s *Scheduler) backlog() []float64 {
	bytes := make([]float64, len(s.devices))
	for i, d := range s.devices {
		bytes[i] = float64(d.reserved)
	}
	for _, j := range s.waiting {
		if d := s.affinity(j); d != nil {
			bytes[d.number] += float64(j.task.need(d))
		}
	}
	for i, d := range s.devices {
		bytes[i] /= float64(d.Workers)
	}
	return bytes
}

// launch runs a job on a device, in a goroutine of its own. The job's memory and worker are
// free again when the worker has drained, whether the task failed or not.
func (s *Scheduler) launch(j *job, d *device) {
	worker := d.start(j)
	s.running++
	j.attempts++
	go func() {
		err := guard(func() error { return j.task.Run(j.call.ctx, Worker{d.number, worker}) })
		if d.Drain != nil {
			err = errors.Join(err, guard(func() error { return d.Drain(worker) }))
		}
		if notice := s.end(j, d, worker, err); notice != nil && j.call.notice != nil {
			j.call.notice(*notice)
		}
		s.settle(j.call)
	}()
}

// guard turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{p, debug.Stack()}
		}
	}()
	return f()
}

// end records how an attempt ended, and starts what can start now. It counts one more job
// in call.left until settle, so that Run does not return before the notice is given.
func (s *Scheduler) end(j *job, d *device, worker int, err error) *Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.end(j, worker)
	s.running--
	j.call.left++ // until settle
	notice := s.decide(j, d, err)
	s.admit()
	return notice
}

// note records how long a job took that ended well, for later tasks with the same Like.
func (s *Scheduler) note(j *job) {
	if j.task.Like == nil {
		return
	}
	if len(s.took) >= mostTimes {
		clear(s.took)
	}
	s.took[j.task.Like] = time.Since(j.began)
}

// decide ends a job whose attempt ended, or enqueues it again, and returns the notice for
// that, nil if there is none. If memory was short and others ran beside it, the job runs alone next time;
// if it ran alone already, on a host. If the device is lost, the job goes to another one.
func (s *Scheduler) decide(j *job, d *device, err error) *Notice {
	if err == nil {
		s.note(j)
		d.stats.Tasks++
		if j.attempts > 1 || d.number != j.task.Affinity {
			d.stats.Moved++
		}
		j.call.left--
		return nil
	}
	d.stats.Failed++
	j.last = &TaskError{j.task.ID, d.Name, err}
	fault := Fatal
	if !d.Host && j.call.ctx.Err() == nil && !errors.As(err, new(*PanicError)) {
		fault = s.judge(err)
	}
	notice := &Notice{Task: j.task.ID, Device: d.Name, Fault: fault, Err: err}
	switch {
	case fault == Fatal:
		s.fail(j, j.last)
		return nil
	case fault == Lost:
		if d.lost {
			notice = nil
		}
		d.lost = true
	case j.shared:
		j.alone, notice.Alone = true, true
	default:
		j.alone, j.hostOnly = false, true
	}
	if j.call.failed {
		j.call.errs[j.index] = j.last
		j.call.left--
		return nil
	}
	j.passed = 0
	s.enqueue(j)
	return notice
}

// fail ends a job, which does not run, with an error, and drops the waiting jobs of its call.
func (s *Scheduler) fail(j *job, err error) {
	j.call.errs[j.index] = err
	j.call.left--
	s.drop(j.call)
}

// drop removes the waiting jobs of a call from the queue. Those that run go on.
func (s *Scheduler) drop(c *call) {
	c.failed = true
	s.waiting = slices.DeleteFunc(s.waiting, func(j *job) bool {
		if j.call == c {
			c.left--
		}
		return j.call == c
	})
	c.close()
}

// settle takes back what end has added to call.left, after the notice.
func (s *Scheduler) settle(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.left--
	c.close()
}

// close lets Run return if no job is left.
func (c *call) close() {
	if c.left == 0 {
		select {
		case <-c.done:
		default:
			close(c.done)
		}
	}
}

// remove takes a job out of the queue.
func (s *Scheduler) remove(j *job) {
	s.waiting = slices.DeleteFunc(s.waiting, func(o *job) bool { return o == j })
}

// deadlock returns the DeadlockError of a job.
func (s *Scheduler) deadlock(j *job) error {
	e := &DeadlockError{ID: j.task.ID, Need: j.task.Need}
	for _, d := range s.devices {
		e.Capacity = append(e.Capacity, Room{d.Name, d.Capacity - d.pinned, d.lost})
	}
	if j.last != nil {
		e.Last = j.last
	}
	return e
}
