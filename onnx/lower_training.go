package onnx

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
)

// training is the domain of gradients and of optimisers. A node of an optimiser is one step of
// training.
const training = "ai.onnx.preview.training"

// init fills the table.
func init() {
	trainingLowerings = map[string]lowering{
		"Adagrad": {5, many, lowerAdagrad}, "Adam": {6, many, lowerAdam}, "Momentum": {5, many, lowerMomentum}, "Gradient": {1, many, lowerGradient},
	}
}

// trainingLowerings are the operators of training.
var trainingLowerings map[string]lowering

// step is a node of an optimiser. Its inputs are a learning rate, the number of steps before it, and several tensors, each with a
// gradient and some states.
type step struct {
	*op
	rate  graph.Value
	count float64 // steps before this one
	n     int     // number of tensors
}

// trainingStep reads the inputs that all optimisers have. There are that many states for
// each tensor.
func (o *op) trainingStep(states int) step {
	rest := len(o.proto.Input) - 2
	o.failIf(rest%(2+states) != 0,
		"has %d inputs behind the rate and the count, not %d for each tensor", rest, 2+states)
	o.failIf(graph.Size(o.shape(o.in(0))) != 1, "a rate of shape %v", o.shape(o.in(0)))
	return step{op: o, rate: o.Reshape(o.in(0), []int{}), count: o.scalarInput(1, "the number of steps before this one"), n: rest / (2 + states)}
}

// of returns tensor i if what is 0, its gradient if what is 1, or its state what − 2.
func (s step) of(i, what int) graph.Value { return s.in(2 + what*s.n + i) }

// times is x·c.
func (s step) times(x graph.Value, c float64) graph.Value { return s.Mul(x, s.Number(c)) }

// decayed returns the gradient of tensor i plus norm times the tensor, the gradient of an
// L2 penalty on its size.
func (s step) decayed(i int, norm float64) graph.Value {
	x, g := s.of(i, 0), s.of(i, 1)
	if norm == 0 {
		return g
	}
	return s.Add(s.times(x, norm), g)
}

// lowerAdagrad divides gradients by the root of the sum of all their squares so far.
func lowerAdagrad(o *op) {
	s := o.trainingStep(1)
	norm, eps, decay := o.floatAttr("norm_coefficient", 0), o.floatAttr("epsilon", 1e-6), o.floatAttr("decay_factor", 0)
	rate := s.rate
	if by := 1 + float64(s.count*decay); by != 1 {
		rate = s.times(rate, 1/by)
	}
	for i := range s.n {
		g := s.decayed(i, norm)
		h := o.Add(s.of(i, 2), o.Mul(g, g))
		o.result(i, o.Sub(s.of(i, 0), o.Mul(rate, o.Div(g, o.Add(o.Apply(graph.Sqrt, h), o.Number(eps))))))
		o.result(s.n+i, h)
	}
}

// lowerAdam divides a moving mean of the gradients by the root of a moving mean of their
// squares.
func lowerAdam(o *op) {
	s := o.trainingStep(2)
	alpha, beta, eps := o.floatAttr("alpha", 0.9), o.floatAttr("beta", 0.999), o.floatAttr("epsilon", 1e-6)
	norm, post := o.floatAttr("norm_coefficient", 0), o.floatAttr("norm_coefficient_post", 0)
	rate := s.rate
	if s.count > 0 {
		if by := math.Sqrt(1-elementary.Pow(beta, s.count)) / (1 - elementary.Pow(alpha, s.count)); by-by == 0 {
			rate = s.times(rate, by)
		} else {
			o.failf("alpha = %v leaves no rate", alpha)
		}
	}
	for i := range s.n {
		g := s.decayed(i, norm)
		v := o.Add(s.times(s.of(i, 2), alpha), s.times(g, 1-alpha))
		h := o.Add(s.times(s.of(i, 3), beta), s.times(o.Mul(g, g), 1-beta))
		x := o.Sub(s.of(i, 0), o.Mul(rate, o.Div(v, o.Add(o.Apply(graph.Sqrt, h), o.Number(eps)))))
		if post != 0 {
			x = s.times(x, 1-post)
		}
		o.result(i, x)
		o.result(s.n+i, v)
		o.result(2*s.n+i, h)
	}
}

// lowerMomentum adds a part of the previous update to the gradient.
func lowerMomentum(o *op) {
	s := o.trainingStep(1)
	alpha, beta, norm := o.floatAttr("alpha", 0), o.floatAttr("beta", 0), o.floatAttr("norm_coefficient", 0)
	if s.count == 0 {
		beta = 1
	}
	mode := o.wordAttr("mode", "standard", "nesterov")
	for i := range s.n {
		g := s.decayed(i, norm)
		v := o.Add(s.times(s.of(i, 2), alpha), s.times(g, beta))
		by := v
		if mode == "nesterov" {
			by = o.Add(g, s.times(v, alpha))
		}
		o.result(i, o.Sub(s.of(i, 0), o.Mul(s.rate, by)))
		o.result(s.n+i, v)
	}
}
