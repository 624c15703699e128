// Package run runs circuits on devices, and finds on them what a proof reads: the tensors of a witness and the keys of
// its look-ups. What is not kept there it computes again, by segments of the circuit.
package run

import (
	"slices"
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// A Stream is a stream of a device with the witness of one proof. Through it passes find tensors and the
// keys of look-ups. It is for one goroutine at a time.
type Stream struct {
	*shared
	Dev    *device.Scope
	Closed bool

	further bool // what is shared is another stream's
	keys    map[int]*stepKeys
	in      map[int]kernels.Ptr  // segments of the run that are read, and their memory
	box     kernels.ResultBuffer // nil until wanted
}

// shared is what all streams of a device have of a witness. A tensor that is not fixed comes when
// a stream first wants it, from the device where a run has left it or from the host. It stays until the first
// stream is closed: then all that reads it has been waited for.
type shared struct {
	Context *device.Context
	Graph   *model.Graph
	Witness backend.Witness
	Run     *Run // that has made the witness, if that was on devices

	tensors sync.Map // values by model.TensorID
	mu      sync.Mutex
	peers   []*device.Context // which may have fixed tensors
}

type value struct {
	mu sync.Mutex // while it is on its way
	t  *device.Tensor
}

// others returns the devices that may have fixed tensors.
func (s *shared) others() []*device.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers
}

// Forget has no fixed tensors copied from a device any more, which has failed.
func (s *shared) Forget(m *device.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers = slices.DeleteFunc(slices.Clone(s.peers), func(x *device.Context) bool { return x == m })
}

// NewStream returns the first stream of a device for a witness of g. Fixed tensors may be copied from peers.
func NewStream(m *device.Context, g *model.Graph, w backend.Witness, peers ...*device.Context) *Stream {
	return newStream(&shared{Context: m, Graph: g, Witness: w, Run: keptOf(w), peers: slices.Clone(peers)}, m.Dev)
}

func newStream(s *shared, dev kernels.Device) *Stream {
	return &Stream{shared: s, Dev: device.NewScope(dev), keys: map[int]*stepKeys{}, in: map[int]kernels.Ptr{}}
}

// Stream returns stream n of the device for the same witness, which is closed before s is.
func (s *Stream) Stream(n int) (*Stream, error) {
	dev, err := kernels.StreamOf(s.Context.Dev, n)
	if err != nil {
		return nil, err
	}
	other := newStream(s.shared, dev)
	other.further = true
	return other, nil
}

// Stream returns a queue of a machine, of that number, through which values of a run are found while it goes on.
func (r *Run) Stream(m *device.Context, queue int) (*Stream, error) {
	dev, err := kernels.StreamOf(m.Dev, queue)
	if err != nil {
		return nil, err
	}
	return r.stream(m, dev), nil
}

// stream returns a stream that finds values of a run, and nothing else.
func (r *Run) stream(m *device.Context, dev kernels.Device) *Stream {
	return newStream(&shared{Context: m, Graph: r.g, Run: r}, dev)
}

// Tensor is Find, and gives up after an error.
func (s *Stream) Tensor(id model.TensorID) *device.Tensor { return device.Get(s.Find(id)) }

// Find returns a tensor of any kind on the device: fixed tensors those of the context, others uploaded once for all
// streams. Where there is no room for it, the error wraps kernels.ErrMemory.
func (s *Stream) Find(id model.TensorID) (*device.Tensor, error) {
	if t, _ := s.here(ofTensor(id)); t != nil {
		return t, nil
	}
	if s.Graph.Tensors[id].Kind == model.Fixed {
		return s.Context.Resident(s.Dev.Device, s.Witness.Fixed(id), s.others())
	}
	return s.bring(id)
}

// bring returns a tensor that is not fixed, and brings it where no stream has before.
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

// ResultBuffer returns the stream's result buffer.
func (s *Stream) ResultBuffer() kernels.ResultBuffer {
	if s.box == nil {
		s.box = device.Get(s.Context.TakeBox(s.Dev.Device))
	}
	return s.box
}

// Results brings what launches leave in the stream's result buffer.
func (s *Stream) Results() device.Results { return device.Results{Dev: s.Dev, Box: s.ResultBuffer()} }

// Close frees what is the stream's, and with the first stream the tensors of all. No other may be at work then.
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
