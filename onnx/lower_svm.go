package onnx

import (
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// matrix returns the transpose of a constant matrix, whose elements, rows·columns floats,
// are the attribute name.
func (o *op) matrix(name string, list []float32, rows, columns int) graph.Value {
	o.failIf(rows < 1 || columns < 1 || len(list) != rows*columns,
		"attribute %s has %d numbers; %d rows of %d are expected", name, len(list), rows, columns)
	w := o.Constant("", &graph.Tensor{Shape: []int{rows, columns}, DType: graph.Float, F32: list})
	return o.Transpose(w, []int{1, 0})
}

// linear is x·coefficientsᵀ + intercepts, by the attributes of these names, for the given
// number of targets.
func (o *op) linear(x graph.Value, targets int) graph.Value {
	y := o.MatMul(x, o.matrix("coefficients", o.numbersAttr("coefficients"), targets, o.shape(x)[1]))
	for _, b := range o.features(y, "intercepts", o.numbersAttr("intercepts")) {
		y = o.Add(y, b)
	}
	return y
}

func lowerLinearRegressor(o *op) {
	x := o.Cast(o.rows(o.in(0)), graph.Float)
	y := o.linear(x, int(o.intAttr("targets", 1)))
	o.result(0, o.transformed(y, o.strAttr("post_transform", "NONE")))
}

// lowerLinearClassifier may have a single row of coefficients for two classes: the score of the
// second class. That of the first is its negative.
func lowerLinearClassifier(o *op) {
	o.ignore("multi_class")
	x := o.Cast(o.rows(o.in(0)), graph.Float)
	labels := o.labels("classlabels_ints")
	transform := o.strAttr("post_transform", "NONE")
	targets := len(labels)
	if a := o.attrs["coefficients"]; targets == 2 && a != nil && len(a.Floats) == o.shape(x)[1] {
		targets = 1
	}
	scores := o.linear(x, targets)
	if targets == 1 {
		o.failIf(len(labels) != 2, "one score for %d classes", len(labels))
		o.failIf(o.wanted(1) && transform != "LOGISTIC",
			"post_transform %s of one score for two classes is not well defined: ONNX Runtime and the ONNX reference differ; remove output %s from the model",
			graph.Quote(transform), graph.Quote(o.proto.Output[1]))
		scores = o.Concat(1, o.Negative(scores), scores)
	}
	if o.wanted(0) {
		o.result(0, o.best(scores, labels))
	}
	o.scores(scores, transform)
}

// weighted returns the scores of an SVM for rows of x: the kernel of each row with each
// support vector, times weights of shape [vectors, scores]. A linear kernel needs only
// one product with vectorsᵀ·weights.
func (o *op) weighted(x graph.Value, vectors []float32, count int, weights graph.Value) graph.Value {
	if kind := o.attrs["kernel_type"]; kind == nil || strings.EqualFold(string(kind.GetS()), "LINEAR") {
		o.ignore("kernel_type", "kernel_params")
		return o.MatMul(x, o.MatMul(o.matrix("support_vectors", vectors, count, o.shape(x)[1]), weights))
	}
	return o.MatMul(o.similarities(x, vectors, count), weights)
}

// similarities returns the kernel of each row of x with each support vector, in shape
// [rows, vectors].
func (o *op) similarities(x graph.Value, vectors []float32, count int) graph.Value {
	features := o.shape(x)[1]
	var params [3]float64 // gamma, coef0, degree
	for i, v := range o.numbersAttr("kernel_params") {
		if i < len(params) {
			params[i] = float64(v)
		}
	}
	gamma, coef0, degree := params[0], params[1], params[2]
	w := o.matrix("support_vectors", vectors, count, features) // [features, count]
	switch kind := strings.ToUpper(o.strAttr("kernel_type", "")); kind {
	case "POLY":
		return o.Pow(o.affine(o.MatMul(x, w), gamma, coef0), o.Number(degree))
	case "SIGMOID":
		return o.Apply(graph.Tanh, o.affine(o.MatMul(x, w), gamma, coef0))
	case "RBF":
		// ‖x − v‖² = ‖x‖² − 2·x·v + ‖v‖².
		norms, double := make([]float64, count), make([]float64, len(vectors))
		for i, v := range vectors {
			norms[i/features] += float64(float64(v) * float64(v))
			double[i] = -2 * float64(v)
		}
		cross := o.MatMul(x, o.Transpose(o.numbers([]int{count, features}, double), []int{1, 0}))
		d := o.Add(o.Add(cross, o.Reduce(graph.Sum, o.Mul(x, x), []int{1}, true)), o.numbers([]int{1, count}, norms))
		return o.Apply(graph.Exp, o.Mul(d, o.Number(-gamma)))
	default:
		o.failf("kernel %s is not known", graph.Quote(kind))
	}
	return graph.Value{}
}

// lowerSVMRegressor is Σ coefficient·kernel(x, vector) + rho, or without support vectors
// coefficients·x + rho.
func lowerSVMRegressor(o *op) {
	x := o.Cast(o.rows(o.in(0)), graph.Float)
	o.ignore("n_targets")
	count := int(o.intAttr("n_supports", 0))
	coefficients, vectors, rho := o.numbersAttr("coefficients"), o.numbersAttr("support_vectors"), o.numbersAttr("rho")
	var y graph.Value
	if count > 0 {
		y = o.weighted(x, vectors, count, o.matrix("coefficients", coefficients, 1, count))
	} else {
		o.ignore("kernel_params", "kernel_type")
		y = o.MatMul(x, o.matrix("coefficients", coefficients, 1, o.shape(x)[1]))
	}
	if len(rho) > 0 {
		y = o.Add(y, o.Number(float64(rho[0])))
	}
	if o.intAttr("one_class", 0) != 0 { // the result is the sign, 1 or −1
		above := o.Cast(o.Test(graph.IsPositive, y), graph.Float)
		y = o.Sub(o.Mul(above, o.Number(2)), o.Number(1))
	}
	o.result(0, o.transformed(y, o.strAttr("post_transform", "NONE")))
}

// votes has what an SVM of n classes needs for every pair of classes: the coefficients of
// the pair's score, and how the sign of the score becomes a vote for one of the two.
type votes struct {
	n, count     int       // classes and support vectors
	coefficients []float64 // [vector, pair]
	offsets      []float64 // [pair], added to the scores
	wins, losses []float64 // [pair, class] and [class]: the votes are [score > 0]·wins + losses
}

// votes reads the coefficients. For each vector the file has n − 1, one for each other
// class: those of a vector of class i for its pair with class j are in row j − 1 if j >
// i, else in row j.
func (o *op) votes(n int) votes {
	per, coefficients, rho := o.intsAttr("vectors_per_class"), o.numbersAttr("coefficients"), o.numbersAttr("rho")
	o.failIf(len(per) != n || n < 2 || n > 1<<10, "support vectors of %d classes for %d labels", len(per), n)
	starts := make([]int, n+1)
	for i, v := range per {
		o.failIf(v < 0 || v > 1<<24, "class %d has %d vectors", i, v)
		starts[i+1] = starts[i] + int(v)
	}
	count, pairs := starts[n], n*(n-1)/2
	o.failIf(len(rho) != pairs || len(coefficients) != (n-1)*count,
		"%d coefficients and %d constants for %d classes with %d vectors", len(coefficients), len(rho), n, count)
	o.room(pairs, n+count)
	s := votes{n: n, count: count, coefficients: make([]float64, count*pairs), offsets: make([]float64, pairs),
		wins: make([]float64, pairs*n), losses: make([]float64, n)}
	pair := 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			for v := starts[i]; v < starts[i+1]; v++ {
				s.coefficients[v*pairs+pair] = float64(coefficients[(j-1)*count+v])
			}
			for v := starts[j]; v < starts[j+1]; v++ {
				s.coefficients[v*pairs+pair] = float64(coefficients[i*count+v])
			}
			s.offsets[pair] = float64(rho[pair])
			// A vote for i if the score is positive, and for j otherwise.
			s.wins[pair*n+i], s.wins[pair*n+j] = 1, -1
			s.losses[j]++
			pair++
		}
	}
	return s
}

