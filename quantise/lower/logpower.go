package lower

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() { register(lowerLogPower, always[graph.LogPower](Traits{Means: true})) }

// lowerLogPower lowers the logarithm of the power of rows, of any size: the sum of the
// squares and the epsilon, N, is a wide integer, of whose leading bits a table gives the
// logarithm. So it is right to 2^−12, of the smallest power as of the largest.
func lowerLogPower(l *lowering, n *graph.Node, op graph.LogPower, v *value) {
	x := l.values[n.Inputs[0]]
	axes := []int{len(x.shape) - 1}
	r := fixed.RowsOf(x.shape, axes)
	if r.Count > fixed.MaxNorm {
		fixed.Refuse("rows of %d elements are over %d", r.Count, fixed.MaxNorm)
	}
	id := l.narrowEnough(x, false)
	l.Begin(fixed.Block{Kind: fixed.LogPowerBlock, Of: id, Mask: model.None, Axes: axes, Epsilon: op.Epsilon})
	e := l.View(l.LogPower(r, id, op.Epsilon), nil, r.Shape)
	if !v.output {
		e = l.View(l.roundTerm(v, e), nil, r.Shape) // it is not right to more bits than one table has
	}
	v.acc = e
}
