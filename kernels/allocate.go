//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"gorgonia.org/cu"
)

// Alloc is described at Device. Where the device is full, also without what the pool holds unused in blocks that are too small, the error
// is an ErrMemory.
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

// isFull says whether an error is that of a device without room.
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
		return // freed already, or gone with the context
	}
	if a.stream == e && e.small.put(p, a.bytes) {
		return
	}
	// A failure is one of work enqueued before, which the next call reports.
	_ = e.note(libcuda.Free(e.ctx, uint64(p), e.stream))
}

// Memory returns what is in use by this executor.
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

// Available returns the bytes of the device that are free, those that the pool
// holds unused included, and all that it has.
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

// Trim waits for the queue and gives memory that is not in use back to the
// device.
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

// allocation is memory in use, and the stream whose block it is.
type allocation struct {
	bytes  int
	stream *Executor
}
