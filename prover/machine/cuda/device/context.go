// Package device is a device as proofs use it: its memory and what is taken of it, the fixed tensors that stay on it
// from proof to proof, and how its errors become those of a pass. It runs on any kernels.Device, so tests run it without
// a GPU.
package device

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// A Context is a device with the fixed tensors that stay on it from proof to
// proof. It is safe for concurrent use.
type Context struct {
	Dev *Counted

	// These are set before the first tensor comes.
	MaxResident int // bytes of fixed tensors that may be here; 0: no bound
	Piece       int // bytes of a tensor that has no room as a whole, or of codewords on their way to a hash, that are here at a time
	Streams     int // streams of the device that are used at once, at least 1
	HostPair    int // an opening's first rounds are made in the host's memory if their tables have no more entries
	ShortRow    int // log2 of the length that an opening's longer rows are cut to
	LowVars     int // an eq table of more variables is the product of one of so many, 6 at least, and another where rows are multiplied with it
	ThreeRounds int // nanoseconds that three rounds before an opening's tables cost beside their passes: where that is less than it saves, they come
	MostMoved   int // rows of an opening move between devices if they have no more bytes than this for each element that they fold to

	// Rows is held by whoever uses the queue behind those of Streams, on which rows are computed (run.Rows).
	Rows sync.Mutex

	// Dry says that the device only counts its memory: nothing is moved to the host to be done there.
	Dry bool

	closers sync.Map     // what else has memory here (Keep)
	spare   atomic.Int64 // (SetSpare)
	ahead   atomic.Int64 // of it, for rows that are packed while tasks run

	mu      sync.Mutex
	tensors map[identity]*resident
	bytes   int                                       // of the fixed tensors that are here or on their way
	boxes   map[kernels.Device][]kernels.ResultBuffer // not in use, by stream
	age     int                                       // counts the tensors that were given back
	cache   Closer                                    // nil until wanted (Cached)
	mode    Mode
}

// A Closer has memory of a device.
type Closer interface{ Close() }

// resident is a fixed tensor on the device, or on its way there. The host's copy is kept, so that
// its address stays its own.
type resident struct {
	host   ints.Ints
	tensor *Tensor       // nil while it is on its way
	over   chan struct{} // closed when it has come, or will not
	upload bool          // it comes from the host: other devices wait for it, and copy it
}

// New returns a context without tensors on dev.
func New(dev kernels.Device) *Context {
	return &Context{
		Dev: newCounted(dev), tensors: map[identity]*resident{},
		Piece: DefaultPiece, Streams: 1, HostPair: 1 << 13, ShortRow: 19, LowVars: 11, ThreeRounds: 1e6, MostMoved: 4 * ElementBytes,
		boxes: map[kernels.Device][]kernels.ResultBuffer{},
	}
}

// Spare returns the bytes that tasks and openings may take at once, less those that an opening has been prepared with (Ahead); 0 if
// nothing bounds them.
func (m *Context) Spare() int64 {
	if all := m.spare.Load(); all > 0 {
		return max(1, all-m.ahead.Load())
	}
	return 0
}

// Ahead takes bytes off what is spare for an opening that is prepared while tasks run, or gives them back if negative.
func (m *Context) Ahead(bytes int64) { m.ahead.Add(bytes) }

// SetSpare sets what Spare returns.
func (m *Context) SetSpare(bytes int64) { m.spare.Store(bytes) }

// FreeBytes returns the bytes of the device that nothing takes now, 0 if it does not tell.
func (m *Context) FreeBytes() int {
	d, ok := m.Dev.Device.(interface {
		Available() (free, total int64, err error)
	})
	if ok {
		if n, _, err := d.Available(); err == nil {
			return int(n)
		}
	}
	return 0
}

// Trim waits for all queues and gives memory that its pool keeps unused back to the device, which makes other blocks of it. It returns
// false if the device has no pool, or cannot.
func (m *Context) Trim() bool {
	d, ok := m.Dev.Device.(interface{ Trim() error })
	return ok && d.Trim() == nil
}

// Drain waits for all that was enqueued on a stream.
func (m *Context) Drain(stream int) error {
	dev, err := kernels.StreamOf(m.Dev, stream)
	if err != nil {
		return err
	}
	return dev.Sync()
}

// Traffic returns what the device has been used for by the machine.
func (m *Context) Traffic() Traffic {
	c := m.Dev.counters
	return Traffic{c.up.Load(), c.down.Load(), c.copied.Load(), c.Live(), c.Peak()}
}

// Resident returns a fixed tensor, not empty, on the device, where it stays
// until Close. values must not change from now on; a later call for the same
// list finds it there. It comes through a stream, from another device if one of the peers
// has it. Where there is no room for it, the error wraps kernels.ErrMemory.
func (m *Context) Resident(dev kernels.Device, values ints.Ints, peers []*Context) (t *Tensor, err error) {
	if t := m.Known(values); t != nil { // of which the width need not be found
		return t, nil
	}
	size := values.Len() * Width(values)
	for {
		over, err := m.Reserve(values, size)
		if err != nil {
			return nil, err
		}
		if over == nil {
			break
		}
		<-over
		if t := m.Known(values); t != nil {
			return t, nil
		}
	}
	defer func() { m.Arrived(values, size, t) }()
	t, err = m.fromPeers(dev, values, peers)
	if t == nil && err == nil {
		m.uploading(values)
		t, err = m.NewTensor(dev, values)
	}
	return t, err
}

