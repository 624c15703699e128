// Package device wraps a kernels.Device for proofs: it counts allocations, keeps fixed tensors (weights) on the device from proof
// to proof, and turns errors of the device into the error of the pass that was running. It works with any kernels.Device, so tests
// need no GPU.
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

	// These settings are made before the first tensor is loaded.
	MaxResident int // most bytes of fixed tensors that may be on the device; 0: no bound
	Piece       int // bytes at a time of a tensor that does not fit as a whole, or of codewords that are being hashed
	Streams     int // streams of the device that are used at once, at least 1
	HostPair    int // an opening's first rounds run in the host's memory if their tables have at most so many entries
	ShortRow    int // log2 of the length into which an opening cuts longer rows
	LowVars     int // rows meet an eq table of more variables as a product of two tables, one of them over LowVars variables; at least 6
	ThreeRounds int // fixed cost in ns, beside passes over rows, of three more rounds before an opening's tables; they run if they save more
	MostMoved   int // an opening moves rows between devices only if these are at most so many bytes per element that rows fold to

	// Rows is held by whoever uses queue Streams, the one after those of the proofs' streams, on which rows are computed (run.Rows).
	Rows sync.Mutex

	// Dry says that the device only counts its memory. Then no work moves to the host, so that all its memory is counted here.
	Dry bool

	closers sync.Map     // set of Closers that have memory here (Keep)
	spare   atomic.Int64 // bytes, set by SetSpare
	ahead   atomic.Int64 // bytes of spare that are taken by rows packed while tasks run (Ahead)

	mu      sync.Mutex
	tensors map[identity]*resident
	bytes   int                                       // of the fixed tensors that are here or on their way
	boxes   map[kernels.Device][]kernels.ResultBuffer // free result buffers, by the stream that made them
	age     int                                       // number of fixed tensors that were freed so far (Generation)
	cache   Closer                                    // nil until wanted (Cached)
	mode    Mode
}

// A Closer holds memory of a device, which Close frees.
type Closer interface{ Close() }

// resident is a fixed tensor on the device, or on its way there. The tensor is known by the address of the host's list (identity).
// The reference in host keeps that list alive, so that no other list can get the address.
type resident struct {
	host   ints.Ints
	tensor *Tensor       // nil while it is on its way
	over   chan struct{} // closed when the transfer has ended, well or not
	upload bool          // the tensor comes from the host: other devices that want it wait for over and copy it from here
}

// New returns a context without tensors on dev.
func New(dev kernels.Device) *Context {
	return &Context{
		Dev: newCounted(dev), tensors: map[identity]*resident{},
		Piece: DefaultPiece, Streams: 1, HostPair: 1 << 13, ShortRow: 19, LowVars: 11, ThreeRounds: 1e6, MostMoved: 4 * ElementBytes,
		boxes: map[kernels.Device][]kernels.ResultBuffer{},
	}
}

// Spare returns the bytes that tasks and openings may take at once, less those that an opening prepared in advance has taken (Ahead).
// It is at least 1 where there is a bound, and 0 where there is none.
func (m *Context) Spare() int64 {
	if all := m.spare.Load(); all > 0 {
		return max(1, all-m.ahead.Load())
	}
	return 0
}

// Ahead subtracts bytes from Spare for an opening that is prepared while tasks run. Negative bytes give them back.
func (m *Context) Ahead(bytes int64) { m.ahead.Add(bytes) }

// SetSpare sets what Spare returns before it subtracts the bytes of Ahead; 0 for no bound.
func (m *Context) SetSpare(bytes int64) { m.spare.Store(bytes) }

// FreeBytes returns the bytes of the device that are free now, 0 if the device does not tell.
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

// Trim waits for all queues and returns the pool's unused memory to the device, which can make blocks of other sizes from it. It
// returns false if the device has no pool, or if that failed. A queue that is recording (kernels.Recorder) cannot be waited for, so Trim
// holds the lock of the only one that ever is, that of rows.
func (m *Context) Trim() bool {
	d, ok := m.Dev.Device.(interface{ Trim() error })
	if !ok {
		return false
	}
	m.Rows.Lock()
	defer m.Rows.Unlock()
	return d.Trim() == nil
}

// Drain waits for all work that was enqueued on stream number `stream`.
func (m *Context) Drain(stream int) error {
	dev, err := kernels.StreamOf(m.Dev, stream)
	if err != nil {
		return err
	}
	return dev.Sync()
}

// Traffic returns how many bytes were moved and allocated through this context.
func (m *Context) Traffic() Traffic {
	c := m.Dev.counters
	return Traffic{c.up.Load(), c.down.Load(), c.copied.Load(), c.Live(), c.Peak()}
}

