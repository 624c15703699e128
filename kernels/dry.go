package kernels

import (
	"sync/atomic"
	"time"
)

// Dry is a device that only hands out addresses. It finds out how much memory some work would
// take, by running the code that allocates the memory. It does not do the operations that it
// is asked for, and all that is read from it is zero.
type Dry struct {
	processors int
	used       atomic.Uint64 // bytes of all allocations
}

var _ Peer = (*Dry)(nil)

// alignment is the alignment of the memory that Alloc returns.
const alignment = 256

// NewDry returns a device with that many multiprocessors.
func NewDry(processors int) *Dry {
	return &Dry{processors: processors}
}

// Name is described at Device, as the other methods are.
func (d *Dry) Name() string { return "dry" }

// Multiprocessors returns the number that it was made with.
func (d *Dry) Multiprocessors() int { return d.processors }

// Alloc returns an address that was not in use before.
func (d *Dry) Alloc(bytes int) (Ptr, error) {
	size := uint64(bytes+alignment-1) &^ (alignment - 1)
	return Ptr(alignment + d.used.Add(size) - size), nil
}

// Free does nothing.
func (d *Dry) Free(Ptr) {}

// Upload does nothing.
func (d *Dry) Upload(Ptr, []byte) error { return nil }

// Download gives zeros.
func (d *Dry) Download(dst []byte, _ Ptr) error {
	clear(dst)
	return nil
}

// Copy does nothing.
func (d *Dry) Copy(_, _ Ptr, _ int) error { return nil }

// Clear does nothing.
func (d *Dry) Clear(Ptr, int) error { return nil }

// Launch does nothing.
func (d *Dry) Launch(Kernel, Launch, ...uint64) error { return nil }

// After does nothing.
func (d *Dry) After(Device) error { return nil }

// CopyFrom does nothing.
func (d *Dry) CopyFrom(Ptr, Device, Ptr, int) error { return nil }

// Sync does nothing.
func (d *Dry) Sync() error { return nil }

// Time runs f, which takes the device no time.
func (d *Dry) Time(f func() error) (time.Duration, error) { return 0, f() }

// NewResultBuffer returns a result buffer in which all numbers are zero.
func (d *Dry) NewResultBuffer(words int) (ResultBuffer, error) { return dryBox(words), nil }

// dryBox is a result buffer of a Dry, with that many words.
type dryBox int

func (b dryBox) Words() int { return int(b) }

func (b dryBox) Post() Post { return NewPost(0, 0, 0) }

func (b dryBox) Wait(dst []uint64) error {
	clear(dst)
	return nil
}

func (b dryBox) Close() error { return nil }
