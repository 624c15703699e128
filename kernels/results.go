package kernels

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
)

// errNothing is what Wait fails with where a launch has left words of a result buffer absent.
var errNothing = errors.New("result buffer: the launch left nothing")

// deviceBuffer is a ResultBuffer in ordinary memory of a device.
type deviceBuffer struct {
	d     Device
	at    Ptr // of the box, and then of how many blocks are done, and of the sums
	words int
	// posted says that a launch has got the box and its words have not been taken.
	posted bool
}

// NewDeviceBuffer returns a result buffer in memory that it allocates on d, for
// devices without any that the host can read.
func NewDeviceBuffer(d Device, words int) (_ ResultBuffer, err error) {
	defer must.Catch(&err)
	m := &deviceBuffer{d: d, words: words, at: must.Get(AllocSlice[uint64](d, 2*words+1))}
	if err = d.Clear(At[uint64](m.at, words), 8*(words+1)); err == nil {
		err = m.empty(words)
	}
	if err != nil {
		d.Free(m.at)
		return nil, err
	}
	return m, nil
}

// empty makes the first n words absent.
func (m *deviceBuffer) empty(n int) error {
	return UploadSlice(m.d, m.at, slices.Repeat([]uint64{absent}, n))
}

// Words implements ResultBuffer.
func (m *deviceBuffer) Words() int { return m.words }

// Post implements ResultBuffer.
func (m *deviceBuffer) Post() Post {
	if m.posted {
		_ = m.empty(m.words) // of what was not waited for; an error comes again
	}
	m.posted = true
	done := At[uint64](m.at, m.words)
	return NewPost(At[uint64](done, 1), m.at, done)
}

// Wait implements ResultBuffer.
func (m *deviceBuffer) Wait(dst []uint64) error {
	if err := DownloadSlice(m.d, dst, m.at); err != nil {
		return err
	}
	if slices.Contains(dst, absent) {
		return errNothing
	}
	m.posted = false
	return m.empty(len(dst))
}

// Close implements ResultBuffer.
func (m *deviceBuffer) Close() error {
	m.d.Free(m.at)
	return nil
}
