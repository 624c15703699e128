package cuda

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// A Context is a device with the fixed tensors that stay on it from proof to
// proof. It is safe for concurrent use.
type Context struct {
	dev *counted

	mu       sync.Mutex
	resident map[any]resident                     // by the address of the first entry
	coming   map[any]chan struct{}                // of those that are on their way, closed when that is over
	uploads  map[any]chan struct{}                // of those of them that come from the host, for other machines
	bytes    int                                  // of the resident tensors, and of those on their way
	limit    int                                  // on them; 0: none
	piece    int                                  // bytes of what goes through in pieces
	small    int                                  // entries up to which tables of an opening's first rounds are the host's
	moving   int                                  // bytes of an opening's rows that may move for an element of what they fold to
	lanes    int                                  // queues of the device that are used
	boxes    map[kernels.Device][]kernels.Mailbox // not in use, by lane
	age      int                                  // counts the tensors that were given back
	closers  map[Closer]struct{}                  // what else has memory here (Keep)
	cache    Closer                               // nil until wanted (Cached)
	mode     Mode
	spare    int64 // bytes that tasks and openings may take at once, 0: no bound
}

// A Closer has memory of a device.
type Closer interface{ Close() }

// resident is a fixed tensor on the device. The host's copy is kept, so that
// its address stays its own.
type resident struct {
	host   ints.Ints
	tensor *Tensor
}

// NewContext returns a context without tensors on dev.
func NewContext(dev kernels.Device) *Context {
	return &Context{
		dev: newCounted(dev), resident: map[any]resident{}, coming: map[any]chan struct{}{}, uploads: map[any]chan struct{}{},
		piece: defaultPiece, small: smallPair, moving: elementBytes, lanes: 1,
		boxes: map[kernels.Device][]kernels.Mailbox{}, closers: map[Closer]struct{}{},
	}
}

// Limit bounds the memory that fixed tensors may take on the device, and that
// of a piece of what goes through in pieces, both in bytes: of a tensor that has
// no place there, and of codewords on their way to a hash. A resident limit of
// zero is none. It is set before the first
// tensor comes.
func (m *Context) Limit(resident, piece int) { m.limit, m.piece = resident, piece }

// Spare returns the bytes that tasks and openings may take at once, 0 if nothing bounds them.
func (m *Context) Spare() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spare
}

// SetSpare sets what Spare returns.
func (m *Context) SetSpare(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spare = bytes
}

// free returns the bytes of the device that nothing takes now, 0 if it does not tell.
func (m *Context) free() int {
	d, ok := m.dev.Device.(interface {
		Available() (free, total int64, err error)
	})
	if !ok {
		return 0
	}
	n, _, err := d.Available()
	if err != nil {
		return 0
	}
	return int(n)
}

// SetLanes says how many lanes of its backends are used at once, 1 at least. It is set
// before the first tensor comes.
func (m *Context) SetLanes(n int) { m.lanes = n }

// Drain waits for all that was enqueued on a lane.
func (m *Context) Drain(lane int) error {
	dev, err := kernels.LaneOf(m.dev, lane)
	if err != nil {
		return err
	}
	return dev.Sync()
}

// newTensor uploads values through the queue of a lane for all of them.
func (m *Context) newTensor(dev kernels.Device, values ints.Ints) (*Tensor, error) {
	t, err := NewTensor(dev, values)
	if err != nil || m.lanes == 1 && dev == kernels.Device(m.dev) {
		return t, err
	}
	kept := false
	defer func() {
		if !kept {
			t.Free(dev)
		}
	}()
	// Other queues know nothing of what this one has yet to do.
	if err := dev.Sync(); err != nil {
		return nil, err
	}
	kept = true
	return t, nil
}

// Device returns the machine's device.
func (m *Context) Device() kernels.Device { return m.dev.Device }

// Traffic returns what the device has been used for by the machine.
func (m *Context) Traffic() Traffic { return m.dev.traffic() }

// Resident returns a fixed tensor, not empty, on the device, where it stays
// until Close. values must not change from now on; a later call for the same
// list finds it there. Where there is no room for it, the error wraps
// kernels.ErrMemory.
func (m *Context) Resident(values ints.Ints) (*Tensor, error) {
	return m.residentOn(m.dev, values, nil)
}

// residentOn is Resident through the queue of a lane, from another machine if one of these
// has the tensor.
func (m *Context) residentOn(dev kernels.Device, values ints.Ints, peers []*Context) (*Tensor, error) {
	if t := m.known(values); t != nil { // of which the width need not be found
		return t, nil
	}
	size := values.Len() * width(values)
	for {
		if t := m.known(values); t != nil {
			return t, nil
		}
		over, err := m.expect(values, size)
		if err != nil {
			return nil, err
		}
		if over == nil {
			break
		}
		<-over
	}
	var t *Tensor
	defer func() { m.arrived(values, size, t) }()
	t, err := m.fromPeers(dev, values, peers)
	if t == nil && err == nil {
		defer m.upload(values)()
		t, err = m.newTensor(dev, values)
	}
	return t, err
}

