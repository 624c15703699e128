package bench

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/parallel"
)

// MLP returns a perceptron of the given number of layers, each width by width
// with a bias and a ReLU (the last without), on an input of shape (1, width).
// Its weights are uniform with the variance that keeps activations of one
// size (He), and depend on layers and width alone.
func MLP(layers, width int) *onnx.Graph {
	g := &onnx.Graph{
		Name:    fmt.Sprintf("mlp-%dx%d", layers, width),
		Inputs:  []onnx.Value{{Name: "x", Shape: []int{1, width}, DType: onnx.Float}},
		Consts:  map[string]*onnx.Tensor{},
		Shapes:  map[string][]int{"x": {1, width}},
		DTypes:  map[string]onnx.DType{"x": onnx.Float},
		Outputs: []string{"y"},
	}
	limit := float32(math.Sqrt(6 / float64(width)))
	value := "x"
	for i := range layers {
		w, b, out := fmt.Sprintf("w%d", i), fmt.Sprintf("b%d", i), fmt.Sprintf("gemm%d", i)
		constant(g, w, []int{width, width}, limit, uint64(2*i+1))
		constant(g, b, []int{width}, limit/8, uint64(2*i+2))
		if i == layers-1 {
			out = "y"
		}
		node(g, &onnx.Node{
			Op: "Gemm", Name: out, Inputs: []string{value, w, b}, Outputs: []string{out},
			Ints:   map[string][]int64{"transA": {0}, "transB": {1}},
			Floats: map[string]float64{"alpha": 1, "beta": 1},
		}, width)
		if value = out; i < layers-1 {
			value = fmt.Sprintf("relu%d", i)
			node(g, &onnx.Node{Op: "Relu", Name: value, Inputs: []string{out}, Outputs: []string{value}}, width)
		}
	}
	return g
}

func node(g *onnx.Graph, n *onnx.Node, width int) {
	g.Nodes = append(g.Nodes, n)
	g.Shapes[n.Output()] = []int{1, width}
	g.DTypes[n.Output()] = onnx.Float
}

// constant adds a tensor of values uniform in (−limit, limit).
func constant(g *onnx.Graph, name string, shape []int, limit float32, seed uint64) {
	n := shape[0]
	for _, d := range shape[1:] {
		n *= d
	}
	v := make([]float32, n)
	parallel.For(n, 1<<14, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v[i] = limit * (float32(splitmix(seed<<40+uint64(i))>>40)/(1<<23) - 1)
		}
	})
	g.Consts[name] = &onnx.Tensor{Shape: shape, DType: onnx.Float, F32: v}
	g.Shapes[name] = shape
	g.DTypes[name] = onnx.Float
}

// splitmix is a good 64-bit mixing function: random access to a sequence.
func splitmix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
