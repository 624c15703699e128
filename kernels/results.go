package kernels

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
)

// errNothing is the error of Wait if a launch has not written all words of a result buffer.
var errNothing = errors.New("result buffer: the launch left nothing")

// deviceBuffer is a ResultBuffer in ordinary memory of a device.
type deviceBuffer struct {
	d     Device
	at    Ptr // the words of the buffer, followed by a counter of finished blocks, and by the sums
	words int
	// posted says that a launch was given the buffer, and Wait has not taken its numbers yet.
	posted bool
}

// NewDeviceBuffer returns a result buffer in memory of the device d, for devices
// without memory that the host can read.
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

// empty sets the first n words to absent.
func (m *deviceBuffer) empty(n int) error {
	return UploadSlice(m.d, m.at, slices.Repeat([]uint64{absent}, n))
}

// Words implements ResultBuffer.
func (m *deviceBuffer) Words() int { return m.words }

// Post implements ResultBuffer.
func (m *deviceBuffer) Post() Post {
	if m.posted {
		_ = m.empty(m.words) // drops numbers that nobody has waited for; a later call reports an error
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