// expect makes room for so many bytes of a fixed tensor among those that may be here, until it has
// arrived, or is on its way already: then over is closed when that is over. Where there is no room
// the error wraps kernels.ErrMemory.
func (m *Context) expect(values ints.Ints, size int) (over chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if over := m.coming[address(values)]; over != nil {
		return over, nil
	}
	if m.limit > 0 && m.bytes+size > m.limit {
		return nil, fmt.Errorf("%w: %d bytes beside %d of the %d for fixed tensors", kernels.ErrMemory, size, m.bytes, m.limit)
	}
	m.coming[address(values)] = make(chan struct{})
	m.bytes += size
	return nil, nil
}

// arrived ends what expect began, with a tensor of as many bytes, which stays, or none.
func (m *Context) arrived(values ints.Ints, size int, t *Tensor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := address(values)
	close(m.coming[at])
	delete(m.coming, at)
	if t == nil {
		m.bytes -= size
		return
	}
	if old, ok := m.resident[at]; ok {
		m.release(old)
	}
	m.resident[at] = resident{values, t}
}

// known returns a fixed tensor that is here, nil if it is not.
func (m *Context) known(values ints.Ints) *Tensor {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.resident[address(values)]; ok && r.host.Len() == values.Len() {
		return r.tensor
	}
	return nil
}

// upload notes that a fixed tensor is on its way here, until done is called: other machines that
// want it copy it then.
func (m *Context) upload(values ints.Ints) (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	over := make(chan struct{})
	m.uploads[address(values)] = over
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.uploads, address(values))
		close(over)
	}
}

// soon is known for a machine to which a tensor may be on its way, for which it waits.
func (m *Context) soon(values ints.Ints) *Tensor {
	m.mu.Lock()
	over := m.uploads[address(values)]
	m.mu.Unlock()
	if over != nil {
		<-over
	}
	return m.known(values)
}

// fromPeers copies a fixed tensor from a machine that has it, or to which it is on its way, nil
// if none can give it.
func (m *Context) fromPeers(dev kernels.Device, values ints.Ints, peers []*Context) (*Tensor, error) {
	for _, p := range peers {
		if p == m {
			continue
		}
		there := p.soon(values)
		if there == nil {
			continue
		}
		if p.lanes == 1 { // its queue has it, sooner or later
			if err := kernels.After(dev, p.dev); err != nil {
				continue
			}
		}
		t, err := copied(dev, there, p.dev)
		if t != nil || err != nil {
			return t, err
		}
	}
	return nil, nil
}

// has says whether a fixed tensor is, or can be made, resident.
func (m *Context) has(values ints.Ints, peers []*Context) bool {
	_, err := m.residentOn(m.dev, values, peers)
	if err != nil && !errors.Is(err, kernels.ErrMemory) {
		check(&ContextError{m, err})
	}
	return err == nil
}

// reserved returns the bytes of the tensors that are here or on their way.
func (m *Context) reserved() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// generation returns a number that changes when resident tensors are given back.
func (m *Context) generation() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.age
}

// keep notes what has memory here, for Close to close it.
func (m *Context) keep(c Closer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closers[c] = struct{}{}
}

// drop notes that something has none any more.
func (m *Context) drop(c Closer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.closers, c)
}

// cached returns what is kept here beside the tensors from proof to proof: what first returned when it was
// first asked for.
func (m *Context) cached(first func() Closer) Closer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cache == nil {
		m.cache = first()
	}
	return m.cache
}

// address returns the address of the first entry.
func address(values ints.Ints) any {
	switch v := values.(type) {
	case ints.Int8s:
		return &v[0]
	case ints.Int16s:
		return &v[0]
	}
	return &values.(ints.Int32s)[0]
}

// Close frees the tensors, and closes what else has memory here. The context may be used again.
func (m *Context) Close() {
	m.mu.Lock()
	all := slices.Collect(maps.Keys(m.closers))
	if m.cache != nil {
		all = append(all, m.cache)
	}
	m.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.resident {
		m.release(r)
	}
	clear(m.resident)
	for _, boxes := range m.boxes {
		for _, box := range boxes {
			_ = box.Close() // nothing of the machine depends on it any more
		}
	}
	clear(m.boxes)
}

// smallPair is the most entries that a table of a hostPair begins with.
const smallPair = 1 << 13

// mailboxWords is the size of the machine's mailboxes: sums of a thousand
// instances, or what is left of thirty.
const mailboxWords = 1 << 15

// takeBox returns a mailbox of a lane that is not in use.
func (m *Context) takeBox(lane kernels.Device) (kernels.Mailbox, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if boxes := m.boxes[lane]; len(boxes) > 0 {
		n := len(boxes) - 1
		m.boxes[lane] = boxes[:n]
		return boxes[n], nil
	}
	return lane.NewMailbox(mailboxWords)
}

// giveBox takes a mailbox back.
func (m *Context) giveBox(lane kernels.Device, box kernels.Mailbox) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boxes[lane] = append(m.boxes[lane], box)
}

func (m *Context) release(r resident) {
	r.tensor.Free(m.dev)
	m.bytes -= r.tensor.Len * r.tensor.Width
	m.age++
}
