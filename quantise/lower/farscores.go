package lower

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
)

const (
	// farScores is what the scores of a Softmax reach, head-room included, where narrowBits
	// of them are too coarse for the few that count.
	farScores = 1 << 7
	// nearKey is the scale of scores near the maximum.
	nearKey = 11
)

// nearScores returns the scores of a Softmax, or, where they are wide and reach far beyond
// those that count, as the logarithms of small probabilities do, the scores less their
// maximum, clamped at −farBelow: on a finer scale than all of them would have.
func (l *lowering) nearScores(n *graph.Node, x, v *value) *value {
	if len(n.Inputs) > 1 || l.length != nil || l.opts.Mode == modeW8A8 || l.formatted(x) <= fixed.NarrowBits || x.rng.Abs()*l.opts.Headroom < farScores {
		return x
	}
	id := l.tensor(x)
	t, last := l.Circuit.Tensors[id], len(v.shape)-1
	top := id
	for l.Circuit.Tensors[top].Shape[last] > 1 {
		top = l.WideGreater("maximum", top, last)
	}
	below := l.View(top, fixed.BroadcastView(l.Circuit.Tensors[top].Shape, v.shape), v.shape).Times(-1)
	below = l.View(id, nil, v.shape).Plus(below)
	below.Frac = t.Frac
	near := l.RoundOn("near the maximum", below, min(t.Frac, nearKey), fixed.NarrowBits, fixed.Piecewise{Kind: fixed.Keep, Lo: -fixed.FarBelow})
	return &value{name: x.name, node: x.node, shape: v.shape, rng: Range{Min: -fixed.FarBelow}, uses: 1, id: near, shaped: near}
}
