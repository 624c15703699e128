package kernels

import "fmt"

// deviceMailbox is a Mailbox in ordinary memory of a device.
type deviceMailbox struct {
	d      Device
	at     Ptr // of the box, and then of the sums
	words  int
	ticket uint64
}

// NewDeviceMailbox returns a mailbox in memory that it allocates on d, for
// devices without any that the host can read.
func NewDeviceMailbox(d Device, words int) (Mailbox, error) {
	at, err := AllocSlice[uint64](d, 2*words)
	if err != nil {
		return nil, err
	}
	if err := d.Clear(at, 2*8*words); err != nil {
		d.Free(at)
		return nil, err
	}
	return &deviceMailbox{d: d, at: at, words: words}, nil
}

// Words implements Mailbox.
func (m *deviceMailbox) Words() int { return m.words }

// Post implements Mailbox.
func (m *deviceMailbox) Post() Post {
	m.ticket++
	done := At[uint64](m.at, m.words)
	return NewPost(At[uint64](done, 1), m.at, m.ticket, done)
}

// Wait implements Mailbox.
func (m *deviceMailbox) Wait(dst []uint64) error {
	all := make([]uint64, 1+len(dst))
	if err := DownloadSlice(m.d, all, m.at); err != nil {
		return err
	}
	if all[0] != m.ticket {
		return fmt.Errorf("mailbox: ticket %d in place of %d", all[0], m.ticket)
	}
	copy(dst, all[1:])
	return nil
}

// Close implements Mailbox.
func (m *deviceMailbox) Close() error {
	m.d.Free(m.at)
	return nil
}
