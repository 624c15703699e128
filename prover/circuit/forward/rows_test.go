package forward_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/quantise"
)

// Rows that are set one after the other give what a run of the whole gives: where every
// row is on its own, where one looks back at those before, and, computed as a whole,
// where rows are mixed in other ways.
func TestRows(t *testing.T) {
	const rows, width = 6, 4
	weights := func(b *graph.Builder, rng *rand.Rand) graph.Value {
		w := &graph.Tensor{Shape: []int{width, width}, DType: graph.Float, F32: make([]float32, width*width)}
		for i := range w.F32 {
			w.F32[i] = float32(rng.NormFloat64())
		}
		return b.Constant("w", w)
	}
	product := func(b *graph.Builder, x, w graph.Value) graph.Value {
		return b.Gemm(graph.Gemm{TransB: true, Alpha: 1, Beta: 1}, x, w)
	}
	for name, c := range map[string]struct {
		build func(b *graph.Builder, x, w graph.Value) graph.Value
		whole bool // some step is
		all   bool // the output has no axis for rows
	}{
		"alone": {build: func(b *graph.Builder, x, w graph.Value) graph.Value {
			return b.Softmax(b.Apply(graph.Sigmoid, product(b, x, w)), 1)
		}},
		"moved": {build: func(b *graph.Builder, x, w graph.Value) graph.Value {
			x = b.Transpose(b.Reshape(product(b, x, w), []int{rows, 2, 2}), []int{1, 0, 2})
			return b.Transpose(b.Reshape(b.Transpose(b.Mul(x, x), []int{1, 2, 0}), []int{rows, width}), []int{1, 0})
		}},
		"looking back": {build: func(b *graph.Builder, x, w graph.Value) graph.Value {
			mask := &graph.Tensor{Shape: []int{rows, rows}, DType: graph.Bool, I64: make([]int64, rows*rows)}
			for i := range rows {
				for j := range i + 1 {
					mask.I64[i*rows+j] = 1
				}
			}
			scores := b.Where(b.Constant("mask", mask), b.MatMul(product(b, x, w), b.Transpose(x, []int{1, 0})), b.Number(-1e30))
			return b.MatMul(b.Softmax(scores, 1), x)
		}},
		"mean": {build: func(b *graph.Builder, x, w graph.Value) graph.Value {
			return b.Add(product(b, x, w), b.Reduce(graph.Mean, x, []int{0}, true))
		}, whole: true, all: true},
		"backwards": {build: func(b *graph.Builder, x, w graph.Value) graph.Value {
			return b.Mul(x, product(b, b.SliceAxis(x, 0, rows-1, -1, rows), w))
		}, whole: true, all: true},
		"squares": {build: func(b *graph.Builder, x, w graph.Value) graph.Value {
			return b.Apply(graph.Tanh, b.MatMul(b.Transpose(x, []int{1, 0}), x))
		}, whole: true, all: true},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			b := graph.NewBuilder(name)
			x := b.Input("x", graph.Float, []int{rows, width})
			b.Output("y", c.build(b, x, weights(b, rng)))
			g, err := b.Graph()
			if err != nil {
				t.Fatal(err)
			}
			random := func() []float64 {
				v := make([]float64, rows*width)
				for i := range v {
					v[i] = rng.NormFloat64()
				}
				return v
			}
			first, last := random(), random()
			met, err := g.RunFloat([][]float64{last})
			if err != nil {
				t.Fatal(err)
			}
			m, err := quantise.Quantise(g, quantise.Ranges(met), quantise.Options{Mode: "w8a8"})
			if err != nil {
				t.Fatal(err)
			}
			before, _, err := m.QuantiseInput([][]float64{first})
			if err != nil {
				t.Fatal(err)
			}
			after, _, err := m.QuantiseInput([][]float64{last})
			if err != nil {
				t.Fatal(err)
			}
			w, err := forward.Run(t.Context(), m.Graph, m.Weights, after)
			if err != nil {
				t.Fatal(err)
			}
			out := m.Graph.Outputs[0]
			want := w.Tensor(out)
			r, err := forward.NewRows(t.Context(), m.Graph, m.Weights, before, []int{0})
			if err != nil {
				t.Fatal(err)
			}
			steps, some := r.Whole()
			if (steps > 0) != c.whole || some == 0 && !c.whole {
				t.Errorf("%d steps as a whole, %d by rows", steps, some)
			}
			one, err := forward.NewRowCircuit(m.Graph, m.Weights, []int{0})
			if (err != nil) != c.whole {
				t.Fatalf("a circuit for a row: %v", err)
			}
			var caches [][]int32
			for i := range rows {
				row := after[0][i*width : (i+1)*width]
				if err := r.Set(t.Context(), []int{i}, [][]int32{row}); err != nil {
					t.Fatal(err)
				}
				if c.all {
					continue
				}
				if got := r.Output(0); !slices.Equal(got, rowOf(want, m.Graph.Tensors[out].Shape, i, rows)) {
					t.Fatalf("row %d is another", i)
				}
				got, err := forward.RunRow(t.Context(), one, &caches, []int{i}, [][]int32{row})
				if err != nil || !slices.Equal(got[0], rowOf(want, m.Graph.Tensors[out].Shape, i, rows)) {
					t.Fatalf("row %d by the circuit for one is another: %v", i, err)
				}
			}
			if c.all && !slices.Equal(r.Output(0), want) {
				t.Error("the output is another")
			}
			for _, bad := range []struct {
				at     int
				values []int32
				want   string
			}{
				{rows, make([]int32, width), "row 6 of 6"}, {-1, make([]int32, width), "row -1 of 6"},
				{0, make([]int32, width-1), "has 3 entries, want 4"}, {0, []int32{1 << 29, 0, 0, 0}, "outside of"},
			} {
				if err := r.Set(t.Context(), []int{bad.at}, [][]int32{bad.values}); err == nil || !strings.Contains(err.Error(), bad.want) {
					t.Errorf("%v: %v", bad, err)
				}
			}
		})
	}
}

// rowOf picks a row, on whichever axis of the output there are as many.
func rowOf(v []int32, shape []int, i, rows int) []int32 {
	if shape[0] == rows {
		return v[i*len(v)/rows:][:len(v)/rows]
	}
	var out []int32
	for j := i; j < len(v); j += rows {
		out = append(out, v[j])
	}
	return out
}
