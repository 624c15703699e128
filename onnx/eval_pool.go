package onnx

import "math"

// evalMaxPool returns the greatest element of each window.
func evalMaxPool(n *Node, x operand, shape []int) []float64 {
	return pool(n, x, shape, math.Inf(-1), func(a, b float64) float64 { return max(a, b) })
}

// evalAveragePool returns the sum of each window over its number of positions,
// padding included.
func evalAveragePool(n *Node, x operand, shape []int) []float64 {
	out := pool(n, x, shape, 0, func(a, b float64) float64 { return a + b })
	area := 1
	for _, k := range n.Ints["kernel"] {
		area *= int(k)
	}
	for i := range out {
		out[i] /= float64(area)
	}
	return out
}
