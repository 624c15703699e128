package quantise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"pgregory.net/rapid"
)

// normsOf are the kinds of norm, over the last axis.
var normsOf = map[string]graph.Norm{
	"LayerNorm": {Centred: true, Epsilon: 1e-5}, "RMSNorm": {Epsilon: 1e-6}, "L2": {Sum: true},
}

// Rows far smaller than others, and rows with far larger elements, are as exact as
// any.
func TestNormOfUnequalRows(t *testing.T) {
	const rows = 8
	for name, op := range normsOf {
		for _, width := range []int{16, 100, 576, 2048} {
			for _, c := range []struct{ small, outlier float64 }{
				{1, 1}, {10, 1}, {100, 1}, {1000, 1}, {1, 50}, {1, 500}, {1, 5000}, {10, 500},
			} {
				t.Run(fmt.Sprintf("%s of %d, %g smaller, %g larger", name, width, c.small, c.outlier), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(1, uint64(width)))
					op.Axes = []int{1}
					n := networks.New([]int{rows, width})
					g := n.WithOutput(t, n.Norm(op, n.In[0]))
					x := make([]float64, rows*width)
					for i := range x {
						x[i] = rng.NormFloat64() + 0.3
						if i/width == 3 {
							x[i] /= c.small
						}
					}
					x[5*width+7] *= c.outlier
					_, _, got, want := run(t, g, [][]float64{x}, Options{})
					a := Compare(got[0], want[0])
					// Every row by itself, too.
					worst := 0.0
					for i := range rows {
						row := Compare(got[0][i*width:][:width], want[0][i*width:][:width])
						worst = math.Max(worst, row.Relative)
					}
					t.Logf("error %.4f %% of the range, of a row's %.4f %%", 100*a.Relative, 100*worst)
					if a.Relative > 0.001 || worst > 0.002 {
						t.Errorf("error %.4f %% of the range, of a row's %.4f %%", 100*a.Relative, 100*worst)
					}
				})
			}
		}
	}
}

// Rows at the ends of what a tensor may hold, of nothing and of all sizes between:
// each is right in proportion to its own size.
func TestNormOfAnyRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		op := []graph.Norm{{Centred: true}, {}, {Sum: true}}[rapid.IntRange(0, 2).Draw(t, "kind")]
		op.Epsilon = []float64{0, 1e-12, 1e-5, 1}[rapid.IntRange(0, 3).Draw(t, "epsilon")]
		outer, width, inner := rapid.IntRange(1, 3).Draw(t, "outer"), rapid.IntRange(2, 150).Draw(t, "width"), rapid.IntRange(1, 2).Draw(t, "inner")
		op.Axes = [][]int{{1}, {1, 2}, {0, 1}}[rapid.IntRange(0, 2).Draw(t, "axes")]
		shape := []int{outer, width, inner}
		n := networks.New(shape)
		x := n.In[0]
		narrow := rapid.Bool().Draw(t, "narrow")
		if narrow { // an activation
			x = n.Apply(graph.Tanh, n.Mul(x, n.Number(3)))
		}
		g := n.WithOutput(t, n.Norm(op, x))
		scale := math.Ldexp(1, rapid.IntRange(-20, 20).Draw(t, "scale"))
		in := make([]float64, outer*width*inner)
		for i := range in {
			in[i] = scale * rng.NormFloat64()
		}
		values, err := g.RunFloat([][]float64{in})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Quantise(g, Ranges(values), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for try := range 6 {
			for i := range in {
				switch try {
				case 0:
					in[i] = 0
				case 1:
					in[i] = 1e30
				case 2:
					in[i] = math.Copysign(1e30, rng.NormFloat64())
				case 3: // few units: one, where that is not less than the mean's rounding
					in[i] = 0
					if small := 24; rng.IntN(len(in)) == 0 {
						if op.Centred {
							small = 12
						}
						in[i] = scale * math.Ldexp(1, -rng.IntN(small))
					}
				case 4: // one large element
					in[i] = scale * 1e-3 * rng.NormFloat64()
					if rng.IntN(len(in)) == 0 {
						in[i] = 1e30
					}
				default:
					in[i] = scale * math.Ldexp(rng.NormFloat64(), -rng.IntN(20))
				}
			}
			ints, _, err := m.QuantiseInput([][]float64{in})
			if err != nil {
				t.Fatal(err)
			}
			w, err := forward.Run(context.Background(), m.Graph, m.Weights, ints)
			if err != nil {
				t.Fatalf("try %d: %v", try, err)
			}
			checkWitness(t, m, w)
			if narrow {
				continue
			}
			rounded := m.Dequantise(m.Graph.Inputs[0], ints[0])
			want, err := g.RunFloat([][]float64{rounded})
			if err != nil {
				t.Fatal(err)
			}
			got := m.Outputs(w)[0]
			for i, y := range want["y"] {
				most := 0.0 // of the row, and of the model's scale
				for _, v := range want["y"] {
					most = math.Max(most, math.Abs(v))
				}
				if d := math.Abs(got[i] - y); d > most/1024+1e-6*math.Sqrt(float64(len(in))) {
					t.Fatalf("try %d: entry %d is %g, want %g (inputs up to %g)", try, i, got[i], y, most)
				}
			}
		}
	})
}

