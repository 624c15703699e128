package proof

import "github.com/prove-model/prove-model/prover/model"

// Limits bound what a Reader accepts, and with it the memory it takes.
type Limits struct {
	Frame   int64 // bytes of one frame
	Total   int64 // bytes of the file
	Tensors int   // public tensors, inputs and outputs together
}

// messages bounds the protobuf messages of one frame: the frame, its message,
// and one a tensor.
func (l Limits) messages() int { return l.Tensors + 2 }

// Bodies grow with the logarithm of the model's size; these are far above.
const (
	maxBody  = 64 << 20
	maxTotal = 1 << 30
	// maxPublic is the largest public frame accepted for any graph.
	maxPublic = 1 << 30
)

// LimitsFor returns limits that leave room for every proof for g.
func LimitsFor(g *model.Graph) Limits {
	l := Limits{Frame: maxBody, Total: maxTotal}
	var public int64
	for _, ids := range [][]model.TensorID{g.Inputs, g.Outputs} {
		for _, id := range ids {
			l.Tensors++
			// 5 bytes an entry at most, and tags and lengths.
			public = min(public+5*int64(model.Size(g.Tensors[id].Shape))+32, maxPublic)
		}
	}
	l.Frame = max(l.Frame, public)
	l.Total += public
	return l
}

// AnyLimits are limits for reading a proof without its key.
func AnyLimits() Limits {
	return Limits{Frame: maxPublic, Total: maxTotal + maxPublic, Tensors: 1 << 16}
}
