package devicetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/kernels"
)

// Streams is a device with several queues, and a memory of its own size, on top of
// another device. Its queues differ from one another as much as they may: operations of
// a queue are not done before that queue is waited for. So tests fail if code uses
// memory in one queue that another queue has yet to write, or has freed already.
type Streams struct {
	on    *streams
	queue *queue
}

var (
	_ kernels.MultiStream = (*Streams)(nil)
	_ kernels.Peer        = (*Streams)(nil)
)

// streams has what the queues share.
type streams struct {
	device   kernels.Device
	capacity int
	alone    bool
	fault    func(op string, n int) error

	mu      sync.Mutex
	sizes   map[kernels.Ptr]int
	reads   map[kernels.Ptr]int // numbers of copies to other queues that have not been done, by the allocation that they read
	live    int
	ops     int
	copied  int
	streams map[int]*Streams
}

// queue is the state of one queue.
type queue struct {
	mu      sync.Mutex
	pending []pending
	failed  bool  // whether the last Sync failed
	done    int   // number of operations that have been done or dropped
	err     error // of an operation that was done; a later call returns it
}

// doing has a lock for each device beneath, which is held while queues are emptied. While
// one queue is emptied it may empty others, as far as it waits for them.
var doing sync.Map

// do holds the lock while it runs f, which empties queues.
func (s *streams) do(f func()) {
	lock, _ := doing.LoadOrStore(s.device, new(sync.Mutex))
	mu := lock.(*sync.Mutex)
	mu.Lock()
	defer mu.Unlock()
	f()
}

// pending is an operation that has not been done, or memory that has not been freed.
type pending struct {
	do   func() error
	drop func() // called instead of do if the operation is dropped
	free kernels.Ptr
}

// NewStreams returns a device with so many bytes of memory on d. fault, unless nil, is
// called before every operation, with its name and its number, counted from 1; if it
// returns an error, that is the operation's.
func NewStreams(d kernels.Device, capacity int, fault func(op string, n int) error) *Streams {
	s := &streams{device: d, capacity: capacity, fault: fault, sizes: map[kernels.Ptr]int{}, reads: map[kernels.Ptr]int{}, streams: map[int]*Streams{}}
	first := &Streams{s, &queue{}}
	s.streams[0] = first
	return first
}

// Alone makes the device unable to reach others, and others unable to reach it.
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

// laterOr enqueues an operation; drop is called if it is dropped (abandon).
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

// wait does all operations in the queue.
func (s *Streams) wait() error {
	q := s.queue
	s.on.do(func() { s.empty(q.end()) })
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.err
	q.err = nil
	return err
}

// end returns the number of operations that were enqueued so far.
func (q *queue) end() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.done + len(q.pending)
}

// empty does operations in the queue until `until` of its operations, counted from the
// first ever, are done. It is called within do.
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

// peer returns another device if this one can reach it, else nil.
func (s *Streams) peer(other kernels.Device) *Streams {
	o, ok := kernels.Base(other).(*Streams)
	if !ok || o.on != s.on && (o.on.alone || s.on.alone || o.on.device != s.on.device) {
		return nil
	}
	return o
}

// After is described at kernels.Peer. When this queue comes to the operation, it does those
// operations of the other queue that are in it now.
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

// crosses says whether a range of bytes begins in an allocation and reaches beyond its end. A GPU's driver refuses to
// copy such a range.
func (s *streams) crosses(src kernels.Ptr, bytes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, end := s.around(src)
	return end != 0 && src.Offset(bytes, 1) > end
}

// around returns the begin and the end of the allocation that contains an address; 0 if it is another device's. The
// caller holds the lock.
func (s *streams) around(at kernels.Ptr) (begin, end kernels.Ptr) {
	for p, size := range s.sizes {
		if p <= at && at < p.Offset(size, 1) {
			return p, p.Offset(size, 1)
		}
	}
	return 0, 0
}

// reading records that a copy to another queue will read memory, until done is called.
func (s *streams) reading(src kernels.Ptr) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, _ := s.around(src)
	s.reads[p]++ // p is 0 for memory of another device, which has no effect
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reads[p]--
	}
}

// Drain frees, on the device beneath, all memory that the queues have been asked to free.
// Operations that nobody has waited for are dropped, since another queue may have freed
// what they read.
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

// abandon drops the pending operations of a queue, except for frees. It stands for a lost device, on which nothing
// runs any more: Sync calls it when it fails for the second time in a row.
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

// Name is described at kernels.Device, as the following methods are.
func (s *Streams) Name() string { return s.on.device.Name() }

// Multiprocessors returns the number of the device beneath.
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

// Free frees memory when the operations before it in the queue have been done.
func (s *Streams) Free(p kernels.Ptr) {
	if p == 0 {
		return
	}
	s.on.forget(p)
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	s.queue.pending = append(s.queue.pending, pending{free: p})
}

// forget removes an allocation that is freed. It panics if the memory is not allocated, or if a copy to another queue
// has yet to read it.
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

// Upload reads src at once, and writes to dst when the queue comes to it.
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

// NewResultBuffer returns a result buffer in ordinary memory of the device.
func (s *Streams) NewResultBuffer(words int) (kernels.ResultBuffer, error) {
	return kernels.NewDeviceBuffer(s, words)
}
