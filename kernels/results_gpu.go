//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"gorgonia.org/cu"
)

// pinnedBuffer is a ResultBuffer in host memory that the device writes to.
type pinnedBuffer struct {
	pinned *Pinned
	sums   Ptr // on the device: a counter of finished blocks, then as many words as the buffer has
	words  []uint64
	// posted says that a launch was given the buffer, and Wait has not taken its numbers yet.
	posted bool
	// event is the event that block waits for.
	event    cu.Event
	hasEvent bool
}

// NewResultBuffer is described at Device.
func (e *Executor) NewResultBuffer(words int) (ResultBuffer, error) {
	sums, err := e.Alloc(8 * (words + 1))
	if err == nil {
		err = e.Clear(sums, 8*(words+1))
	}
	if err != nil {
		e.Free(sums)
		return nil, err
	}
	p, err := e.Pin(8 * words)
	if err != nil {
		e.Free(sums)
		return nil, err
	}
	m := &pinnedBuffer{pinned: p, sums: sums, words: unsafe.Slice((*uint64)(unsafe.Pointer(&p.Bytes()[0])), words)}
	m.empty()
	return m, nil
}

// Words implements ResultBuffer.
func (m *pinnedBuffer) Words() int { return len(m.words) }

// empty sets all words to absent.
func (m *pinnedBuffer) empty() {
	for i := range m.words {
		m.words[i] = absent
	}
}

// Post implements ResultBuffer.
func (m *pinnedBuffer) Post() Post {
	if m.posted { // numbers that nobody has waited for may still come, and must not be taken for those of the next launch
		_ = m.pinned.e.Sync() // a later call reports the error
		m.empty()
	}
	m.posted = true
	return NewPost(At[uint64](m.sums, 1), m.pinned.Ptr(), m.sums)
}

// looks is how often Wait looks at a word before it asks the driver: this takes some milliseconds.
const looks = 1 << 20

// spin is how long Wait keeps looking, if the device has several streams, before it frees the
// processor and sleeps until the queue is empty. It is longer if there are processors for all
// streams, since waking up takes as long as three launches. (mobilenet_v2 on an H100 with 16
// processors and 4 streams: 88 ms with 20 µs, 72 with 1 ms.)
var spin = func() time.Duration {
	if runtime.NumCPU() >= 8 {
		return 200 * time.Microsecond
	}
	return 20 * time.Microsecond
}()

// Wait implements ResultBuffer.
func (m *pinnedBuffer) Wait(dst []uint64) error {
	began, looked := time.Now(), 0
	for i := range dst {
		v := atomic.LoadUint64(&m.words[i])
		for v == absent {
			looked++
			waited, err := m.look(looked, began)
			if err != nil {
				return err
			}
			if v = atomic.LoadUint64(&m.words[i]); waited && v == absent {
				return errNothing
			}
		}
		dst[i] = v
		m.words[i] = absent
	}
	m.posted = false
	return nil
}

// look is called when a word was absent, for the looked-th time since `began`. From time to time it asks
// the driver, which knows about errors and when the queue is empty. waited says that the queue has been
// waited for.
func (m *pinnedBuffer) look(looked int, began time.Time) (waited bool, err error) {
	e := m.pinned.e
	switch {
	case looked%looks == 0:
		return true, e.Sync()
	case looked%64 == 0 && e.several.Load() && time.Since(began) > spin:
		return true, m.block()
	}
	return false, nil
}

// block waits until the queue is empty, without using the processor.
func (m *pinnedBuffer) block() (err error) {
	defer must.Catch(&err)
	e := m.pinned.e
	must.OK(e.Err())
	release := must.Get(e.Bind())
	defer release()
	if !m.hasEvent {
		if m.event, err = cu.MakeEvent(cu.BlockingSyncEvent | cu.DisableTiming); err != nil {
			return e.note(libcuda.Wrap("cuEventCreate", err))
		}
		m.hasEvent = true
	}
	if err := m.event.Record(e.custr); err != nil {
		return e.note(libcuda.Wrap("cuEventRecord", err))
	}
	return e.note(libcuda.Wrap("cuEventSynchronize", m.event.Synchronize()))
}

// Close implements ResultBuffer.
func (m *pinnedBuffer) Close() error {
	var err error
	if m.hasEvent {
		if release, bound := m.pinned.e.Bind(); bound == nil {
			err = libcuda.Wrap("cuEventDestroy", cu.DestroyEvent(&m.event))
			release()
		}
	}
	err = errors.Join(err, m.pinned.Close())
	m.pinned.e.Free(m.sums)
	return err
}