// Reserve reserves size bytes for a fixed tensor that is about to be uploaded, until Arrived. If it is here, or on its way,
// nothing is reserved, and over is closed when it has come, or will not. Where there is no room the error wraps
// kernels.ErrMemory.
func (m *Context) Reserve(values ints.Ints, size int) (over <-chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.tensors[identityOf(values)]; r != nil {
		return r.over, nil
	}
	if m.MaxResident > 0 && m.bytes+size > m.MaxResident {
		return nil, fmt.Errorf("%w: %d bytes beside %d of the %d for fixed tensors", kernels.ErrMemory, size, m.bytes, m.MaxResident)
	}
	m.tensors[identityOf(values)] = &resident{host: values, over: make(chan struct{})}
	m.bytes += size
	return nil, nil
}

// Arrived ends what Reserve began, with a tensor of as many bytes, which stays, or none.
func (m *Context) Arrived(values ints.Ints, size int, t *Tensor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.tensors[identityOf(values)]
	if r.tensor = t; t == nil {
		m.bytes -= size
		delete(m.tensors, identityOf(values))
	}
	close(r.over)
}

// Adopt makes a tensor the fixed tensor of values, as if it had been uploaded.
func (m *Context) Adopt(values ints.Ints, t *Tensor) {
	size := t.Len * t.Width
	if over, err := m.Reserve(values, size); over == nil && err == nil {
		m.Arrived(values, size, t)
	}
}

// Known returns a fixed tensor that is here, nil if it is not.
func (m *Context) Known(values ints.Ints) *Tensor {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.tensors[identityOf(values)]; r != nil {
		return r.tensor
	}
	return nil
}

// uploading notes that a fixed tensor on its way here comes from the host: other machines that
// want it copy it then.
func (m *Context) uploading(values ints.Ints) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tensors[identityOf(values)].upload = true
}

// fromPeers copies a fixed tensor from a machine that has it, or to which it is on its way, nil
// if none can give it.
func (m *Context) fromPeers(dev kernels.Device, values ints.Ints, peers []*Context) (*Tensor, error) {
	for _, p := range peers {
		if p == m {
			continue
		}
		p.mu.Lock()
		r := p.tensors[identityOf(values)]
		wait := r != nil && r.upload
		p.mu.Unlock()
		if wait {
			<-r.over
		}
		there := p.Known(values)
		// One stream's queue has it, sooner or later.
		if there == nil || p.Streams == 1 && kernels.After(dev, p.Dev) != nil {
			continue
		}
		if t, err := Copied(dev, there, p.Dev); t != nil || err != nil {
			return t, err
		}
	}
	return nil, nil
}

// Reserved returns the bytes of the tensors that are here or on their way.
func (m *Context) Reserved() int { return read(&m.mu, &m.bytes) }

// Generation returns a number that changes when resident tensors are given back.
func (m *Context) Generation() int { return read(&m.mu, &m.age) }

// Keep notes what has memory here, for Close to close it.
func (m *Context) Keep(c Closer) { m.closers.Store(c, true) }

// Drop notes that something has none any more.
func (m *Context) Drop(c Closer) { m.closers.Delete(c) }

// Busy says whether anything has noted that it has memory here.
func (m *Context) Busy() (busy bool) {
	m.closers.Range(func(any, any) bool {
		busy = true
		return false
	})
	return busy
}

// Cached returns the value that is kept on the device from proof to proof beside the tensors. The first call makes it with
// first; it is closed with the context.
func (m *Context) Cached(first func() Closer) Closer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cache == nil {
		m.cache = first()
	}
	return m.cache
}

// identity is the address of a list's first entry, and how many it has.
type identity struct {
	at any
	n  int
}

// identityOf returns that of a list that is not empty.
func identityOf(values ints.Ints) identity {
	switch v := values.(type) {
	case ints.Int8s:
		return identity{&v[0], len(v)}
	case ints.Int16s:
		return identity{&v[0], len(v)}
	}
	v := values.(ints.Int32s)
	return identity{&v[0], len(v)}
}

// Same says whether two lists, not empty, are one in the host's memory.
func Same(x, y ints.Ints) bool { return identityOf(x) == identityOf(y) }

// Close frees the tensors, and closes what else has memory here. The context may be used again.
func (m *Context) Close() {
	m.closers.Range(func(c, _ any) bool {
		c.(Closer).Close()
		return true
	})
	if cache := read(&m.mu, &m.cache); cache != nil {
		cache.Close()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for at, r := range m.tensors {
		if r.tensor == nil { // on its way
			continue
		}
		r.tensor.Free(m.Dev)
		m.bytes -= r.tensor.Len * r.tensor.Width
		m.age++
		delete(m.tensors, at)
	}
	for _, boxes := range m.boxes {
		for _, box := range boxes {
			_ = box.Close() // nothing of the machine depends on it any more
		}
	}
	clear(m.boxes)
}

// ResultWords is the size of the machine's result buffers: sums of a thousand
// instances, or what is left of thirty.
const ResultWords = 1 << 15

// TakeBox returns a result buffer of a stream that is not in use.
func (m *Context) TakeBox(stream kernels.Device) (kernels.ResultBuffer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if boxes := m.boxes[stream]; len(boxes) > 0 {
		n := len(boxes) - 1
		m.boxes[stream] = boxes[:n]
		return boxes[n], nil
	}
	return stream.NewResultBuffer(ResultWords)
}

// GiveBox takes a result buffer back.
func (m *Context) GiveBox(stream kernels.Device, box kernels.ResultBuffer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boxes[stream] = append(m.boxes[stream], box)
}
