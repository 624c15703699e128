package proof

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// Limits are the frames that a Reader expects and the memory that it takes.
type Limits struct {
	Public  int64 // bytes of the public values' frame
	Tensors int   // public tensors, inputs and outputs together
	Frames  []plan.Frame
}

// messages bounds the protobuf messages of one frame: the frame, its message, and
// one a tensor.
func (l Limits) messages() int { return l.Tensors + 2 }

// frameOverhead bounds what a frame holds beside its stream or values.
const frameOverhead = 64

// LimitsFor returns the limits of the proofs of a plan.
func LimitsFor(p *plan.Plan) Limits {
	l := PublicLimits(p.Graph)
	l.Frames = p.Frames
	return l
}

// PublicLimits are those of the public values, which are all that may be read with them.
func PublicLimits(g *model.Graph) Limits {
	l := Limits{Public: frameOverhead}
	for _, ids := range [][]model.TensorID{g.Given(), g.Outputs} {
		for _, id := range ids {
			l.Tensors++
			l.Public += packedBytes(&g.Tensors[id]) + 32 // tags and lengths
		}
	}
	return l
}
