package families

import "github.com/prove-model/prove-model/graph"

// norm is a kind of norm over the last axis.
type norm int

// The norms. Each multiplies by a weight but the last.
const (
	rmsNorm   norm = iota
	fullNorm       // LayerNorm with a bias
	scaleNorm      // LayerNorm without
	bareNorm       // LayerNorm with neither weight nor bias
)

// normalise applies a norm with the weights of the given name, which are 1 + weight
// if plusOne is set.
func (n *net) normalise(kind norm, x graph.Value, name string, eps float64, plusOne bool) graph.Value {
	if !n.Valid(x) || kind == rmsNorm {
		return n.rms(x, name, eps, plusOne)
	}
	n.At("", name)
	shape := n.Shape(x)
	last := len(shape) - 1
	if kind == bareNorm {
		return n.Norm(graph.Norm{Axes: []int{last}, Centred: true, Epsilon: eps}, x)
	}
	w := n.weight(name+".weight", shape[last:], ones(plusOne)...)
	if kind == scaleNorm {
		return n.LayerNorm(x, last, eps, w)
	}
	return n.LayerNorm(x, last, eps, w, n.weight(name+".bias", shape[last:]))
}

// ones is the change that adds 1 to a weight, if it is to be made.
func ones(add bool) []func([]float32) {
	if !add {
		return nil
	}
	return []func([]float32){func(v []float32) {
		for i := range v {
			v[i]++
		}
	}}
}

// rms is RMSNorm over the last axis, times the weight of the given name, or times 1
// + weight if plusOne is set, as in Gemma.
func (n *net) rms(x graph.Value, name string, eps float64, plusOne bool) graph.Value {
	if !n.Valid(x) {
		return x
	}
	n.At("", name)
	shape := n.Shape(x)
	last := len(shape) - 1
	w := n.weight(name+".weight", shape[last:], ones(plusOne)...)
	return n.Mul(n.Norm(graph.Norm{Axes: []int{last}, Epsilon: eps}, x), w)
}

// layerNorm is LayerNorm over the last axis with weight and bias. Old files call
// these gamma and beta.
func (n *net) layerNorm(x graph.Value, name string, eps float64) graph.Value {
	if !n.Valid(x) {
		return x
	}
	n.At("", name)
	shape := n.Shape(x)
	last := len(shape) - 1
	scale, shift := ".weight", ".bias"
	if n.src.has(name + ".gamma") {
		scale, shift = ".gamma", ".beta"
	}
	return n.LayerNorm(x, last, eps, n.weight(name+scale, shape[last:]), n.weight(name+shift, shape[last:]))
}
