package families

import "github.com/prove-model/prove-model/graph"

// rms is RMSNorm over the last axis, times the weight of the given name, or times 1
// + weight if plusOne is set, as in Gemma.
func (n *net) rms(x graph.Value, name string, eps float64, plusOne bool) graph.Value {
	if !n.Valid(x) {
		return x
	}
	n.At("", name)
	shape := n.Shape(x)
	last := len(shape) - 1
	var change []func([]float32)
	if plusOne {
		change = append(change, func(v []float32) {
			for i := range v {
				v[i]++
			}
		})
	}
	w := n.weight(name+".weight", shape[last:], change...)
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
