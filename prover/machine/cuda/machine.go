package cuda

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Machine is a device with the fixed tensors that stay on it from proof to
// proof. It is safe for concurrent use.
type Machine struct {
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
	sharing  int                                  // machines that share commitments and openings
	boxes    map[kernels.Device][]kernels.Mailbox // not in use, by lane
	age      int                                  // counts the tensors that were given back
	runs     map[*Run]struct{}                    // forward passes whose values are here
	programs programs
	needs    needs
	spare    atomic.Int64 // bytes that tasks and openings may take at once (Settle), 0: no bound
}

// resident is a fixed tensor on the device. The host's copy is kept, so that
// its address stays its own.
type resident struct {
	host   ints.Ints
	tensor *Tensor
}

// NewMachine returns a machine without tensors on dev.
func NewMachine(dev kernels.Device) *Machine {
	return &Machine{
		dev: newCounted(dev), resident: map[any]resident{}, coming: map[any]chan struct{}{}, uploads: map[any]chan struct{}{},
		piece: defaultPiece, small: smallPair, moving: elementBytes, lanes: 1, sharing: 1,
		boxes: map[kernels.Device][]kernels.Mailbox{}, runs: map[*Run]struct{}{},
	}
}

// Limit bounds the memory that fixed tensors may take on the device, and that
// of a piece of what goes through in pieces, both in bytes: of a tensor that has
// no place there, and of codewords on their way to a hash. A resident limit of
// zero is none. It is set before the first
// tensor comes.
func (m *Machine) Limit(resident, piece int) { m.limit, m.piece = resident, piece }

