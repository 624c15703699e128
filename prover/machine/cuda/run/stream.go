// Package run runs circuits on devices, and finds on them what a proof reads: the tensors of a witness and the keys of
// its look-ups. Values that are not kept there it recomputes, by segments of the circuit.
//
// The values of a run belong to the Run, and stay until Run.Close. Other tensors of a witness belong to the first Stream of a device,
// fixed tensors to the device.Context. Work on a stream is ordered by the stream's queue; where a queue reads what another one writes, it
// comes after that (kernels.After), or the host has waited for the other queue.
package run

import (
	"slices"
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// A Stream is a queue of a device with the witness of one proof. Passes find tensors and the keys of look-ups through it.
// It is for one goroutine at a time.
type Stream struct {
	*shared
	Dev    *device.Scope // the queue; owns the memory that is the stream's own
	Closed bool

	further bool                 // not the first stream of the witness, which owns what is in shared
	keys    map[int]*stepKeys    // by look-up step
	in      map[int]kernels.Ptr  // the segments that the stream has entered, and the memory of their values
	box     kernels.ResultBuffer // nil until wanted
}

// shared is what all streams of a device have in common for a witness. A tensor that is not fixed is loaded when a
// stream first wants it, from the device where a run has left it or from the host. It stays until the first stream is
// closed. By then every stream that reads it must have been waited for.
type shared struct {
	Context *device.Context
	Graph   *model.Graph
	Witness backend.Witness
	Run     *Run // the run that has made the witness, nil if that was on the host

	tensors sync.Map          // *value by model.TensorID
	mu      sync.Mutex        // protects peers
	peers   []*device.Context // devices from which fixed tensors may be copied
}

// value is a tensor that shared owns.
type value struct {
	mu sync.Mutex     // held while the tensor is loaded
	t  *device.Tensor // nil until then
}

// others returns the devices from which fixed tensors may be copied.
func (s *shared) others() []*device.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers
}

// Forget removes a device that has failed from those from which fixed tensors are copied.
func (s *shared) Forget(m *device.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers = slices.DeleteFunc(slices.Clone(s.peers), func(x *device.Context) bool { return x == m })
}

// NewStream returns the first stream of a device for a witness of g. It uses the device's queue 0. Fixed tensors may be copied from peers.
func NewStream(m *device.Context, g *model.Graph, w backend.Witness, peers ...*device.Context) *Stream {
	return newStream(&shared{Context: m, Graph: g, Witness: w, Run: keptOf(w), peers: slices.Clone(peers)}, m.Dev)
}

func newStream(s *shared, dev kernels.Device) *Stream {
	return &Stream{shared: s, Dev: device.NewScope(dev), keys: map[int]*stepKeys{}, in: map[int]kernels.Ptr{}}
}

// Stream returns a stream on queue n of the device for the same witness. It must be closed before the first stream is.
func (s *Stream) Stream(n int) (*Stream, error) {
	dev, err := kernels.StreamOf(s.Context.Dev, n)
	if err != nil {
		return nil, err
	}
	other := newStream(s.shared, dev)
	other.further = true
	return other, nil
}

// Stream returns a stream on the given queue of a machine, which finds values of the run, also while the run goes on, and nothing else.
func (r *Run) Stream(m *device.Context, queue int) (*Stream, error) {
	dev, err := kernels.StreamOf(m.Dev, queue)
	if err != nil {
		return nil, err
	}
	return r.stream(m, dev), nil
}

// stream returns a stream on dev that finds values of the run and nothing else.
func (r *Run) stream(m *device.Context, dev kernels.Device) *Stream {
	return newStream(&shared{Context: m, Graph: r.g, Run: r}, dev)
}

// Tensor is Find, but gives up after an error.
func (s *Stream) Tensor(id model.TensorID) *device.Tensor { return device.Get(s.Find(id)) }

// Find returns a tensor of any kind on the device: a value of the run where the run has left it, a fixed tensor from
// the Context, and others loaded once for all streams. If there is no room, the error wraps kernels.ErrMemory.
func (s *Stream) Find(id model.TensorID) (*device.Tensor, error) {
	if t, _ := s.here(ofTensor(id)); t != nil {
		return t, nil
	}
	if s.Graph.Tensors[id].Kind == model.Fixed {
		return s.Context.Resident(s.Dev.Device, s.Witness.Fixed(id), s.others())
	}
	return s.bring(id)
}

// bring returns a tensor that is not fixed, and loads it unless another stream has.
func (s *Stream) bring(id model.TensorID) (*device.Tensor, error) {
	x, _ := s.tensors.LoadOrStore(id, &value{})
	v := x.(*value)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.t != nil {
		return v.t, nil
	}
	var err error
	if s.Run != nil {
		v.t, err = s.Run.bring(s.Dev.Device, ofTensor(id))
	}
	if v.t == nil && err == nil {
		v.t, err = s.Context.NewTensor(s.Dev.Device, backend.Values(s.Graph, s.Witness, id))
	}
	return v.t, err
}

// ResultBuffer returns the stream's result buffer, which it keeps until Close.
func (s *Stream) ResultBuffer() kernels.ResultBuffer {
	if s.box == nil {
		s.box = device.Get(s.Context.TakeBox(s.Dev.Device))
	}
	return s.box
}

// Results returns what reads results of launches through the stream's result buffer.
func (s *Stream) Results() device.Results { return device.Results{Dev: s.Dev, Box: s.ResultBuffer()} }

// Close frees the memory of the stream, and if it is the first stream also the tensors that all streams share. No other stream may be at
// work then.
func (s *Stream) Close() {
	s.Closed = true
	s.Dev.Close()
	s.LeaveSegments()
	if !s.further {
		s.tensors.Range(func(id, x any) bool {
			if t := x.(*value).t; t != nil {
				t.Free(s.Context.Dev)
			}
			s.tensors.Delete(id)
			return true
		})
	}
	if s.box != nil {
		s.Context.GiveBox(s.Dev.Device, s.box)
		s.box = nil
	}
}
