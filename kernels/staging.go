//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"golang.org/x/sync/errgroup"
	"gorgonia.org/cu"
)

// Transfers go through pinned memory, since the device itself reads and writes only such
// memory. It consists of chunkCount chunks of chunkBytes, used in turn, so that the
// processor fills or empties some while the device is at others. Several cores share a
// long transfer: a single core copies at a fraction of the speed of the bus.
const (
	chunkBytes = 1 << 20
	chunkCount = 16
	// longTransfer is the number of bytes from which on several cores share a transfer.
	longTransfer = 2 * chunkBytes
)

// staging is the pinned memory of an executor, allocated when first used.
type staging struct {
	mu     sync.Mutex
	memory []byte               // chunkCount chunks
	done   [chunkCount]cu.Event // after the last copy of a chunk
	next   int                  // the chunk to be used next
	filled int                  // how many of its bytes uploads have used; their copies may still be running
}

// open allocates the memory. The caller holds the lock and is bound (Bind).
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

// chunk returns the memory of chunk i.
func (s *staging) chunk(i int) []byte { return s.memory[i*chunkBytes:][:chunkBytes] }

// Upload is described at Device. Small uploads share a chunk, and nothing is waited for
// before the chunk is full, so that the processor runs ahead of the device.
func (e *Executor) Upload(dst Ptr, src []byte) error {
	if err := e.Err(); err != nil || len(src) == 0 {
		return err
	}
	s := &e.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(src) >= longTransfer {
		return s.uploadLong(e, dst, src)
	}
	for len(src) > 0 {
		if s.filled == 0 {
			if err := s.wait(e); err != nil {
				return err
			}
		}
		room := s.chunk(s.next)[s.filled:]
		n := min(len(src), len(room))
		copy(room[:n], src[:n])
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

// wait waits until the device no longer uses the next chunk. The caller holds the lock.
func (s *staging) wait(e *Executor) error {
	// Calls on events name no context, so the thread must have the context.
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

// turn makes the following chunk the next one, after uploads have filled this one. The
// caller holds the lock.
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

// uploadLong is Upload by several cores. The caller holds the lock.
func (s *staging) uploadLong(e *Executor, dst Ptr, src []byte) error {
	return s.long(e, len(src), func(i, at, n int) error {
		chunk := s.chunk(i)
		if err := s.done[i].Synchronize(); err != nil {
			return libcuda.Wrap("cuEventSynchronize", err)
		}
		copy(chunk[:n], src[at:at+n])
		if err := libcuda.CopyToDevice(e.ctx, uint64(dst)+uint64(at), unsafe.Pointer(&chunk[0]), n, e.stream); err != nil {
			return err
		}
		return libcuda.Wrap("cuEventRecord", s.done[i].Record(e.custr))
	})
}

// downloadLong is Download by several cores. The caller holds the lock.
func (s *staging) downloadLong(e *Executor, dst []byte, src Ptr) error {
	if err := e.Sync(); err != nil { // one core waits for the work in the queue, rather than all
		return err
	}
	return s.long(e, len(dst), func(i, at, n int) error {
		chunk := s.chunk(i)
		// The stream keeps its order, so an upload that still reads this chunk is done before
		// the copy writes it.
		if err := libcuda.CopyFromDevice(e.ctx, unsafe.Pointer(&chunk[0]), uint64(src)+uint64(at), n, e.stream); err != nil {
			return err
		}
		if err := s.done[i].Record(e.custr); err != nil {
			return libcuda.Wrap("cuEventRecord", err)
		}
		if err := s.done[i].Synchronize(); err != nil {
			return libcuda.Wrap("cuEventSynchronize", err)
		}
		copy(dst[at:at+n], chunk[:n])
		return nil
	})
}

// long divides a transfer into pieces of up to a chunk, which several cores handle. do(i, at, n) moves n bytes from byte `at` on
// through chunk i. A core takes the next piece whenever it is done with one, so that no core waits for a slower one. It has two
// chunks, so that the device works on one while the core is at the other. The caller holds the lock.
func (s *staging) long(e *Executor, bytes int, do func(i, at, n int) error) error {
	release, err := e.Bind()
	if err != nil {
		return err
	}
	err = s.open(e)
	release()
	if err != nil {
		return e.note(err)
	}
	if s.filled > 0 { // copies from the chunk may be running: record an event for the core that gets the chunk
		if err := s.turn(e); err != nil {
			return err
		}
	}
	const each = 2 // chunks of each core
	pieces := (bytes + chunkBytes - 1) / chunkBytes
	var taken atomic.Int64
	var all errgroup.Group
	for core := range min(chunkCount/each, pieces, runtime.GOMAXPROCS(0)) {
		all.Go(func() error {
			release, err := e.Bind() // calls on events name no context
			if err != nil {
				return err
			}
			defer release()
			for turn := 0; ; turn++ {
				at := int(taken.Add(1)-1) * chunkBytes
				if at >= bytes {
					return nil
				}
				if err := do(each*core+turn%each, at, min(chunkBytes, bytes-at)); err != nil {
					taken.Store(int64(pieces)) // the other cores stop
					return err
				}
			}
		})
	}
	return e.note(all.Wait())
}

// Download is described at Device.
func (e *Executor) Download(dst []byte, src Ptr) error {
	if err := e.Err(); err != nil || len(dst) == 0 {
		return err
	}
	s := &e.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(dst) >= longTransfer {
		return s.downloadLong(e, dst, src)
	}
	// Calls on events name no context, so the thread must have it.
	release, err := e.Bind()
	if err != nil {
		return err
	}
	defer release()
	if err := s.open(e); err != nil {
		return e.note(err)
	}
	// Uploads may have begun to use the first chunk. The stream keeps its order, so these
	// copies are done before the download writes the chunk, and the event after the
	// download covers both.
	s.filled = 0
	var chunks [2]int
	for k := range (len(dst) + chunkBytes - 1) / chunkBytes {
		chunks[k] = s.next
		s.next = (s.next + 1) % chunkCount
		at := k * chunkBytes
		// The stream keeps its order, so an upload that still reads this
		// chunk is done before the copy writes it.
		if err := libcuda.CopyFromDevice(e.ctx, unsafe.Pointer(&s.chunk(chunks[k])[0]), uint64(src)+uint64(at), min(chunkBytes, len(dst)-at), e.stream); err != nil {
			return e.note(err)
		}
		if err := s.done[chunks[k]].Record(e.custr); err != nil {
			return e.note(libcuda.Wrap("cuEventRecord", err))
		}
	}
	for k, at := 0, 0; at < len(dst); k, at = k+1, at+chunkBytes {
		if err := s.done[chunks[k]].Synchronize(); err != nil {
			return e.note(libcuda.Wrap("cuEventSynchronize", err))
		}
		copy(dst[at:min(at+chunkBytes, len(dst))], s.chunk(chunks[k]))
	}
	return nil
}
