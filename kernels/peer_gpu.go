//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"sync"

	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"gorgonia.org/cu"
)

var _ Peer = (*Executor)(nil)

// mark is an event of an executor's queue that other queues wait for. It is made when
// first needed, and lives as long as the executor.
type mark struct {
	mu    sync.Mutex
	event libcuda.Event
	made  bool
}

// After is described at Peer. It works between any two GPUs of the machine.
func (e *Executor) After(other Device) error {
	o, ok := Base(other).(*Executor)
	if !ok {
		return ErrNoPeer
	}
	if o == e {
		return nil
	}
	if err := e.Err(); err != nil {
		return err
	}
	if err := o.Err(); err != nil {
		return &SourceError{err}
	}
	// A queue that was told to wait for an event is not affected when the event is recorded again.
	m := &o.mark
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := o.record(); err != nil {
		return &SourceError{o.note(err)}
	}
	return e.note(libcuda.Wait(e.ctx, e.stream, m.event))
}

// record records the executor's mark behind all that is enqueued. The caller holds the mark's lock.
func (e *Executor) record() (err error) {
	m := &e.mark
	if !m.made {
		release, err := e.Bind()
		if err != nil {
			return err
		}
		defer release()
		event, err := cu.MakeEvent(cu.DisableTiming)
		if err != nil {
			return libcuda.Wrap("cuEventCreate", err)
		}
		m.event, m.made = libcuda.EventOf(event), true
	}
	return libcuda.Record(e.ctx, m.event, e.stream)
}

// CopyFrom is described at Peer. The error is ErrNoPeer if the driver does not let the
// GPUs reach each other.
func (e *Executor) CopyFrom(dst Ptr, other Device, src Ptr, bytes int) error {
	o, ok := Base(other).(*Executor)
	if !ok {
		return ErrNoPeer
	}
	if o.card == e.card {
		return e.Copy(dst, src, bytes)
	}
	if err := e.check(bytes); err != nil || bytes == 0 {
		return err
	}
	if err := o.Err(); err != nil {
		return &SourceError{err}
	}
	if !e.reaches(o.card) {
		return ErrNoPeer
	}
	return e.note(libcuda.CopyPeer(e.ctx, uint64(dst), o.ctx, uint64(src), bytes, e.stream))
}

// reaches says whether the card can read memory in the pool of another one. The first
// call asks the driver to allow it.
func (c *card) reaches(other *card) bool {
	allow, _ := c.peers.LoadOrStore(other, sync.OnceValue(func() bool {
		can, err := libcuda.CanAccessPeer(c.info.Index, other.info.Index)
		return err == nil && can && other.pool.Allow(c.info.Index) == nil
	}))
	return allow.(func() bool)()
}
