package cuda

import (
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// held are the tensors of one witness on a device, for all lanes of a backend. A
// tensor comes when a lane first wants it, from the device where a run has left it or from
// the host, and stays until the backend is closed: then every lane that reads it has been
// waited for.
type held struct {
	g   *model.Graph
	w   backend.Witness
	m   *Machine
	run *Run // that has made the witness, if that was on devices

	peers []*Machine // which may have fixed tensors

	mu      sync.Mutex
	tensors map[model.TensorID]*heldTensor
}

type heldTensor struct {
	mu sync.Mutex // while it is on its way
	t  *Tensor
}

// tensor returns a tensor that is not fixed, and brings it through a lane's queue where no
// lane has before.
func (v *held) tensor(dev kernels.Device, id model.TensorID) (*Tensor, error) {
	v.mu.Lock()
	h := v.tensors[id]
	if h == nil {
		h = &heldTensor{}
		v.tensors[id] = h
	}
	v.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.t != nil {
		return h.t, nil
	}
	var err error
	if v.run != nil {
		h.t, err = v.run.bring(dev, ofTensor(id))
	}
	if h.t == nil && err == nil {
		h.t, err = v.m.newTensor(dev, backend.Values(v.g, v.w, id))
	}
	return h.t, err
}

// close frees the tensors. No lane may be at work.
func (v *held) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, h := range v.tensors {
		if h.t != nil {
			h.t.Free(v.m.dev)
		}
	}
	clear(v.tensors)
}