// lowerSVMClassifier computes a score for every pair of classes. A positive score is a
// vote for the first class of the pair, any other for the second. The class with the most
// votes is the label. With two classes the scores may be probabilities.
func lowerSVMClassifier(o *op) {
	x := o.Cast(o.rows(o.in(0)), graph.Float)
	labels := o.labels("classlabels_ints")
	s := o.votes(len(labels))
	pairs := len(s.offsets)
	vectors, a, b := o.numbersAttr("support_vectors"), o.numbersAttr("prob_a"), o.numbersAttr("prob_b")
	transform := o.strAttr("post_transform", "NONE")
	o.failIf(len(a) != len(b) || len(a) > 0 && len(a) != pairs, "%d probabilities for %d classes", len(a), s.n)
	scores := o.Add(o.weighted(x, vectors, s.count, o.numbers([]int{s.count, pairs}, s.coefficients)), o.numbers([]int{1, pairs}, s.offsets))
	if o.wanted(0) {
		won := o.Cast(o.Test(graph.IsPositive, scores), graph.Float)
		votes := o.Add(o.MatMul(won, o.numbers([]int{pairs, s.n}, s.wins)), o.numbers([]int{1, s.n}, s.losses))
		o.result(0, o.best(votes, labels))
	}
	if !o.wanted(1) {
		return
	}
	switch {
	case len(a) > 0 && s.n == 2:
		// Platt scaling: the first class has probability 1/(1 + exp(A·s + B)), the second has the rest.
		first := o.Apply(graph.Sigmoid, o.Negative(o.Add(o.Mul(scores, o.Number(float64(a[0]))), o.Number(float64(b[0])))))
		scores = o.Concat(1, first, o.Sub(o.Number(1), first))
	case len(a) > 0:
		o.failf("probabilities of %d classes, which an iteration finds, are not supported: remove output %s, or export without probabilities", s.n, graph.Quote(o.proto.Output[1]))
	case s.n == 2:
		o.failIf(transform == "SOFTMAX",
			"post_transform SOFTMAX of one score for two classes is not well defined: ONNX Runtime and the ONNX reference differ; remove output %s from the model",
			graph.Quote(o.proto.Output[1]))
		scores = o.Concat(1, o.Negative(scores), scores)
	}
	o.scores(scores, transform)
}
