//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"sync"
	"unsafe"

	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"github.com/prove-model/prove-model/prover/parallel"
	"gorgonia.org/cu"
)

// Transfers go through pinned memory, which alone the device reads and writes
// by itself: a few chunks in turn, so that the processor fills or empties one
// while the device is at the others.
const (
	chunkBytes = 4 << 20
	chunkCount = 4
)

// copyGrain is how much one core copies at least: one alone copies at a fraction
// of what the bus takes.
const copyGrain = 256 << 10

// copyChunk copies src to dst, of the same length, on all cores.
func copyChunk(dst, src []byte) {
	parallel.For(len(src), copyGrain, func(lo, hi int) { copy(dst[lo:hi], src[lo:hi]) })
}

// staging is pinned memory of an executor, made when first used.
type staging struct {
	mu     sync.Mutex
	memory []byte               // chunkCount chunks
	done   [chunkCount]cu.Event // after the last copy of a chunk
	next   int                  // the chunk that is used next
	filled int                  // bytes of it that uploads have taken: the copies may be under way
}

// open makes the memory. The caller holds the lock and is bound.
func (s *staging) open(e *Executor) error {
	if s.memory != nil {
		return nil
	}
	var events [chunkCount]cu.Event
	for i := range events {
		var err error
		if events[i], err = cu.MakeEvent(cu.DisableTiming); err != nil {
			for j := range i {
				_ = cu.DestroyEvent(&events[j]) // the first error says it
			}
			return libcuda.Wrap("cuEventCreate", err)
		}
	}
	p, err := libcuda.HostAlloc(e.ctx, chunkCount*chunkBytes)
	if err != nil {
		for i := range events {
			_ = cu.DestroyEvent(&events[i]) // the first error says it
		}
		return err
	}
	s.memory, s.done = unsafe.Slice((*byte)(p), chunkCount*chunkBytes), events
	return nil
}

// chunk returns chunk i's memory.
func (s *staging) chunk(i int) []byte { return s.memory[i*chunkBytes:][:chunkBytes] }

// Upload is described at Device. Small uploads share a chunk, so that nothing is waited
// for before it is full: the processor runs ahead of the device.
func (e *Executor) Upload(dst Ptr, src []byte) error {
	if err := e.Err(); err != nil || len(src) == 0 {
		return err
	}
	s := &e.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(src) > 0 {
		if s.filled == 0 {
			if err := s.wait(e); err != nil {
				return err
			}
		}
		room := s.chunk(s.next)[s.filled:]
		n := min(len(src), len(room))
		copyChunk(room[:n], src[:n])
		if err := libcuda.CopyToDevice(e.ctx, uint64(dst), unsafe.Pointer(&room[0]), n, e.stream); err != nil {
			return e.note(err)
		}
		s.filled += (n + alignment - 1) &^ (alignment - 1)
		if s.filled == chunkBytes {
			if err := s.turn(e); err != nil {
				return err
			}
		}
		dst, src = dst+Ptr(n), src[n:]
	}
	return nil
}

// wait waits until the next chunk is not in use. The caller holds the lock.
func (s *staging) wait(e *Executor) error {
	// Calls on events name no context, so the thread must have it.
	release, err := e.Bind()
	if err != nil {
		return err
	}
	defer release()
	if err := s.open(e); err != nil {
		return e.note(err)
	}
	// An event that was never recorded is done.
	return e.note(libcuda.Wrap("cuEventSynchronize", s.done[s.next].Synchronize()))
}

// turn goes on to the chunk after one that uploads have filled. The caller holds the
// lock.
func (s *staging) turn(e *Executor) error {
	release, err := e.Bind()
	if err != nil {
		return err
	}
	defer release()
	if err := s.done[s.next].Record(e.custr); err != nil {
		return e.note(libcuda.Wrap("cuEventRecord", err))
	}
	s.next, s.filled = (s.next+1)%chunkCount, 0
	return nil
}

// Download is described at Device.
func (e *Executor) Download(dst []byte, src Ptr) error {
	if err := e.Err(); err != nil || len(dst) == 0 {
		return err
	}
	// Calls on events name no context, so the thread must have it.
	release, err := e.Bind()
	if err != nil {
		return err
	}
	defer release()
	s := &e.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(e); err != nil {
		return e.note(err)
	}
	// The first chunk may be one that uploads have begun: what they read of it is copied
	// before, and the event that is recorded after the download stands for both.
	s.filled = 0
	type part struct{ chunk, at, n int }
	var flight [chunkCount]part // a ring of those on their way, the oldest at first
	first, count, at := 0, 0, 0
	for at < len(dst) || count > 0 {
		for at < len(dst) && count < chunkCount {
			p := part{s.next, at, min(chunkBytes, len(dst)-at)}
			s.next = (s.next + 1) % chunkCount
			// The stream keeps its order, so an upload that still reads this
			// chunk is done before the copy writes it.
			if err := libcuda.CopyFromDevice(e.ctx, unsafe.Pointer(&s.chunk(p.chunk)[0]), uint64(src)+uint64(p.at), p.n, e.stream); err != nil {
				return e.note(err)
			}
			if err := s.done[p.chunk].Record(e.custr); err != nil {
				return e.note(libcuda.Wrap("cuEventRecord", err))
			}
			flight[(first+count)%chunkCount] = p
			count++
			at += p.n
		}
		p := flight[first]
		if err := s.done[p.chunk].Synchronize(); err != nil {
			return e.note(libcuda.Wrap("cuEventSynchronize", err))
		}
		copyChunk(dst[p.at:p.at+p.n], s.chunk(p.chunk)[:p.n])
		first, count = (first+1)%chunkCount, count-1
	}
	return nil
}
