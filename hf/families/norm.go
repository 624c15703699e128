package families

import "github.com/prove-model/prove-model/graph"

// norm is a kind of norm over the last axis.
type norm int

// The kinds of norms.
const (
	rmsNorm   norm = iota // RMSNorm with a weight
	fullNorm              // LayerNorm with weight and bias
	scaleNorm             // LayerNorm with a weight only
	bareNorm              // LayerNorm with neither
)

// normalise applies a norm with the weights of the given name, which are 1 + weight
// if plusOne is set. Old files call weight and bias gamma and beta.
func (n *net) normalise(kind norm, x graph.Value, name string, eps float64, plusOne bool) graph.Value {
	n.At("", name)
	last, own := len(n.Shape(x))-1, []int{n.dim(x, -1)}
	if kind == bareNorm {
		return n.Norm(graph.Norm{Axes: []int{last}, Centred: true, Epsilon: eps}, x)
	}
	weight, bias := ".weight", ".bias"
	if n.src.has(name + ".gamma") {
		weight, bias = ".gamma", ".beta"
	}
	w := n.weight(name+weight, own, ones(plusOne)...)
	switch kind {
	case rmsNorm:
		return n.Mul(n.Norm(graph.Norm{Axes: []int{last}, Epsilon: eps}, x), w)
	case scaleNorm:
		return n.LayerNorm(x, last, eps, w)
	}
	return n.LayerNorm(x, last, eps, w, n.weight(name+bias, own))
}

// ones returns, for load, the change that adds 1 to a weight; it returns none if add is false.
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
	return n.normalise(rmsNorm, x, name, eps, plusOne)
}

// layerNorm is LayerNorm over the last axis with weight and bias.
func (n *net) layerNorm(x graph.Value, name string, eps float64) graph.Value {
	return n.normalise(fullNorm, x, name, eps, false)
}
