//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"gorgonia.org/cu"
)

// Alloc is described at Device. If the device is full, it first gives unused memory of the pool, which may be in blocks that are too
// small, back to the device. If that does not suffice, the error is an ErrMemory.
func (e *Executor) Alloc(bytes int) (Ptr, error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("allocation of %d bytes", bytes)
	}
	if err := e.Err(); err != nil {
		return 0, err
	}
	p, size := e.small.take(bytes)
	if p == 0 {
		addr, err := e.pool.Alloc(e.ctx, size, e.stream)
		if isFull(err) {
			if err := e.pool.Trim(e.ctx, e.stream); err != nil {
				return 0, e.note(err)
			}
			addr, err = e.pool.Alloc(e.ctx, size, e.stream)
		}
		if isFull(err) {
			return 0, fmt.Errorf("%w: %d bytes on %s: %w", ErrMemory, bytes, e.info.Name, err)
		}
		if err != nil {
			return 0, e.note(fmt.Errorf("%d bytes on %s: %w", bytes, e.info.Name, err))
		}
		p = Ptr(addr)
	}
	e.mu.Lock()
	e.sizes[p] = allocation{bytes, e}
	e.live += int64(bytes)
	e.peak = max(e.peak, e.live)
	e.mu.Unlock()
	return p, nil
}

// isFull says whether an error means that the device has not enough memory.
func isFull(err error) bool {
	var d *libcuda.Error
	return errors.As(err, &d) && d.OutOfMemory()
}

// Free is described at Device.
func (e *Executor) Free(p Ptr) {
	if p == 0 {
		return
	}
	e.mu.Lock()
	a, ok := e.sizes[p]
	delete(e.sizes, p)
	e.live -= int64(a.bytes)
	e.mu.Unlock()
	if !ok || e.Err() != nil {
		return // it was freed already, or was lost with the context
	}
	if a.stream == e && e.small.put(p, a.bytes) {
		return
	}
	// An error is one of work that was enqueued before; the next call reports it.
	_ = e.note(libcuda.Free(e.ctx, uint64(p), e.stream))
}

// Memory returns how much memory of the device is in use.
func (e *Executor) Memory() (Memory, error) {
	s, err := e.pool.Stats(e.ctx)
	if err != nil {
		return Memory{}, e.note(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return Memory{e.live, e.peak, int64(s.Reserved), int64(s.ReservedPeak)}, nil
}

// ResetPeaks starts the peaks of Memory anew.
func (e *Executor) ResetPeaks() error {
	e.mu.Lock()
	e.peak = e.live
	e.mu.Unlock()
	return e.note(e.pool.ResetPeaks(e.ctx))
}

// Available returns how many bytes of the device are free, including those that the
// pool holds unused, and how many it has.
func (e *Executor) Available() (free, total int64, err error) {
	release, err := e.Bind()
	if err != nil {
		return 0, 0, err
	}
	defer release()
	if free, total, err = cu.MemInfo(); err != nil {
		return 0, 0, e.note(libcuda.Wrap("cuMemGetInfo", err))
	}
	s, err := e.pool.Stats(e.ctx)
	return free + int64(s.Reserved-s.Used), total, e.note(err)
}

// Trim waits for the queues, and gives unused memory back to the device.
func (e *Executor) Trim() error {
	e.lanesMu.Lock()
	streams := slices.Clone(e.streams)
	e.lanesMu.Unlock()
	for _, l := range streams {
		for _, p := range l.small.empty() {
			if err := libcuda.Free(e.ctx, uint64(p), l.stream); err != nil {
				return e.note(err)
			}
		}
		if err := l.Sync(); err != nil {
			return err
		}
	}
	return e.note(e.pool.Trim(e.ctx, e.stream))
}

// Live returns the number of allocations that have not been freed.
func (e *Executor) Live() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sizes)
}

// allocation is memory in use, and the stream that has allocated it.
type allocation struct {
	bytes  int
	stream *Executor
}
