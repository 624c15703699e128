package cuda

import (
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/model"
)

// Machine is a device with the fixed tensors that stay on it from proof to
// proof. It is safe for concurrent use.
type Machine struct {
	dev kernels.Device

	mu       sync.Mutex
	resident map[*int32]resident
}

// resident is a fixed tensor on the device. The host's copy is kept, so that
// its address stays its own.
type resident struct {
	host   []int32
	tensor *Tensor
}

// NewMachine returns a machine without tensors on dev.
func NewMachine(dev kernels.Device) *Machine {
	return &Machine{dev: dev, resident: map[*int32]resident{}}
}

// Device returns the machine's device.
func (m *Machine) Device() kernels.Device { return m.dev }

// Resident returns a fixed tensor, not empty, on the device, where it stays
// until Close. values must not change from now on; a later call for the same
// slice finds it there.
func (m *Machine) Resident(values []int32) (*Tensor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.resident[&values[0]]; ok && len(r.host) == len(values) {
		return r.tensor, nil
	}
	t, err := NewTensor(m.dev, values)
	if err != nil {
		return nil, err
	}
	if old, ok := m.resident[&values[0]]; ok {
		old.tensor.Free(m.dev)
	}
	m.resident[&values[0]] = resident{values, t}
	return t, nil
}

// Close frees the tensors. The machine may be used again.
func (m *Machine) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.resident {
		r.tensor.Free(m.dev)
	}
	clear(m.resident)
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
}

var _ backend.Backend = (*Backend)(nil)

// Backend returns a backend for one witness of g.
func (m *Machine) Backend(g *model.Graph, w backend.Witness) *Backend {
	return &Backend{cpu.New(g, w), m, g, w, newScope(m.dev), map[model.TensorID]*Tensor{}}
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
	if t, ok := b.held[id]; ok {
		return t
	}
	if w, ok := b.w.(DeviceWitness); ok {
		if t := w.DeviceTensor(id); t != nil {
			return t
		}
	}
	if b.g.Tensors[id].Kind == model.Fixed {
		t, err := b.m.Resident(b.w.Tensor(id))
		backend.Check(err)
		return t
	}
	t, err := NewTensor(b.dev, b.w.Tensor(id))
	backend.Check(err)
	b.held[id] = t
	return t
}

// Close implements backend.Backend.
func (b *Backend) Close() { b.dev.close() }
