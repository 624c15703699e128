package bench

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/parallel"
)

// MLP returns a perceptron of the given number of layers, each width by width with a
// bias and a ReLU (the last one without), on an input of shape (1, width). Its weights
// depend on layers and width alone. They are uniform, with the variance for which
// activations neither grow nor shrink from layer to layer (He initialisation).
func MLP(layers, width int) (*graph.Graph, error) { return Perceptron(layers, width, 1) }

// Perceptron is MLP on an input of shape (tokens, width).
func Perceptron(layers, width, tokens int) (*graph.Graph, error) {
	b := graph.NewBuilder(fmt.Sprintf("mlp-%dx%d", layers, width))
	limit := float32(math.Sqrt(6 / float64(width)))
	x := b.Input("x", graph.Float, []int{tokens, width})
	for i := range layers {
		w := b.Constant(fmt.Sprintf("w%d", i), uniform([]int{width, width}, limit, uint64(2*i+1)))
		c := b.Constant(fmt.Sprintf("b%d", i), uniform([]int{width}, limit/8, uint64(2*i+2)))
		b.At("", fmt.Sprintf("layer%d", i))
		if x = b.Gemm(graph.Gemm{TransB: true, Alpha: 1, Beta: 1}, x, w, c); i < layers-1 {
			x = b.Apply(graph.Relu, x)
		}
	}
	b.Output("y", x)
	return b.Graph()
}

// uniform returns a tensor of values that are uniform in (−limit, limit). Those of a
// large tensor are computed whenever they are read.
func uniform(shape []int, limit float32, seed uint64) *graph.Tensor {
	read := func(dst []float32, from int) {
		for i := range dst {
			dst[i] = limit * (float32(splitmix(seed<<40+uint64(from+i))>>40)/(1<<23) - 1)
		}
	}
	n := graph.Size(shape)
	if n >= large {
		return &graph.Tensor{Shape: shape, DType: graph.Float, Stored: graph.NewStored(n, read)}
	}
	v := make([]float32, n)
	parallel.For(n, 1<<14, func(lo, hi int) { read(v[lo:hi], lo) })
	return &graph.Tensor{Shape: shape, DType: graph.Float, F32: v}
}

// large is the number of elements from which on the weights of a tensor are not stored.
const large = 1 << 22

// splitmix is a 64-bit mixing function (SplitMix64): element x of a pseudo-random sequence.
func splitmix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
