package quantise

import (
	"math"

	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/parallel"
)

// fixed is a fixed tensor whose values are computed when the graph is final.
type fixed struct {
	id   model.TensorID
	fill func(dst []int32)
}

// fixed adds a fixed tensor.
func (l *lowering) fixed(name string, shape []int, frac int, lo, hi int64, fill func(dst []int32)) model.TensorID {
	id := l.add(model.Tensor{Name: name, Shape: shape, Kind: model.Fixed, Frac: frac, Min: lo, Max: hi})
	l.fixeds = append(l.fixeds, fixed{id, fill})
	return id
}

// constant adds a fixed tensor of the given values, rounded to frac.
func (l *lowering) constant(name string, shape []int, values []float64, frac int) model.TensorID {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		lo, hi = math.Min(lo, v), math.Max(hi, v)
	}
	scale := pow2(frac)
	if a := math.Max(-lo, hi) * scale; a >= model.Bound-1 {
		refuse("constant %q: %g is too large beside the values it meets", name, math.Max(-lo, hi))
	}
	return l.fixed(name, shape, frac, int64(math.Round(lo*scale)), int64(math.Round(hi*scale)), func(dst []int32) {
		for i, v := range values {
			dst[i] = int32(math.Round(v * scale))
		}
	})
}

// uniform returns the value that all entries of a constant have.
func uniform(t *onnx.Tensor) (float64, bool) {
	x := t.At(0)
	for i := 1; i < t.Len(); i++ {
		if t.At(i) != x {
			return 0, false
		}
	}
	return x, true
}

// channelStats describes the weights that one output entry sums over.
type channelStats struct{ pos, neg, max float64 }

// statsKey is a constant and the axis that holds its output channels, as
// (outer, channels, inner) dimensions of the row-major array.
type statsKey struct {
	name     string
	channels int
	inner    int
}

// weightStats remembers the statistics of weights between passes: a pass over
// large weights is not free.
type weightStats struct {
	m map[statsKey][]channelStats
}

// of returns, for every output channel of the constant, the sums of its
// positive and negative weights (the latter negated) and the largest
// magnitude. The channel of entry i is i/inner mod channels.
func (w *weightStats) of(name string, t *onnx.Tensor, channels, inner int) []channelStats {
	key := statsKey{name, channels, inner}
	if s, ok := w.m[key]; ok {
		return s
	}
	s := make([]channelStats, channels)
	outer := t.Len() / channels / inner
	add := func(c *channelStats, x float64) {
		if x >= 0 {
			c.pos += x
		} else {
			c.neg -= x
		}
		c.max = math.Max(c.max, math.Abs(x))
	}
	// Every channel is summed by one goroutine in index order, so the sums do
	// not depend on the split.
	parallel.For(channels, max(1, 1<<14/(outer*inner)), func(lo, hi int) {
		for o := range outer {
			for c := lo; c < hi; c++ {
				at := (o*channels + c) * inner
				for i := at; i < at+inner; i++ {
					add(&s[c], t.At(i))
				}
			}
		}
	})
	if w.m == nil {
		w.m = map[statsKey][]channelStats{}
	}
	w.m[key] = s
	return s
}

// bound is the largest accumulator of Σ x·w over the channel's weights at
// frac w, with count weights, for x in [lo, hi] ∪ {0}; rounding is included.
func (c channelStats) bound(frac int, count int, lo, hi float64) float64 {
	lo, hi = math.Max(0, -lo), math.Max(0, hi)
	s := pow2(frac)
	up, down := (c.pos*hi+c.neg*lo)*s, (c.pos*lo+c.neg*hi)*s
	return math.Max(up, down) + float64(count)/2*math.Max(lo, hi)
}

// quantiseWeight rounds x to a multiple of 2^(exponent−frac).
func quantiseWeight(x float64, frac, exponent int) int32 {
	return int32(math.Round(math.Ldexp(x, frac-exponent))) << exponent
}
