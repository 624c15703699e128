package devicetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/kernels"
)

// Streams is a device with several queues that has a memory of its own size on another
// one. Its queues are as unlike one another as they may be: what is enqueued is not done
// before that queue is waited for. So code that uses memory in one queue that another
// has yet to write, or that it has freed already, does not get away with it.
type Streams struct {
	on    *streams
	queue *queue
}

var (
	_ kernels.MultiStream = (*Streams)(nil)
	_ kernels.Peer        = (*Streams)(nil)
)

// streams is what the queues share.
type streams struct {
	device   kernels.Device
	capacity int
	alone    bool
	fault    func(op string, n int) error

	mu      sync.Mutex
	sizes   map[kernels.Ptr]int
	reads   map[kernels.Ptr]int // copies to other queues that are yet to be done, by the memory that they read
	live    int
	ops     int
	copied  int
	streams map[int]*Streams
}

// queue is one of them.
type queue struct {
	mu      sync.Mutex
	pending []pending
	failed  bool  // the last wait
	done    int   // operations that are not pending any more
	err     error // of what was enqueued, until it is told
}

// doing are locks by the device beneath. One is held while queues are emptied: a queue may
// have others emptied as far as it waits for them.
var doing sync.Map

// do holds the lock while f empties queues.
func (s *streams) do(f func()) {
	lock, _ := doing.LoadOrStore(s.device, new(sync.Mutex))
	mu := lock.(*sync.Mutex)
	mu.Lock()
	defer mu.Unlock()
	f()
}

// pending is an operation to be done, or memory to be freed.
type pending struct {
	do   func() error
	drop func() // it will not be done
	free kernels.Ptr
}

// NewStreams returns a device of so many bytes on d. fault, if set, is asked before every
// operation, whose number it is told, from 1 on: its error is the operation's.
func NewStreams(d kernels.Device, capacity int, fault func(op string, n int) error) *Streams {
	s := &streams{device: d, capacity: capacity, fault: fault, sizes: map[kernels.Ptr]int{}, reads: map[kernels.Ptr]int{}, streams: map[int]*Streams{}}
	first := &Streams{s, &queue{}}
	s.streams[0] = first
	return first
}

// Alone has the device reach no other one, and no other one reach it.
func (s *Streams) Alone() { s.on.alone = true }

// Copied returns the bytes that came from other devices directly.
func (s *Streams) Copied() int { return read(&s.on.mu, &s.on.copied) }

// Stream is described at kernels.MultiStream.
func (s *Streams) Stream(n int) (kernels.Device, error) {
	s.on.mu.Lock()
	defer s.on.mu.Unlock()
	l, ok := s.on.streams[n]
	if !ok {
		l = &Streams{s.on, &queue{}}
		s.on.streams[n] = l
	}
	return l, nil
}

// Live returns the bytes that have not been freed.
func (s *Streams) Live() int { return read(&s.on.mu, &s.on.live) }

// Available returns the bytes that are free, and all.
func (s *Streams) Available() (free, total int64, err error) {
	return int64(s.on.capacity - s.Live()), int64(s.on.capacity), nil
}

// ask counts an operation and returns its fault.
func (s *Streams) ask(op string) error {
	s.on.mu.Lock()
	s.on.ops++
	n := s.on.ops
	s.on.mu.Unlock()
	if s.on.fault == nil {
		return nil
	}
	return s.on.fault(op, n)
}

// later enqueues an operation.
func (s *Streams) later(op string, f func() error) error { return s.laterOr(op, func() {}, f) }

// laterOr is later of an operation that may be dropped (abandon).
func (s *Streams) laterOr(op string, drop func(), f func() error) error {
	if err := s.ask(op); err != nil {
		return err
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if err := s.queue.err; err != nil {
		s.queue.err = nil
		return err
	}
	s.queue.pending = append(s.queue.pending, pending{do: f, drop: drop})
	return nil
}

// wait does all that is enqueued.
func (s *Streams) wait() error {
	q := s.queue
	s.on.do(func() { s.empty(q.end()) })
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.err
	q.err = nil
	return err
}

// end returns the number of operations that were ever enqueued.
func (q *queue) end() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.done + len(q.pending)
}

