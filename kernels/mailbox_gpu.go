//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"errors"
	"sync/atomic"
	"unsafe"
)

// pinnedMailbox is a Mailbox in host memory that the device writes to.
type pinnedMailbox struct {
	pinned *Pinned
	words  []uint64
	ticket uint64
}

// NewMailbox is described at Device.
func (e *Executor) NewMailbox(words int) (Mailbox, error) {
	p, err := e.Pin(8 * words)
	if err != nil {
		return nil, err
	}
	m := &pinnedMailbox{pinned: p, words: unsafe.Slice((*uint64)(unsafe.Pointer(&p.Bytes()[0])), words)}
	clear(m.words)
	return m, nil
}

// Words implements Mailbox.
func (m *pinnedMailbox) Words() int { return len(m.words) }

// Post implements Mailbox.
func (m *pinnedMailbox) Post(done Ptr) Post {
	m.ticket++
	return NewPost(m.pinned.Ptr(), m.ticket, done)
}

// looks is how often Wait looks before it asks the driver, which knows of
// errors: some milliseconds.
const looks = 1 << 20

// Wait implements Mailbox.
func (m *pinnedMailbox) Wait(dst []uint64) error {
	for i := 1; atomic.LoadUint64(&m.words[0]) != m.ticket; i++ {
		if i%looks != 0 {
			continue
		}
		if err := m.pinned.e.Sync(); err != nil {
			return err
		}
		if atomic.LoadUint64(&m.words[0]) != m.ticket {
			return errors.New("mailbox: the launch left nothing")
		}
	}
	copy(dst, m.words[1:])
	return nil
}

// Close implements Mailbox.
func (m *pinnedMailbox) Close() error { return m.pinned.Close() }
