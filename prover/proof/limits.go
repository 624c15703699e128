package proof

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// Limits are the frames that a Reader expects behind the header. They follow from the key and the header, and bound the memory that
// a hostile proof can make the reader allocate.
type Limits struct {
	Public  int64        // the most bytes of the frame of public values
	Tensors int          // the number of public tensors, inputs and outputs together
	Frames  []plan.Frame // the frames behind the public values, in order; each has a limit of its own
}

// messages bounds the number of protobuf messages in one frame: the frame itself, the
// message in it, and one for each public tensor.
func (l Limits) messages() int { return l.Tensors + 2 }

// frameOverhead bounds the bytes of tags and lengths in a frame, in addition to its stream or values.
const frameOverhead = 64

// LimitsFor returns the limits of the proofs of a plan.
func LimitsFor(p *plan.Plan) Limits {
	l := PublicLimits(p.Graph)
	l.Frames = p.Frames
	return l
}

// PublicLimits returns the limits for reading the public values of a circuit, and no frame behind them.
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
