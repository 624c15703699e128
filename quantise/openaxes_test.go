package quantise

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

// reduced is a model of texts of n tokens: what of makes of rows of an embedding, of
// shape [n, 4].
func reduced(t *testing.T, n int, of func(b *graph.Builder, x graph.Value, n int) graph.Value) *graph.Graph {
	t.Helper()
	const words, dim = 11, 4
	rng := rand.New(rand.NewPCG(90, 91))
	v := make([]float32, words*dim)
	for i := range v {
		v[i] = float32(rng.NormFloat64()) + 0.5
	}
	b := graph.NewBuilder("reduced")
	ids := b.Reshape(b.Input("ids", graph.Int64, []int{1, n}, "", "tokens"), []int{n})
	x := b.Take(b.Constant("embedding", &graph.Tensor{Shape: []int{words, dim}, DType: graph.Float, F32: v}), 0, ids)
	b.Output("y", of(b, x, n))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	g.Rebind = func(sizes map[string]int) (*graph.Graph, error) { return reduced(t, sizes["tokens"], of), nil }
	return g
}

// TestOpenAxes holds what is made of a free length against the float model at several
// lengths: where it cannot be for all of them, it is refused.
func TestOpenAxes(t *testing.T) {
	square := func(b *graph.Builder, x graph.Value) graph.Value {
		return b.MatMul(x, b.Transpose(x, []int{1, 0}))
	}
	for name, c := range map[string]struct {
		of      func(b *graph.Builder, x graph.Value, n int) graph.Value
		refused bool
	}{
		"mean of tokens": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Reduce(graph.Mean, x, []int{0}, true)
		}},
		"mean of all entries": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Reduce(graph.Mean, x, []int{0, 1}, true)
		}},
		"mean of pairs of tokens": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Reduce(graph.Mean, square(b, x), []int{0, 1}, true)
		}, refused: true},
		"sum of pairs of tokens": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Reduce(graph.Sum, square(b, x), []int{0, 1}, true)
		}},
		"mean of one list": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Reduce(graph.Mean, b.Reshape(x, []int{4 * n}), []int{0}, true)
		}},
		"mean of a list of pairs": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Reduce(graph.Mean, b.Reshape(square(b, x), []int{n * n}), []int{0}, true)
		}, refused: true},
		"twice": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Reduce(graph.Mean, b.Concat(0, x, x), []int{0}, true)
		}},
		"one more": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Reduce(graph.Mean, b.Concat(0, x, b.Constant("", &graph.Tensor{Shape: []int{1, 4}, DType: graph.Float, F32: make([]float32, 4)})), []int{0}, true)
		}, refused: true},
		"norm of a column": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Norm(graph.Norm{Axes: []int{1}, Epsilon: 1e-5}, b.Transpose(x, []int{1, 0}))
		}, refused: true},
		"greatest of a column": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.ReduceMax(x, []int{0}, true)
		}, refused: true},
		"the last": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.SliceAxis(x, 0, n-1, 1, 1)
		}, refused: true},
		"turned round": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Slice(x, []int{n - 1, 0}, []int{-1, 1}, []int{n, 4})
		}, refused: true},
		"the second half": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.SliceAxis(b.Concat(0, x, b.Mul(x, b.Number(2))), 0, n, n, 1)
		}},
		"a weight for every length": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Mul(x, b.Number(1/float64(n)))
		}, refused: true},
		"softmax of tokens": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Softmax(b.Transpose(x, []int{1, 0}), 1)
		}},
		"softmax of all": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Softmax(b.Reshape(x, []int{1, 4 * n}), 1)
		}},
		"softmax of pairs": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Softmax(b.Reshape(square(b, x), []int{1, n * n}), 1)
		}, refused: true},
		"softmax of two texts": {of: func(b *graph.Builder, x graph.Value, n int) graph.Value {
			return b.Softmax(b.Transpose(b.Concat(0, x, b.Mul(x, b.Number(2))), []int{1, 0}), 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			const most = 10
			g := reduced(t, most, c.of)
			rng := rand.New(rand.NewPCG(92, 93))
			ids := make([]float64, most)
			var runs []map[string][]float64
			for _, n := range []int{most, 1, 3} {
				for i := range ids {
					ids[i] = float64(rng.IntN(11))
				}
				values, err := reduced(t, n, c.of).RunFloat([][]float64{ids[:n]})
				if err != nil {
					t.Fatal(err)
				}
				runs = append(runs, values)
			}
			m, err := Quantise(g, Ranges(runs...), Options{Length: most})
			if (err != nil) != c.refused {
				t.Fatalf("got %v", err)
			}
			if err != nil {
				return
			}
			for _, n := range []int{1, 2, 4, 7, most} {
				x := &text{}
				at, w := x.run(t, m, ids[:n])
				values, err := reduced(t, n, c.of).RunFloat([][]float64{ids[:n]})
				if err != nil {
					t.Fatal(err)
				}
				id := at.Graph.Outputs[0]
				if a := Compare(at.Dequantise(id, w.Tensor(id)), values[g.Outputs[0]]); a.Relative > 0.02 && a.MaxError > 0.02 {
					t.Errorf("%d tokens: error %.4f, %.4f %% of the range", n, a.MaxError, 100*a.Relative)
				}
			}
		})
	}
}