// Resident returns the fixed tensor of values, which are not empty, on the device, where it stays until Close. values must not change
// from now on: a later call finds the tensor by the list's address. dev is the stream that loads it, from one of the peers if one has
// it, else from the host. If there is no room, the error wraps kernels.ErrMemory.
//
// Concurrent calls for the same list load it once: the first reserves it, the others wait until its transfer has ended and try again
// if that failed. This does not deadlock between devices. A call waits for another context only while that one uploads from the host
// (fromPeers), and an upload waits for no context.
func (m *Context) Resident(dev kernels.Device, values ints.Ints, peers []*Context) (t *Tensor, err error) {
	if t := m.Known(values); t != nil { // spares Width, which may have to read all values
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

// Reserve notes that a fixed tensor of size bytes is on its way; the caller then loads it and must call Arrived. If the tensor is here
// or on its way already, nothing is reserved, and Reserve returns the channel over, which is closed when that transfer has ended, well
// or not. If there is no room within MaxResident, the error wraps kernels.ErrMemory. Otherwise over and err are nil.
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

// Arrived ends what Reserve began. From now on the context owns t, which has size bytes; a nil t says that the transfer failed, and
// the reservation is cancelled.
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

// Adopt makes t the fixed tensor of values, as if it had been uploaded, unless there is one or there is no room.
func (m *Context) Adopt(values ints.Ints, t *Tensor) {
	size := t.Len * t.Width
	if over, err := m.Reserve(values, size); over == nil && err == nil {
		m.Arrived(values, size, t)
	}
}

// Known returns the fixed tensor of values, nil if it is not on the device or still on its way.
func (m *Context) Known(values ints.Ints) *Tensor {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.tensors[identityOf(values)]; r != nil {
		return r.tensor
	}
	return nil
}

// uploading notes that a reserved tensor comes from the host. Other contexts that want it may then wait for it and copy it.
func (m *Context) uploading(values ints.Ints) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tensors[identityOf(values)].upload = true
}

// fromPeers copies a fixed tensor from a peer that has it, or that is uploading it from the host, for which it waits. It returns nil
// if no peer can give the tensor. An error is one of dev; a peer that fails is passed over.
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
		// With one stream the upload there may still be in its queue (NewTensor does not wait for it): dev's queue waits for that
		// queue. With several streams NewTensor has waited.
		if there == nil || p.Streams == 1 && kernels.After(dev, p.Dev) != nil {
			continue
		}
		if t, err := Copied(dev, there, p.Dev); t != nil || err != nil {
			return t, err
		}
	}
	return nil, nil
}

// Reserved returns the bytes of the fixed tensors that are here or on their way.
func (m *Context) Reserved() int { return read(&m.mu, &m.bytes) }

// Generation returns a number that changes when fixed tensors are freed: addresses from an earlier generation are not valid.
func (m *Context) Generation() int { return read(&m.mu, &m.age) }

// Keep registers c, which has memory here, so that Close closes it.
func (m *Context) Keep(c Closer) { m.closers.Store(c, true) }

// Drop takes back Keep, when c has freed its memory.
func (m *Context) Drop(c Closer) { m.closers.Delete(c) }

// Busy says whether any Closer is registered (Keep), such as the run of another proof.
func (m *Context) Busy() (busy bool) {
	m.closers.Range(func(any, any) bool {
		busy = true
		return false
	})
	return busy
}

// Cached returns the one value that the context keeps from proof to proof beside the fixed tensors. The first call makes it with
// `first`; Close closes it.
func (m *Context) Cached(first func() Closer) Closer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cache == nil {
		m.cache = first()
	}
	return m.cache
}

// identity identifies a list in the host's memory: the address of its first entry, and its length.
type identity struct {
	at any
	n  int
}

// identityOf returns the identity of a list that is not empty.
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

// Same says whether two lists, not empty, are the same memory of the host.
func Same(x, y ints.Ints) bool { return identityOf(x) == identityOf(y) }

// Close closes the Closers (Keep), then what is Cached, and then frees the fixed tensors and result buffers. Tensors that are still on
// their way stay. The context may be used again.
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
			_ = box.Close() // an error changes nothing: the buffer is not used any more
		}
	}
	clear(m.boxes)
}

// ResultWords is the size of a result buffer, in words: room for the sums of a thousand
// instances, or for what is left of the tables of thirty.
const ResultWords = 1 << 15

// TakeBox returns a result buffer of the stream that is not in use. It is the caller's until GiveBox.
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
