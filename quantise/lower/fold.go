package lower

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// perChannel says that a value is of times mul, plus add, along the last axis, as what
// follows a norm is. Only products with constant weights read it, and they take it into
// their weights and biases: Σ w·(mul·x + add) = Σ (w·mul)·x + Σ w·add. So it is never
// rounded, and the rows of x keep the norm that bounds products.
type perChannel struct {
	of       *value
	mul, add string // constants; add may be ""
}

// foldMul makes v = x·t such a value, if it can be: of a norm that nothing else reads.
func (l *lowering) foldMul(v, x *value, name string, t *graph.Tensor) bool {
	normed := x.acc != nil && x.acc.Norm != 0 && x.uses == 1 && x.id == model.None
	if l.opts.Mode == modeW8A8 || !normed || !lastAxis(t, v.shape) || !slices.Equal(x.shape, v.shape) {
		return false
	}
	if c := l.consumer(v); c.Op == graph.Add && !v.output {
		shift := l.fg.Consts[other(c, v.name)]
		if shift == nil || !lastAxis(shift, v.shape) || !l.folds(c.Output, true) {
			return false
		}
	} else if v.output || !l.folds(v.name, false) {
		return false
	}
	v.channels = &perChannel{of: x, mul: name}
	return true
}

// other is the operand of a node of two that is not the named one.
func other(n *graph.Node, name string) string {
	if n.Inputs[0] == name {
		return n.Inputs[1]
	}
	return n.Inputs[0]
}

// lastAxis reports whether a constant has a number for each index of the last axis.
func lastAxis(t *graph.Tensor, shape []int) bool {
	n := len(shape)
	return n > 0 && len(t.Shape) > 0 && len(t.Shape) <= n && t.Len() == shape[n-1] && t.Shape[len(t.Shape)-1] == shape[n-1]
}

// folds reports whether all that reads a value are products along its last axis with
// constant weights: with a matrix of them, if something is added to it.
func (l *lowering) folds(name string, added bool) bool {
	if l.uses.outputs[name] > 0 {
		return false
	}
	for _, r := range l.uses.Readers[name] {
		if r.Inputs[0] != name || !TraitsOf(r.Op).rows {
			return false
		}
		if w := l.fg.Consts[r.Inputs[1]]; w == nil || added && len(w.Shape) != 2 {
			return false
		}
	}
	return true
}

// fold takes what x is per channel into the weights of its product v and returns
// what it is per channel of. The weights have channels of inner contracted entries
// that are stride apart.
func (l *lowering) fold(x *value, w *weighting, stride int) *value {
	c := x.channels
	if c == nil {
		return x
	}
	plain := *w.t
	factors := l.constant(l.fg.Consts[c.mul])
	w.t = &weights.Constant{
		Tensor: plain.Tensor, By: c.mul, Factors: factors.Float64s(), Stride: stride, Secret: plain.Secret || factors.Secret,
	}
	if c.add == "" {
		return c.of
	}
	add := l.constant(l.fg.Consts[c.add])
	real := weights.ChannelSums(&plain, add.Float64s(), w.channels, stride)
	sums := numbersAre(real, plain.Secret || add.Secret, magnitudeOf(real))
	if len(w.bias.shown) == 0 {
		w.bias = bias{name: c.add, numbers: sums, shape: []int{len(sums.shown)}}
	} else {
		shape, _ := graph.Broadcast(w.bias.shape, []int{len(sums.shown)}) // they do: both broadcast to the product's
		w.bias.numbers, w.bias.shape = w.bias.plus(sums, w.bias.shape, shape), shape
	}
	w.bias.view = fixed.BroadcastView(w.bias.shape, w.out)
	return c.of
}
