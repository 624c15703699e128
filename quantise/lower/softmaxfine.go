package lower

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// inFineShares reports whether a Softmax is taken so, and the size of the low limb: where
// scores and result have the finest of formats, and there is no mask.
func (l *lowering) inFineShares(n *graph.Node, v *value) (c int, ok bool) {
	x := l.values[n.Inputs[0]]
	if len(n.Inputs) > 1 || l.length != nil || !l.finestOf(v) || !l.finestOf(x) {
		return 0, false
	}
	return l.FineCut(fixed.Scores{ID: l.tensor(x), Mask: model.None})
}
