package cuda

import (
	"sync"
	"sync/atomic"

	"github.com/prove-model/prove-model/kernels"
)

// Traffic is what a machine's device has been used for, in bytes.
type Traffic struct {
	Uploaded, Downloaded int64
	Live, Peak           int64 // allocated: now, at most
}

// counters are those of a device, for all of its lanes.
type counters struct {
	up, down atomic.Int64

	mu         sync.Mutex
	sizes      map[kernels.Ptr]int
	live, peak int64

	lanes map[int]*counted
}

// counted is a lane of a device that counts.
type counted struct {
	kernels.Device
	*counters
}

var _ kernels.Laned = (*counted)(nil)

func newCounted(d kernels.Device) *counted {
	c := &counted{d, &counters{sizes: map[kernels.Ptr]int{}, lanes: map[int]*counted{}}}
	c.lanes[0] = c
	return c
}

// Lane is described at kernels.Laned.
func (c *counted) Lane(n int) (kernels.Device, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.lanes[n]; ok {
		return l, nil
	}
	d, err := kernels.LaneOf(c.lanes[0].Device, n)
	if err != nil {
		return nil, err
	}
	l := &counted{d, c.counters}
	c.lanes[n] = l
	return l, nil
}

// Alloc is described at kernels.Device, as the others are.
func (c *counted) Alloc(bytes int) (kernels.Ptr, error) {
	p, err := c.Device.Alloc(bytes)
	if err == nil {
		c.mu.Lock()
		c.sizes[p] = bytes
		c.live += int64(bytes)
		c.peak = max(c.peak, c.live)
		c.mu.Unlock()
	}
	return p, err
}

func (c *counted) Free(p kernels.Ptr) {
	// Before the address can be another's.
	c.mu.Lock()
	c.live -= int64(c.sizes[p])
	delete(c.sizes, p)
	c.mu.Unlock()
	c.Device.Free(p)
}

func (c *counted) Upload(dst kernels.Ptr, src []byte) error {
	c.up.Add(int64(len(src)))
	return c.Device.Upload(dst, src)
}

func (c *counted) Download(dst []byte, src kernels.Ptr) error {
	c.down.Add(int64(len(dst)))
	return c.Device.Download(dst, src)
}

func (c *counters) traffic() Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Traffic{c.up.Load(), c.down.Load(), c.live, c.peak}
}
