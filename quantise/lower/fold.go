package lower

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// perChannel says that a value is of·mul + add, with a factor and a summand for each index of the last axis, as the
// scale and shift after a norm. Only products with constant weights read such a value, and they take mul and add into
// their weights and biases: Σ w·(mul·x + add) = Σ (w·mul)·x + Σ w·add. So the value is never
// rounded, and the rows of x keep the Euclidean norm that bounds the products.
type perChannel struct {
	of       *value
	mul, add string // names of constants; add is "" if nothing is added
}

// foldMul sets v.channels for v = x·t, t being the named constant, and reports whether it could. x has to be a norm
// that nothing else reads, and v has to be read only by products with constant weights, or by the addition of
// a constant whose result is read only by products with constant matrices.
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

// other is the operand of a node with two that is not the named one.
func other(n *graph.Node, name string) string {
	if n.Inputs[0] == name {
		return n.Inputs[1]
	}
	return n.Inputs[0]
}

// lastAxis reports whether a constant has one number for each index of the last axis of a shape, and no other axes
// along which it differs.
func lastAxis(t *graph.Tensor, shape []int) bool {
	n := len(shape)
	return n > 0 && len(t.Shape) > 0 && len(t.Shape) <= n && t.Len() == shape[n-1] && t.Shape[len(t.Shape)-1] == shape[n-1]
}

// folds reports whether a value is no output and is read only by products that sum along its last axis and whose
// second factor is constant; a constant matrix, if the value has a summand (added).
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

// fold takes x's factors and summands (x.channels), if it has any, into the weights w that x is multiplied with, and
// into their bias. It returns the value that is left to be multiplied: x.channels.of, or x itself. Weights of an output channel
// that belong to successive indexes of x's last axis are stride apart.
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
		shape, _ := graph.Broadcast(w.bias.shape, []int{len(sums.shown)}) // without error: both broadcast to the product's shape
		w.bias.numbers, w.bias.shape = w.bias.plus(sums, w.bias.shape, shape), shape
	}
	w.bias.view = fixed.BroadcastView(w.bias.shape, w.out)
	return c.of
}
