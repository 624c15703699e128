package cuda

import (
	"time"

	"github.com/prove-model/prove-model/kernels"
)

// dry is a device that only counts its memory. What it is asked to do it does not do,
// and what is read from it is zero.
type dry struct {
	processors int
	next       kernels.Ptr
	sizes      map[kernels.Ptr]int64
	live, peak int64
}

var _ kernels.Device = (*dry)(nil)

func newDry(like kernels.Device) *dry {
	return &dry{processors: like.Multiprocessors(), next: dryAlignment, sizes: map[kernels.Ptr]int64{}}
}

// dryAlignment is that of kernels.Device.Alloc.
const dryAlignment = 256

// Name is described at kernels.Device, as the others are.
func (d *dry) Name() string { return "dry" }

func (d *dry) Multiprocessors() int { return d.processors }

func (d *dry) Alloc(bytes int) (kernels.Ptr, error) {
	p := d.next
	d.next += kernels.Ptr(bytes+dryAlignment-1) &^ (dryAlignment - 1)
	d.sizes[p] = int64(bytes)
	d.live += int64(bytes)
	d.peak = max(d.peak, d.live)
	return p, nil
}

func (d *dry) Free(p kernels.Ptr) {
	d.live -= d.sizes[p]
	delete(d.sizes, p)
}

func (d *dry) Upload(kernels.Ptr, []byte) error { return nil }

func (d *dry) Download(dst []byte, _ kernels.Ptr) error {
	clear(dst)
	return nil
}

func (d *dry) Copy(_, _ kernels.Ptr, _ int) error { return nil }

func (d *dry) Clear(kernels.Ptr, int) error { return nil }

func (d *dry) Launch(kernels.Kernel, kernels.Launch, ...uint64) error { return nil }

func (d *dry) Sync() error { return nil }

func (d *dry) Time(f func() error) (time.Duration, error) { return 0, f() }

func (d *dry) NewMailbox(words int) (kernels.Mailbox, error) { return dryBox(words), nil }

// dryBox is a mailbox of a dry device, of that many words.
type dryBox int

func (b dryBox) Words() int { return int(b) }

func (b dryBox) Post(done kernels.Ptr) kernels.Post { return kernels.NewPost(0, 0, done) }

func (b dryBox) Wait(dst []uint64) error {
	clear(dst)
	return nil
}

func (b dryBox) Close() error { return nil }