// empty does what is enqueued until so many operations of the queue are done. The caller
// is in do.
func (s *Streams) empty(until int) {
	q := s.queue
	for {
		q.mu.Lock()
		if q.done >= until || len(q.pending) == 0 {
			q.mu.Unlock()
			return
		}
		op := q.pending[0]
		q.pending = q.pending[1:]
		q.done++
		q.mu.Unlock()
		if op.free != 0 {
			s.on.device.Free(op.free)
		} else if err := op.do(); err != nil {
			q.mu.Lock()
			if q.err == nil {
				q.err = err
			}
			q.mu.Unlock()
		}
	}
}

// peer returns another device that this one reaches, nil if it does not.
func (s *Streams) peer(other kernels.Device) *Streams {
	o, ok := kernels.Base(other).(*Streams)
	if !ok || o.on != s.on && (o.on.alone || s.on.alone || o.on.device != s.on.device) {
		return nil
	}
	return o
}

// After is described at kernels.Peer. The other queue is emptied, as far as it is now, when
// this one comes to it.
func (s *Streams) After(other kernels.Device) error {
	o := s.peer(other)
	if o == nil {
		return kernels.ErrNoPeer
	}
	if err := o.ask("record"); err != nil {
		return &kernels.SourceError{Err: err}
	}
	until := o.queue.end()
	return s.later("wait", func() error {
		o.empty(until)
		return nil
	})
}

// CopyFrom is described at kernels.Peer.
func (s *Streams) CopyFrom(dst kernels.Ptr, other kernels.Device, src kernels.Ptr, bytes int) error {
	o := s.peer(other)
	if o == nil {
		return kernels.ErrNoPeer
	}
	if err := o.ask("read"); err != nil {
		return &kernels.SourceError{Err: err}
	}
	if o.on.crosses(src, bytes) {
		return fmt.Errorf("a copy of %d bytes goes beyond the allocation that it begins in", bytes)
	}
	done := o.on.reading(src)
	err := s.laterOr("peer copy", done, func() error {
		done()
		if o.on != s.on {
			s.on.mu.Lock()
			s.on.copied += bytes
			s.on.mu.Unlock()
		}
		return s.on.device.Copy(dst, src, bytes)
	})
	if err != nil {
		done()
	}
	return err
}

// crosses says whether bytes from src on begin in an allocation and go beyond it, which a GPU's driver refuses to copy.
func (s *streams) crosses(src kernels.Ptr, bytes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, end := s.around(src)
	return end != 0 && src.Offset(bytes, 1) > end
}

// around returns where the allocation begins and ends that an address is in; 0 if it is another device's. The caller holds the lock.
func (s *streams) around(at kernels.Ptr) (begin, end kernels.Ptr) {
	for p, size := range s.sizes {
		if p <= at && at < p.Offset(size, 1) {
			return p, p.Offset(size, 1)
		}
	}
	return 0, 0
}

// reading notes that a copy to another queue is to read memory, until done is called.
func (s *streams) reading(src kernels.Ptr) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, _ := s.around(src)
	s.reads[p]++ // of 0, where it is another device's, to no effect
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reads[p]--
	}
}

// Drain frees what all queues hold to be freed, whatever the fault, on the device beneath.
// Work that nobody has waited for is not done any more: what it reads may be freed in
// another queue.
func (s *Streams) Drain() {
	s.on.do(func() {
		s.on.mu.Lock()
		defer s.on.mu.Unlock()
		clear(s.on.reads)
		for _, l := range s.on.streams {
			l.queue.mu.Lock()
			for _, op := range l.queue.pending {
				s.on.device.Free(op.free)
			}
			l.queue.done += len(l.queue.pending)
			l.queue.pending, l.queue.err = nil, nil
			l.queue.mu.Unlock()
		}
	})
}

