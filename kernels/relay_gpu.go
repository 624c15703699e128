//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"errors"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"github.com/prove-model/prove-model/prover/field"
	"gorgonia.org/cu"
)

var _ Relay = (*pinnedMailbox)(nil)

// relayKernels are those that wait, and that come after them.
var relayKernels = []Kernel{{"sumcheck", "sumcheck_relay"}, {"sumcheck", "sumcheck_two_rounds"}, {"sumcheck", "sumcheck_two_rounds_in_lanes"}, {"sumcheck", "sumcheck_rest"}}

// relayLimit is how long the device waits for a reply.
const relayLimit = 100 * time.Millisecond

// relay is a mailbox's part for replies, in pinned memory: what the host writes, and what the
// device says of replies that were late.
type relay struct {
	reply  []uint64 // GivenWords
	late   *uint64
	at     Ptr    // of what is given, on the device
	ticket uint64 // of the last wait
}

// relayBytes is the pinned memory of a relay: a line of a cache for each direction.
const relayBytes = 2 * 64

func newRelay(memory []byte, at Ptr) relay {
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&memory[0])), relayBytes/8)
	clear(words)
	return relay{reply: words[:GivenWords], late: &words[8], at: at}
}

// Ready implements Relay. Beside other lanes the host may be away for long. The kernels must be on
// the device already: while one waits for a reply, the driver may wait for it before it loads
// another.
func (m *pinnedMailbox) Ready() bool {
	e := m.pinned.e
	if e.several.Load() {
		return false
	}
	for _, k := range relayKernels {
		if _, err := e.function(k); err != nil {
			return false
		}
	}
	return true
}

// Await implements Relay.
func (m *pinnedMailbox) Await() (Given, error) {
	r := &m.relay
	r.ticket++
	return AwaitReply(m.pinned.e, r.at, hostPtr(&r.reply[0]), hostPtr(r.late), r.ticket, relayLimit)
}

func hostPtr(p *uint64) Ptr { return Ptr(uintptr(unsafe.Pointer(p))) }

// Reply implements Relay.
func (m *pinnedMailbox) Reply(r, s field.QM31) {
	words := NewReply(m.relay.ticket, r, s)
	copy(m.relay.reply[1:], words[1:])
	atomic.StoreUint64(&m.relay.reply[0], words[0])
}

// Cancel implements Relay: with a ticket that no launch wants.
func (m *pinnedMailbox) Cancel() {
	m.relay.ticket++
	atomic.StoreUint64(&m.relay.reply[0], m.relay.ticket)
}

// WaitFor implements Relay.
func (m *pinnedMailbox) WaitFor(p Post, g Given, dst []uint64) error {
	for i := 1; atomic.LoadUint64(&m.words[0]) != p.ticket; i++ {
		// What the device wrote before is seen before.
		if g.ticket != 0 && atomic.LoadUint64(m.relay.late) >= g.ticket && atomic.LoadUint64(&m.words[0]) != p.ticket {
			return ErrLate
		}
		if i%looks != 0 {
			continue
		}
		busy, err := m.pinned.e.busy()
		if err != nil {
			return err
		}
		if !busy && atomic.LoadUint64(&m.words[0]) != p.ticket {
			return errors.New("mailbox: the launch left nothing")
		}
	}
	copy(dst, m.words[1:])
	return nil
}

// busy says whether there is something in the queue.
func (e *Executor) busy() (bool, error) {
	if err := e.Err(); err != nil {
		return false, err
	}
	release, err := e.Bind()
	if err != nil {
		return false, err
	}
	defer release()
	err = libcuda.Wrap("cuStreamQuery", e.custr.Query())
	var d *libcuda.Error
	if errors.As(err, &d) && d.Code == int(cu.NotReady) {
		return true, nil
	}
	return false, e.note(err)
}
