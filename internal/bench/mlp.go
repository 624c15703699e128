package bench

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/parallel"
)

// MLP returns a perceptron of the given number of layers, each width by width
// with a bias and a ReLU (the last without), on an input of shape (1, width).
// Its weights are uniform with the variance that keeps activations of one
// size (He), and depend on layers and width alone.
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

// uniform is a tensor of values uniform in (−limit, limit). Large ones are computed when
// they are read.
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

// large is the size from which on weights are not kept.
const large = 1 << 22

// splitmix is a good 64-bit mixing function: random access to a sequence.
func splitmix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
