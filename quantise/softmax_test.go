package quantise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"github.com/prove-model/prove-model/quantise/lower"
	"pgregory.net/rapid"
)

// Rows of any length and sharpness: short ones divide in one step, long ones
// in two limbs.
func TestSoftmax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		rows := rapid.IntRange(1, 3).Draw(t, "rows")
		width := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 1100)).Draw(t, "width")
		shape := []int{rows, width}
		n := networks.New(shape)
		g := n.WithOutput(t, n.Softmax(n.In[0], 1))
		scale := rapid.Float64Range(0, 5).Draw(t, "scale")
		x := make([]float64, rows*width)
		for i := range x {
			x[i] = scale * rng.NormFloat64()
		}
		values, err := g.RunFloat([][]float64{x})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Quantise(g, Ranges(values), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, far := range []bool{false, true} {
			if far {
				for i := range x {
					x[i] = math.Copysign(1e30, rng.NormFloat64())
				}
			}
			w := runChecked(t, m, [][]float64{x})
			// A result has 12 bits; the rest is the input's rounding.
			if a := Compare(m.Outputs(w)[0], values["y"]); !far && a.MaxError > 0.01*a.Range+1.0/(1<<13) {
				t.Fatalf("error %g of the range %g", a.MaxError, a.Range)
			}
		}
	})
}

// softmaxed runs y = f(x) on rows of scores with a deviation.
func softmaxed(t *testing.T, rows, width int, deviation float64, f func(n networks.Network, x graph.Value) graph.Value) Accuracy {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(width), 7))
	n := networks.New([]int{rows, width})
	g := n.WithOutput(t, f(n, n.In[0]))
	x := make([]float64, rows*width)
	for i := range x {
		x[i] = deviation * rng.NormFloat64()
	}
	_, _, got, want := run(t, g, [][]float64{x}, Options{})
	a := Compare(got[0], want[0])
	t.Logf("error %.4f %% of the range", 100*a.Relative)
	return a
}

// Results are right in proportion to themselves, however many there are.
func TestSoftmaxOverManyClasses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	for _, width := range []int{2, 10, 1000, 20000, 50000} {
		for _, deviation := range []float64{0.1, 1, 5, 20} {
			t.Run(fmt.Sprintf("%d, ±%g", width, deviation), func(t *testing.T) {
				soft := softmaxed(t, 1, width, deviation, func(n networks.Network, x graph.Value) graph.Value { return n.Softmax(x, 1) })
				log := softmaxed(t, 1, width, deviation, func(n networks.Network, x graph.Value) graph.Value { return n.LogSoftmax(x, 1) })
				of := softmaxed(t, 1, width, deviation, func(n networks.Network, x graph.Value) graph.Value {
					return n.Apply(graph.Log, n.Softmax(x, 1))
				})
				if soft.Relative > 0.002 || log.Relative > 0.002 || of.Relative > 0.002 {
					t.Errorf("errors %g, %g, %g", soft.Relative, log.Relative, of.Relative)
				}
			})
		}
	}
}

// Scores with more bits than a table of their exponentials has rows for are taken in
// limbs.
func TestSoftmaxOfFineScores(t *testing.T) {
	for _, width := range []int{10, 40, 1000} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			const rows = 24
			rng := rand.New(rand.NewPCG(uint64(width), 9))
			n := networks.New([]int{rows, width}, []int{rows, width})
			g := n.WithOutput(t, n.Softmax(n.Mul(n.In[0], n.In[1]), 1))
			formats := func(bits int) Formats {
				f := Formats{g.Inputs[0].Name: {Bits: 24}, g.Inputs[1].Name: {Bits: 24}}
				for _, node := range g.Nodes {
					f[node.Output] = Format{Bits: bits}
				}
				return f
			}
			x, y := networks.Normal(rows*width, rng), networks.Normal(rows*width, rng)
			for i := range x {
				x[i], y[i] = 20*x[i], 1+0.1*y[i]
			}
			if e := precise(t, g, [][]float64{x, y}, formats(lower.LimbedBits), formats(22)); e[1] > e[0]/2 || e[1] > 3e-4 {
				t.Errorf("errors of %g with %d bits, and %g with 22", e[0], lower.LimbedBits, e[1])
			}
		})
	}
}

// A mask leaves nothing of masked entries, in rows of any length.
func TestMaskedAttention(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	for _, keys := range []int{64, 1024, 8192, 10000} {
		for _, deviation := range []float64{0.3, 3} {
			t.Run(fmt.Sprintf("%d keys, ±%g", keys, deviation), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(keys), 8))
				const rows, width = 4, 8
				mask := func(n networks.Network) graph.Value {
					return n.Filled([]int{rows, keys}, func(i int) float64 {
						if i%keys > i/keys*keys/3 { // the first row sees one key
							return -1e9
						}
						return 0
					})
				}
				random := func(n int, deviation float64) []float64 {
					x := make([]float64, n)
					for i := range x {
						x[i] = deviation * rng.NormFloat64()
					}
					return x
				}
				n := networks.New([]int{rows, keys}, []int{keys, width})
				g := n.WithOutput(t, n.MatMul(n.Softmax(n.Add(n.In[0], mask(n)), 1), n.In[1]))
				_, _, o, exact := run(t, g, [][]float64{random(rows*keys, deviation), random(keys*width, 1)}, Options{})
				if a := Compare(o[0], exact[0]); a.Relative > 0.002 && keys <= 8192 || a.Relative > 0.005 {
					t.Errorf("error %.4f %% of the range", 100*a.Relative)
				}
				// The weights themselves are exactly 0.
				n = networks.New([]int{rows, keys})
				g = n.WithOutput(t, n.Softmax(n.Add(n.In[0], mask(n)), 1))
				x := random(rows*keys, deviation)
				for i := range x {
					if i%keys > i/keys*keys/3 {
						x[i] += 10 // were it not masked, it would win
					}
				}
				_, _, got, want := run(t, g, [][]float64{x}, Options{})
				for i, y := range want[0] {
					if y == 0 && got[0][i] != 0 {
						t.Fatalf("weight %d is %g", i, got[0][i])
					}
				}
			})
		}
	}
}

// TestMaskedRowsOfOneScore: the share of a row's only score is 1, or 0 where a computed mask leaves it out.
func TestMaskedRowsOfOneScore(t *testing.T) {
	b := graph.NewBuilder("masked")
	x := b.Input("x", graph.Float, []int{3, 2, 1})
	rows, all := b.Input("rows", graph.Bool, []int{2, 1}), b.Input("all", graph.Bool, []int{3, 2, 1})
	low := b.Number(-1e9)
	b.Output("one", b.Softmax(b.Where(all, x, low), 2))
	b.Output("broadcast", b.Softmax(b.Where(rows, x, low), 2))
	b.Output("both", b.Softmax(b.Where(rows, b.Where(all, x, low), low), 2))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	in := [][]float64{{1, -2, 3, 0, 5, 6}, {1, 0}, {1, 1, 0, 0, 1, 1}}
	values, err := g.RunFloat(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"auto", "w8a8", "exact"} {
		m, err := Quantise(g, Ranges(values), Options{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		out := m.Outputs(runChecked(t, m, in))
		for i, want := range [][]float64{{1, 1, 0, 0, 1, 1}, {1, 0, 1, 0, 1, 0}, {1, 0, 0, 0, 1, 0}} {
			if !slices.Equal(values[g.Outputs[i]], want) || !slices.Equal(out[i], want) {
				t.Errorf("%s, %s: %v, float model %v, not %v", mode, g.Outputs[i], out[i], values[g.Outputs[i]], want)
			}
		}
	}
}
