package device

import (
	"sync/atomic"

	"github.com/prove-model/prove-model/kernels"
)

// Traffic is what has been transferred and allocated on a device, in bytes.
type Traffic struct {
	Uploaded, Downloaded int64
	Copied               int64 // from other devices, not through the host
	Live, Peak           int64 // allocated: now, and the most at once
}

// counters are what all streams of a device count together.
type counters struct {
	up, down, copied atomic.Int64

	ledger
	streams map[int]*Counted // under the ledger's lock
}

// Counted is a stream of a device that counts transfers and allocations. All streams of a device share their counters.
type Counted struct {
	kernels.Device
	*counters
}

var (
	_ kernels.MultiStream = (*Counted)(nil)
	_ kernels.Peer        = (*Counted)(nil)
	_ kernels.Wrapper     = (*Counted)(nil)
)

func newCounted(d kernels.Device) *Counted {
	c := &Counted{d, &counters{ledger: ledger{live: map[kernels.Ptr]int{}}, streams: map[int]*Counted{}}}
	c.streams[0] = c
	return c
}

// Stream is described at kernels.MultiStream.
func (c *Counted) Stream(n int) (kernels.Device, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.streams[n]; ok {
		return l, nil
	}
	d, err := kernels.StreamOf(c.streams[0].Device, n)
	if err != nil {
		return nil, err
	}
	l := &Counted{d, c.counters}
	c.streams[n] = l
	return l, nil
}

// Alloc is described at kernels.Device, as the next three methods are.
func (c *Counted) Alloc(bytes int) (kernels.Ptr, error) { return c.alloc(c.Device, bytes) }

func (c *Counted) Free(p kernels.Ptr) { c.free(c.Device, p) }

func (c *Counted) Upload(dst kernels.Ptr, src []byte) error {
	c.up.Add(int64(len(src)))
	return c.Device.Upload(dst, src)
}

func (c *Counted) Download(dst []byte, src kernels.Ptr) error {
	c.down.Add(int64(len(dst)))
	return c.Device.Download(dst, src)
}

// Beneath is described at kernels.Wrapper.
func (c *Counted) Beneath() kernels.Device { return c.Device }

// After is described at kernels.Peer, as CopyFrom is.
func (c *Counted) After(other kernels.Device) error { return kernels.After(c.Device, other) }

func (c *Counted) CopyFrom(dst kernels.Ptr, other kernels.Device, src kernels.Ptr, bytes int) error {
	p := kernels.PeerOf(c.Device)
	if p == nil {
		return kernels.ErrNoPeer
	}
	err := p.CopyFrom(dst, other, src, bytes)
	if err == nil {
		c.copied.Add(int64(bytes))
	}
	return err
}