// abandon drops the pending operations of a queue, except for frees. It stands for a lost device: after two waits in a
// row have failed, nothing runs there any more.
func (s *Streams) abandon() {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	s.queue.pending = slices.DeleteFunc(s.queue.pending, func(p pending) bool {
		if p.free == 0 {
			s.queue.done++
			p.drop()
		}
		return p.free == 0
	})
}

// Name is described at kernels.Device, as the others are.
func (s *Streams) Name() string { return s.on.device.Name() }

// Multiprocessors is that of the device beneath.
func (s *Streams) Multiprocessors() int { return s.on.device.Multiprocessors() }

// Alloc allocates at once.
func (s *Streams) Alloc(bytes int) (kernels.Ptr, error) {
	if err := s.ask("alloc"); err != nil {
		return 0, err
	}
	s.on.mu.Lock()
	defer s.on.mu.Unlock()
	if s.on.live+bytes > s.on.capacity {
		return 0, fmt.Errorf("%w: %d bytes beside %d of %d", kernels.ErrMemory, bytes, s.on.live, s.on.capacity)
	}
	p, err := s.on.device.Alloc(bytes)
	if err == nil {
		s.on.sizes[p] = bytes
		s.on.live += bytes
	}
	return p, err
}

// Free frees, in the queue's order.
func (s *Streams) Free(p kernels.Ptr) {
	if p == 0 {
		return
	}
	s.on.forget(p)
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	s.queue.pending = append(s.queue.pending, pending{free: p})
}

// forget counts memory that is freed. It panics if that is a mistake.
func (s *streams) forget(p kernels.Ptr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, ok := s.sizes[p]
	if !ok {
		panic(fmt.Sprintf("devicetest: memory at %#x is freed twice, or is another device's", p))
	}
	if s.reads[p] > 0 {
		panic(fmt.Sprintf("devicetest: memory at %#x is freed before a copy to another queue has read it", p))
	}
	s.live -= bytes
	delete(s.sizes, p)
}

// Upload copies src at once, to dst later.
func (s *Streams) Upload(dst kernels.Ptr, src []byte) error {
	own := slices.Clone(src)
	return s.later("upload", func() error { return s.on.device.Upload(dst, own) })
}

// Download waits for the queue.
func (s *Streams) Download(dst []byte, src kernels.Ptr) (err error) {
	defer must.Catch(&err)
	must.OK(s.ask("download"))
	must.OK(s.wait())
	return s.on.device.Download(dst, src)
}

// Copy is enqueued.
func (s *Streams) Copy(dst, src kernels.Ptr, bytes int) error {
	return s.later("copy", func() error { return s.on.device.Copy(dst, src, bytes) })
}

// Clear is enqueued.
func (s *Streams) Clear(dst kernels.Ptr, bytes int) error {
	return s.later("clear", func() error { return s.on.device.Clear(dst, bytes) })
}

// Launch is enqueued.
func (s *Streams) Launch(k kernels.Kernel, l kernels.Launch, args ...uint64) error {
	own := slices.Clone(args)
	return s.later("launch", func() error { return s.on.device.Launch(k, l, own...) })
}

// Sync waits for the queue.
func (s *Streams) Sync() error {
	err := s.ask("sync")
	s.queue.mu.Lock()
	lost := err != nil && s.queue.failed
	s.queue.failed = err != nil
	s.queue.mu.Unlock()
	if lost {
		s.on.do(s.abandon)
	}
	if err != nil {
		return err
	}
	return s.wait()
}

// Time returns how long f took.
func (s *Streams) Time(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	if err == nil {
		err = s.Sync()
	}
	return time.Since(start), err
}

// NewResultBuffer returns one in ordinary memory.
func (s *Streams) NewResultBuffer(words int) (kernels.ResultBuffer, error) {
	return kernels.NewDeviceBuffer(s, words)
}
