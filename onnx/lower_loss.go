package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// lowerCrossEntropy is the loss of the LogSoftmax of the scores. The LogSoftmax is its
// second output.
func lowerCrossEntropy(o *op) {
	x, _ := o.ranked(0, 2)
	log := o.LogSoftmax(x, 1)
	o.result(0, o.loss(log))
	if o.wanted(1) {
		o.result(1, log)
	}
}

// loss is NegativeLogLikelihoodLoss: −w·x for the selected entries of x, or their sum or
// weighted mean. x has shape (N, C, …), and the targets, of shape (N, …), select a class of C
// at each place.
func (o *op) loss(x graph.Value) graph.Value {
	in := o.shape(x)
	target := o.in(1)
	o.failIf(len(in) < 2, "its input has shape %v", in)
	classes := in[1]
	st := o.shape(target)
	shape := append([]int{in[0], 1}, in[2:]...)
	o.failIf(graph.Size(st) != graph.Size(shape), "targets of shape %v for an input of shape %v", st, in)
	target = o.Reshape(target, shape)
	hot := o.Cast(o.OneHot(target, 1, classes), graph.Float)
	counts := false // whether the mean divides by a sum of weights, not by the number of entries
	if o.attrs["ignore_index"] != nil {
		ignored := o.intAttr("ignore_index", math.MaxInt64)
		if ignored >= 0 && ignored < int64(classes) {
			o.room(classes)
			keep := slices.Repeat([]float32{1}, classes)
			keep[ignored] = 0
			hot = o.Mul(hot, o.Table(&graph.Tensor{Shape: o.perClass(in), DType: graph.Float, F32: keep, Public: true}))
		}
		counts = true
	}
	if o.has(2) {
		w := o.in(2)
		s := o.shape(w)
		o.failIf(len(s) != 1 || s[0] != classes, "weights of shape %v for %d classes", s, classes)
		hot, counts = o.Mul(hot, o.Reshape(w, o.perClass(in))), true
	}
	each := o.Negative(o.Reduce(graph.Sum, o.Mul(hot, x), []int{1}, false))
	all := upTo(0, len(in)-1)
	reduction := o.wordAttr("reduction", "mean", "none", "sum")
	if reduction == "none" {
		return each
	}
	sum := o.Reduce(graph.Sum, each, all, false)
	switch {
	case reduction == "sum":
		return sum
	case counts:
		return o.Div(sum, o.Reduce(graph.Sum, o.Reduce(graph.Sum, hot, []int{1}, false), all, false))
	}
	return o.Mul(sum, o.Number(1/float64(graph.Size(st))))
}

// perClass is the shape in which one number for each class broadcasts to in, (N, C, …).
func (o *op) perClass(in []int) []int {
	return slices.Concat(in[1:2], slices.Repeat([]int{1}, len(in)-2))
}
