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

// patience is how many tasks may start before one that stands before them in the
// order, until a device is kept free for it.
const patience = 16

// Scheduler runs tasks on devices. It is safe for concurrent use: the tasks of several
// calls share the devices.
type Scheduler struct {
	judge func(error) Fault

	mu       sync.Mutex
	devices  []*device
	waiting  []*job // in order
	arrivals int
	running  int
	took     map[any]time.Duration // by Task.Like, the last time
}

// mostTimes is of how many tasks times are kept.
const mostTimes = 1 << 12

// New returns a scheduler. judge says what the error of a task on a device means that
// is no host; on a host, every error is the task's.
func New(devices []Device, judge func(error) Fault) *Scheduler {
	s := &Scheduler{judge: judge, took: map[any]time.Duration{}}
	for i, d := range devices {
		s.devices = append(s.devices, newDevice(d, i))
	}
	return s
}

// job is a task on its way.
type job struct {
	task     *Task
	call     *call
	took     time.Duration // one like it, 0 if that is not known
	index    int           // of the task
	arrival  int
	passed   int  // tasks behind it that have started
	alone    bool // memory was short beside others
	hostOnly bool // memory was short
	shared   bool // others have run beside it, this time
	attempts int
	began    time.Time
	last     *TaskError
}

// call is one Run.
type call struct {
	ctx    context.Context
	left   int // jobs that wait or run
	failed bool
	errs   []error // by task
	notice func(Notice)
	done   chan struct{}
}

// Run runs the tasks and returns when all have ended: nil if all did well, otherwise
// the errors of all tasks that failed, in their order, each a *TaskError or a
// *DeadlockError. When the context ends no more tasks are started and, once those that
// run have ended, its error is returned. notice, if set, is told of tasks that are run
// again, by several goroutines.
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

// Pin keeps bytes of a device from being reserved until release is called: what stays
// there beyond a task. It does not wait.
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

// Workers is how many tasks run at once: on the devices that are left, or on hosts where there are none.
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

// Lose has nothing more run on a device.
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

// enqueue puts a job where it belongs: those that must run alone first, since they
// have begun already, then those that took longest, then by memory.
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

// size is what a job is sorted by: what it takes where it goes first.
func (s *Scheduler) size(j *job) int64 {
	for _, d := range s.devices {
		if !d.Host {
			return j.task.Need
		}
	}
	return j.task.HostNeed
}

// may says whether a job may run on a device: it fits there if nothing else does, and a
// host is for what no device holds.
func (s *Scheduler) may(j *job, d *device) bool {
	if !d.holds(j, d.pinned) {
		return false
	}
	return !d.Host || !slices.ContainsFunc(s.devices, func(o *device) bool { return !o.Host && o.holds(j, o.pinned) })
}

// admit starts what can be started, and gives up what never can.
func (s *Scheduler) admit() {
	s.start(false)
	s.start(true)
	for _, j := range slices.Clone(s.waiting) {
		// What is pinned may be released by another call as long as that runs something.
		possible := slices.ContainsFunc(s.devices, func(d *device) bool { return d.holds(j, 0) })
		if (!possible || s.running == 0) && slices.Contains(s.waiting, j) {
			s.remove(j)
			s.fail(j, s.deadlock(j))
		}
	}
}

// start starts the jobs that can be. A device that is not idle takes those of others
// only if none waits that has its affinity, and less than waits for theirs.
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
				p.kept[room.number] = true
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

// affinity returns the device that has the job's data; nil if none has.
func (s *Scheduler) affinity(j *job) *device {
	if a := j.task.Affinity; a >= 0 && a < len(s.devices) {
		return s.devices[a]
	}
	return nil
}

// placement is what start knows of the devices, by their numbers.
type placement struct {
	*Scheduler
	idle    bool
	kept    []bool    // free, for a job that has waited long
	own     []int     // jobs with this affinity that may start there
	backlog []float64 // see backlog
}

// choose returns a device that has room for the job once it is idle, and the one on which
// the job is to start now; nil where there is none. The device with its data comes first
// for both.
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

// balanced reports whether d may take a job whose data device at has.
func (p *placement) balanced(j *job, at, d *device) bool {
	return p.idle || at == nil || d.Host != at.Host ||
		p.own[d.number] == 0 && p.backlog[d.number]+float64(j.task.need(d))/float64(d.Workers) <= p.backlog[at.number]
}

// backlog returns what runs on devices and waits for them by affinity, in bytes a
// worker.
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

// launch runs a job on a device.
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

// end takes note of how an attempt ended. Its job stays with the call until settle.
func (s *Scheduler) end(j *job, d *device, worker int, err error) *Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.end(j, worker)
	s.running--
	j.call.left++ // until settle, so that the call does not return before its notice
	notice := s.decide(j, d, err)
	s.admit()
	return notice
}

// note keeps how long a job took that has ended well.
func (s *Scheduler) note(j *job) {
	if j.task.Like == nil {
		return
	}
	if len(s.took) >= mostTimes {
		clear(s.took)
	}
	s.took[j.task.Like] = time.Since(j.began)
}

// decide says what becomes of a job.
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

// fail ends a job that does not run, and with it the waiting ones of its call.
func (s *Scheduler) fail(j *job, err error) {
	j.call.errs[j.index] = err
	j.call.left--
	s.drop(j.call)
}

// drop ends the waiting jobs of a call.
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

// settle ends an attempt.
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
