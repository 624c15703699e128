//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"gorgonia.org/cu"
)

// pinnedMailbox is a Mailbox in host memory that the device writes to.
type pinnedMailbox struct {
	pinned *Pinned
	sums   Ptr // on the device: how many blocks are done, as many numbers as there is room for, and what is given
	words  []uint64
	ticket uint64
	relay  relay
	// event is for block.
	event    cu.Event
	hasEvent bool
}

// NewMailbox is described at Device.
func (e *Executor) NewMailbox(words int) (Mailbox, error) {
	onDevice, onHost := 8*(words+GivenWords), (8*words+63)&^63
	sums, err := e.Alloc(onDevice)
	if err == nil {
		err = e.Clear(sums, onDevice)
	}
	if err != nil {
		e.Free(sums)
		return nil, err
	}
	p, err := e.Pin(onHost + relayBytes)
	if err != nil {
		e.Free(sums)
		return nil, err
	}
	m := &pinnedMailbox{pinned: p, sums: sums, words: unsafe.Slice((*uint64)(unsafe.Pointer(&p.Bytes()[0])), words)}
	m.relay = newRelay(p.Bytes()[onHost:], At[uint64](sums, words))
	clear(m.words)
	return m, nil
}

// Words implements Mailbox.
func (m *pinnedMailbox) Words() int { return len(m.words) }

// Post implements Mailbox.
func (m *pinnedMailbox) Post() Post {
	m.ticket++
	return NewPost(At[uint64](m.sums, 1), m.pinned.Ptr(), m.ticket, m.sums)
}

// looks is how often Wait looks before it asks the driver, which knows of
// errors: some milliseconds.
const looks = 1 << 20

// spin is how long Wait looks beside other lanes before it leaves the processor to them until
// the queue is empty: longer where there are processors for all, as to be woken takes as long
// as three launches. (mobilenet_v2 on an H100 with 16 processors and 4 lanes: 88 ms with 20 µs,
// 72 with 1 ms.)
var spin = func() time.Duration {
	if runtime.NumCPU() >= 8 {
		return 200 * time.Microsecond
	}
	return 20 * time.Microsecond
}()

// Wait implements Mailbox.
func (m *pinnedMailbox) Wait(dst []uint64) error {
	e := m.pinned.e
	began := time.Now()
	for i := 1; atomic.LoadUint64(&m.words[0]) != m.ticket; i++ {
		wait := e.Sync
		switch {
		case i%looks == 0:
		case i%64 == 0 && e.several.Load() && time.Since(began) > spin:
			wait = m.block
		default:
			continue
		}
		if err := wait(); err != nil {
			return err
		}
		if atomic.LoadUint64(&m.words[0]) != m.ticket {
			return errors.New("mailbox: the launch left nothing")
		}
	}
	copy(dst, m.words[1:])
	return nil
}

// block waits for the queue without taking the processor.
func (m *pinnedMailbox) block() error {
	e := m.pinned.e
	if err := e.Err(); err != nil {
		return err
	}
	release, err := e.Bind()
	if err != nil {
		return err
	}
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

// Close implements Mailbox.
func (m *pinnedMailbox) Close() error {
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