// free returns the bytes of the device that nothing takes now, 0 if it does not tell.
func (m *Machine) free() int {
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
func (m *Machine) SetLanes(n int) { m.lanes = n }

// SetSharing says how many machines share commitments and openings, this one included (Team),
// which is part of what is estimated (Need).
func (m *Machine) SetSharing(n int) { m.sharing = n }

// Drain waits for all that was enqueued on a lane.
func (m *Machine) Drain(lane int) error {
	dev, err := kernels.LaneOf(m.dev, lane)
	if err != nil {
		return err
	}
	return dev.Sync()
}

// newTensor uploads values through the queue of a lane for all of them.
func (m *Machine) newTensor(dev kernels.Device, values ints.Ints) (*Tensor, error) {
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
func (m *Machine) Device() kernels.Device { return m.dev.Device }

// Traffic returns what the device has been used for by the machine.
func (m *Machine) Traffic() Traffic { return m.dev.traffic() }

// Resident returns a fixed tensor, not empty, on the device, where it stays
// until Close. values must not change from now on; a later call for the same
// list finds it there. Where there is no room for it, the error wraps
// kernels.ErrMemory.
func (m *Machine) Resident(values ints.Ints) (*Tensor, error) {
	return m.residentOn(m.dev, values, nil)
}

// residentOn is Resident through the queue of a lane, from another machine if one of these
// has the tensor.
func (m *Machine) residentOn(dev kernels.Device, values ints.Ints, peers []*Machine) (*Tensor, error) {
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
func (m *Machine) expect(values ints.Ints, size int) (over chan struct{}, err error) {
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
func (m *Machine) arrived(values ints.Ints, size int, t *Tensor) {
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
func (m *Machine) known(values ints.Ints) *Tensor {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.resident[address(values)]; ok && r.host.Len() == values.Len() {
		return r.tensor
	}
	return nil
}

// upload notes that a fixed tensor is on its way here, until done is called: other machines that
// want it copy it then.
func (m *Machine) upload(values ints.Ints) (done func()) {
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
func (m *Machine) soon(values ints.Ints) *Tensor {
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
func (m *Machine) fromPeers(dev kernels.Device, values ints.Ints, peers []*Machine) (*Tensor, error) {
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
func (m *Machine) has(values ints.Ints, peers []*Machine) bool {
	_, err := m.residentOn(m.dev, values, peers)
	if err != nil && !errors.Is(err, kernels.ErrMemory) {
		check(&MachineError{m, err})
	}
	return err == nil
}

// generation returns a number that changes when resident tensors are given back.
func (m *Machine) generation() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.age
}

// keep and drop note the runs whose values are here.
func (m *Machine) keep(r *Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs[r] = struct{}{}
}

func (m *Machine) drop(r *Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, r)
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

// Close frees the tensors, and closes runs. The machine may be used again.
func (m *Machine) Close() {
	m.mu.Lock()
	runs := slices.Collect(maps.Keys(m.runs))
	m.mu.Unlock()
	for _, r := range runs {
		r.Close()
	}
	m.programs.Lock()
	for _, p := range m.programs.list {
		if p.users == 0 {
			p.free()
		}
	}
	m.programs.list = nil
	m.programs.Unlock()
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

// mailboxWords is the size of the machine's mailboxes: sums of a thousand
// instances, or what is left of thirty.
const mailboxWords = 1 << 15

// takeBox returns a mailbox of a lane that is not in use.
func (m *Machine) takeBox(lane kernels.Device) (kernels.Mailbox, error) {
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
func (m *Machine) giveBox(lane kernels.Device, box kernels.Mailbox) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boxes[lane] = append(m.boxes[lane], box)
}

func (m *Machine) release(r resident) {
	r.tensor.Free(m.dev)
	m.bytes -= r.tensor.Len * r.tensor.Width
	m.age++
}

// Backend runs on a device. It is for one goroutine at a time; others use lanes of it.
// What this package does not do is done by the CPU.
type Backend struct {
	*cpu.Backend
	m      *Machine
	g      *model.Graph
	w      backend.Witness
	dev    *scope
	values *held // tensors that are not fixed, of all lanes
	isLane bool  // the values are another backend's
	team   Team  // of a backend that commits
	others map[*Machine]*Backend
	run    *Run                // that has made the witness, if that was on devices
	keys   map[int]*stepKeys   // of look-up steps that are cut, as long as they are wanted
	in     map[int]kernels.Ptr // stretches of the run that are read, and their memory
	box    kernels.Mailbox     // nil until wanted
	nodes  map[*nodes]struct{} // trees whose digests are on the device

	prepared *prepared // nil unless an opening has begun
}

var (
	_ backend.Laned    = (*Backend)(nil)
	_ backend.Measured = (*Backend)(nil)
	_ backend.Preparer = (*Backend)(nil)
	_ backend.Sender   = (*Backend)(nil)
)

// Backend returns a backend for one witness of g.
func (m *Machine) Backend(g *model.Graph, w backend.Witness) *Backend {
	return newBackend(m.dev, &held{g: g, w: w, m: m, run: keptOf(w), tensors: map[model.TensorID]*heldTensor{}}, false)
}

func newBackend(dev kernels.Device, v *held, isLane bool) *Backend {
	return &Backend{
		Backend: cpu.New(v.g, v.w), m: v.m, g: v.g, w: v.w, dev: newScope(dev), values: v, isLane: isLane,
		run: v.run, keys: map[int]*stepKeys{}, in: map[int]kernels.Ptr{}, nodes: map[*nodes]struct{}{},
	}
}

// Lane implements backend.Laned. Lane 0 uses the queue of b. The lanes that a machine
// uses must have been set (SetLanes).
func (b *Backend) Lane(n int) (backend.Backend, error) {
	dev, err := kernels.LaneOf(b.m.dev, n)
	if err != nil {
		return nil, err
	}
	return newBackend(dev, b.values, true), nil
}

// Peak implements backend.Measured: beside weights and values, which are the machine's
// and all lanes'.
func (b *Backend) Peak() int64 {
	b.dev.mu.Lock()
	defer b.dev.mu.Unlock()
	return b.dev.peak
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
	if w, ok := b.w.(DeviceWitness); ok {
		if t := w.DeviceTensor(id); t != nil {
			return t, nil
		}
	}
	if b.run != nil {
		if t := b.ofRun(ofTensor(id)); t != nil {
			return t, nil
		}
	}
	if b.g.Tensors[id].Kind == model.Fixed {
		return b.m.residentOn(b.dev.Device, b.w.Fixed(id), b.values.peers)
	}
	return b.values.tensor(b.dev.Device, id)
}

// Close implements backend.Backend.
func (b *Backend) Close() {
	b.unprepare()
	for _, x := range b.others {
		x.Close()
	}
	for n := range b.nodes {
		n.free()
	}
	b.dev.close()
	b.leaveStretches()
	if !b.isLane {
		b.values.close()
	}
	if b.box != nil {
		b.m.giveBox(b.dev.Device, b.box)
		b.box = nil
	}
}

// mailbox returns the backend's mailbox.
func (b *Backend) mailbox() kernels.Mailbox {
	if b.box == nil {
		var err error
		b.box, err = b.m.takeBox(b.dev.Device)
		check(err)
	}
	return b.box
}
