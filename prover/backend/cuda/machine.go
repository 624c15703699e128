package cuda

import (
	"fmt"
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/ints"
	"github.com/prove-model/prove-model/prover/model"
)

// Machine is a device with the fixed tensors that stay on it from proof to
// proof. It is safe for concurrent use.
type Machine struct {
	dev kernels.Device

	mu       sync.Mutex
	resident map[any]resident  // by the address of the first entry
	bytes    int               // of the resident tensors
	limit    int               // on them; 0: none
	piece    int               // bytes of what goes through in pieces
	boxes    []kernels.Mailbox // not in use
}

// resident is a fixed tensor on the device. The host's copy is kept, so that
// its address stays its own.
type resident struct {
	host   ints.Ints
	tensor *Tensor
}

// NewMachine returns a machine without tensors on dev.
func NewMachine(dev kernels.Device) *Machine {
	return &Machine{dev: dev, resident: map[any]resident{}, piece: defaultPiece}
}

// Limit bounds the memory that fixed tensors may take on the device, and that
// of a piece of what goes through in pieces, both in bytes: of a tensor that has
// no place there, and of codewords on their way to a hash. A resident limit of
// zero is none. It is set before the first
// tensor comes.
func (m *Machine) Limit(resident, piece int) { m.limit, m.piece = resident, piece }

// Device returns the machine's device.
func (m *Machine) Device() kernels.Device { return m.dev }

// Resident returns a fixed tensor, not empty, on the device, where it stays
// until Close. values must not change from now on; a later call for the same
// list finds it there. Where there is no room for it, the error wraps
// kernels.ErrMemory.
func (m *Machine) Resident(values ints.Ints) (*Tensor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := address(values)
	old, ok := m.resident[at]
	if ok && old.host.Len() == values.Len() {
		return old.tensor, nil
	}
	if size := values.Len() * width(values); m.limit > 0 && m.bytes+size > m.limit {
		return nil, fmt.Errorf("%w: %d bytes beside %d of the %d for fixed tensors", kernels.ErrMemory, size, m.bytes, m.limit)
	}
	t, err := NewTensor(m.dev, values)
	if err != nil {
		return nil, err
	}
	if ok {
		m.release(old)
	}
	m.resident[at] = resident{values, t}
	m.bytes += t.Len * t.Width
	return t, nil
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

// Close frees the tensors. The machine may be used again.
func (m *Machine) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.resident {
		m.release(r)
	}
	clear(m.resident)
	for _, box := range m.boxes {
		_ = box.Close() // nothing of the machine depends on it any more
	}
	m.boxes = nil
}

// mailboxWords is the size of the machine's mailboxes: sums of a thousand
// instances.
const mailboxWords = 1 << 13

// takeBox returns a mailbox that is not in use.
func (m *Machine) takeBox() (kernels.Mailbox, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.boxes); n > 0 {
		box := m.boxes[n-1]
		m.boxes = m.boxes[:n-1]
		return box, nil
	}
	return m.dev.NewMailbox(mailboxWords)
}

// giveBox takes a mailbox back.
func (m *Machine) giveBox(box kernels.Mailbox) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boxes = append(m.boxes, box)
}

func (m *Machine) release(r resident) {
	r.tensor.Free(m.dev)
	m.bytes -= r.tensor.Len * r.tensor.Width
}

// Backend runs on a device. It is for one goroutine at a time. What this
// package does not do is done by the CPU.
type Backend struct {
	*cpu.Backend
	m    *Machine
	g    *model.Graph
	w    backend.Witness
	dev  *scope
	held map[model.TensorID]*Tensor // tensors that are not fixed
	keys map[int]*Tensor            // of look-up steps that are cut, as long as they are wanted
	box  kernels.Mailbox            // nil until wanted
	// nodes are the trees whose digests are on the device.
	nodes map[*nodes]struct{}
}

var _ backend.Backend = (*Backend)(nil)

// Backend returns a backend for one witness of g.
func (m *Machine) Backend(g *model.Graph, w backend.Witness) *Backend {
	return &Backend{cpu.New(g, w), m, g, w, newScope(m.dev), map[model.TensorID]*Tensor{}, map[int]*Tensor{}, nil, map[*nodes]struct{}{}}
}

// DeviceWitness is a witness that has tensors on the device already.
type DeviceWitness interface {
	backend.Witness
	// DeviceTensor returns a tensor, or nil for one that is not there. It stays
	// the witness's own.
	DeviceTensor(id model.TensorID) *Tensor
}

// tensor returns a tensor of any kind on the device: fixed tensors those of
// the machine, others uploaded once for this backend.
func (b *Backend) tensor(id model.TensorID) *Tensor {
	t, err := b.find(id)
	check(err)
	return t
}

func (b *Backend) find(id model.TensorID) (*Tensor, error) {
	if t, ok := b.held[id]; ok {
		return t, nil
	}
	if w, ok := b.w.(DeviceWitness); ok {
		if t := w.DeviceTensor(id); t != nil {
			return t, nil
		}
	}
	if b.g.Tensors[id].Kind == model.Fixed {
		return b.m.Resident(b.w.Fixed(id))
	}
	t, err := NewTensor(b.dev, backend.Values(b.g, b.w, id))
	if err == nil {
		b.held[id] = t
	}
	return t, err
}

// Close implements backend.Backend.
func (b *Backend) Close() {
	for n := range b.nodes {
		n.free()
	}
	b.dev.close()
	if b.box != nil {
		b.m.giveBox(b.box)
		b.box = nil
	}
}

// mailbox returns the backend's mailbox.
func (b *Backend) mailbox() kernels.Mailbox {
	if b.box == nil {
		var err error
		b.box, err = b.m.takeBox()
		check(err)
	}
	return b.box
}