// Where the epsilon is large beside every entry, the norm of a row grows with the number of its entries: products with its
// result leave room for all of them at the end of their range.
func TestProductOfNormWithLargeEpsilon(t *testing.T) {
	const width = 256
	for name, op := range normsOf {
		op.Axes, op.Epsilon = []int{1}, 1
		n := networks.New([]int{1, width})
		w := n.Filled([]int{width, 3}, func(i int) float64 { return float64(1 - 2*(i/3%2)) })
		g := n.WithOutput(t, n.MatMul(n.Norm(op, n.In[0]), w))
		x := make([]float64, width)
		for i := range x {
			x[i] = 0.001 * float64(1-2*(i%2))
		}
		for _, bits := range []int{0, 12, 16} {
			opts := Options{Formats: Formats{}}
			if bits > 0 {
				for _, name := range Values(g) {
					opts.Formats[name] = Format{Bits: bits, Weights: 16}
				}
			}
			_, _, got, want := run(t, g, [][]float64{x}, opts)
			if a := Compare(got[0], want[0]); a.Relative > 0.01 {
				t.Errorf("%s, %d bits: error %.3f %% of the range", name, bits, 100*a.Relative)
			}
		}
	}
}

// TestSquaresOfTinyNumbers: numbers so small that float64 has no squares of them are refused by the operators that take squares.
func TestSquaresOfTinyNumbers(t *testing.T) {
	for name, op := range map[string]func(b *graph.Builder, x graph.Value) graph.Value{
		"a norm": func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Norm(graph.Norm{Axes: []int{1}, Epsilon: 1e-12}, x)
		},
		"a centred norm": func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Norm(graph.Norm{Axes: []int{1}, Centred: true}, x)
		},
		"a power": func(b *graph.Builder, x graph.Value) graph.Value {
			return b.LogPower(graph.LogPower{Epsilon: 1e-10}, x)
		},
		"a power alone": func(b *graph.Builder, x graph.Value) graph.Value { return b.LogPower(graph.LogPower{}, x) },
		"the power in bands": func(b *graph.Builder, x graph.Value) graph.Value {
			w := b.Constant("w", &graph.Tensor{Shape: []int{2, 1}, DType: graph.Float, F32: []float32{1, 0.5}})
			return b.Apply(graph.Log, b.Add(b.MatMul(b.Mul(x, x), w), b.Number(1e-10)))
		},
	} {
		b := graph.NewBuilder("tiny")
		b.Output("y", op(b, b.Input("x", graph.Float, []int{2, 2})))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		for _, reach := range []float64{1e-30, 1e-160, 1e-300} {
			ranges := map[string]Range{}
			for _, v := range Values(g) {
				ranges[v] = Range{Min: -1, Max: 1}
			}
			ranges["x"] = Range{Min: -reach, Max: reach}
			_, err := Quantise(g, ranges, Options{})
			if small := err != nil && strings.Contains(err.Error(), "are too small"); small != (reach < 1e-100) {
				t.Errorf("%s of numbers of up to %g: %v", name, reach, err)
			}
		}
	}
}
