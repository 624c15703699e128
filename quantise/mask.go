package quantise

import (
	"math"

	"github.com/prove-model/prove-model/graph"
)

// softenMask replaces the huge negative entries with which models mask scores
// before a Softmax by ones that are just far enough below the others, so that
// they do not set the scale: 10 below the least score, e^−10 of its weight. It
// returns the range that the masked scores v should have; below it they are
// clamped, which says nothing.
func (l *lowering) softenMask(v *value, values []float64, scores Range) (Range, bool) {
	c := l.consumer(v)
	if c == nil {
		return Range{}, false
	}
	if _, ok := c.Op.(graph.Softmax); !ok {
		return Range{}, false
	}
	const below = 10
	widest := scores.abs()
	floor := float64(-2*widest) - below
	changed := false
	for i, x := range values {
		if x < 4*floor {
			values[i], changed = floor, true
		}
	}
	if !changed {
		return Range{}, false
	}
	v.unreported = true
	widest = math.Max(widest, (widest+below)/l.opts.Headroom)
	return Range{Min: -widest, Max: widest}, true
}
