package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// outliers are normal numbers of which every tenth is large.
func outliers(n int, large float64, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
		if i%10 == 3 {
			x[i] *= large
		}
	}
	return x
}

// relative is the root mean square of the error of the entries that are not
// outliers, in units of theirs.
func relative(got, want []float64, below float64) float64 {
	var e, w float64
	for i := range want {
		if math.Abs(want[i]) < below {
			e += (got[i] - want[i]) * (got[i] - want[i])
			w += want[i] * want[i]
		}
	}
	return math.Sqrt(e / w)
}

// A product whose wide operand takes limbs is as precise as its format says, also
// for rows a hundred times smaller than the largest.
func TestWideProduct(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const k, width = 300, 7
	n := newNetwork([]int{2, k}, []int{2, k})
	product := n.Mul(n.in[0], n.in[1])
	weights := n.constant([]int{k, width}, func(int) float64 { return rng.NormFloat64() })
	bias := n.constant([]int{width}, func(int) float64 { return rng.NormFloat64() })
	g := n.graph(t, n.Add(n.Gemm(graph.Gemm{Alpha: 1, Beta: 1}, product, weights, bias), n.Number(0.25)))
	x, y := outliers(2*k, 1, rng), outliers(2*k, 1, rng)
	for i := range k {
		x[i] *= 8
		y[i] *= 8
	}
	wide := g.Nodes[0].Output
	for _, c := range []struct {
		bits       int
		low, error float64
	}{{0, 0.001, 1}, {18, 0, 0.008}, {20, 0, 0.005}, {24, 0, 0.006}} {
		opts := Options{Formats: Formats{"in0": {Bits: 14}, "in1": {Bits: 14}}}
		if c.bits > 0 {
			opts.Formats[wide] = Format{Bits: c.bits}
		}
		m, w, got, want := run(t, g, [][]float64{x, y}, opts)
		small := relative(got[0][width:], want[0][width:], math.Inf(1))
		t.Logf("%d bits: error of the small row %.5f", c.bits, small)
		if small > c.error || small < c.low {
			t.Errorf("%d bits: error of the small row %g", c.bits, small)
		}
		if s := m.Saturation(w); len(s) != 0 {
			t.Errorf("saturates: %v", s)
		}
	}
}

// Sums of wide format are views of what is added to them.
func TestStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const width = 32
	n := newNetwork([]int{4, width})
	x := n.Add(n.in[0], n.constant([]int{width}, func(int) float64 { return rng.NormFloat64() }))
	opts := Options{Formats: Formats{"in0": {Bits: 20}}}
	for range 3 {
		x = n.Add(x, n.dense(n.Apply(graph.Tanh, n.dense(x, width, rng)), width, rng))
	}
	g := n.graph(t, x)
	for _, node := range g.Nodes {
		if node.Op == graph.Add {
			opts.Formats[node.Output] = Format{Bits: 22}
		}
	}
	m, _, got, want := run(t, g, [][]float64{outliers(4*width, 100, rng)}, opts)
	a := Compare(got[0], want[0])
	t.Logf("error %.5f %%", 100*a.Relative)
	if a.Relative > 1e-4 {
		t.Errorf("error %g of the range", a.Relative)
	}
	out := &m.Graph.Tensors[m.Graph.Outputs[0]]
	if out.Kind != model.Virtual {
		t.Errorf("the stream is committed: %+v", out)
	}
}

// The norm of a normalised row is within what products are bounded by, whatever the
// row: small, with one large entry, or all at the end of the range.
func TestRowNorms(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const rows, width = 40, 48
	for _, build := range []func(n network) graph.Value{
		func(n network) graph.Value {
			return n.Norm(graph.Norm{Axes: []int{1}, Centred: true, Epsilon: 1e-5}, n.in[0])
		},
		func(n network) graph.Value { return n.Norm(graph.Norm{Axes: []int{1}, Epsilon: 1e-6}, n.in[0]) },
	} {
		n := newNetwork([]int{rows, width})
		g := n.graph(t, n.dense(build(n), 8, rng))
		x := normal(rows*width, rng)
		for r := range rows {
			scale := math.Exp2(float64(r%14) - 12)
			for i := range width {
				v := &x[r*width+i]
				switch r % 3 {
				case 0:
					*v *= scale
				case 1:
					*v = math.Copysign(4*scale, *v)
				default:
					*v *= 1e-3
					if i == r%width {
						*v = 4
					}
				}
			}
		}
		values, err := g.RunFloat([][]float64{x})
		if err != nil {
			t.Fatal(err)
		}
		l, err := newLowering(g, Ranges(values), Options{Mode: modeAuto, WeightBits: 16, ActBits: 16, Headroom: 2, MaxTableBits: 20}, &weightStats{}).choose()
		if err != nil {
			t.Fatal(err)
		}
		if len(l.rowNorms) != 1 {
			t.Fatalf("%d norms", len(l.rowNorms))
		}
		m, err := l.finish(&model.Template{Graph: l.g}, model.Instance{})
		if err != nil {
			t.Fatal(err)
		}
		l.stats.fill(m)
		w, _, _ := runModel(t, m, g, [][]float64{x}, values)
		for id, most := range l.rowNorms {
			largest := 0.0
			v := w.Tensor(id)
			for ; len(v) > 0; v = v[width:] {
				square := 0.0
				for _, x := range v[:width] {
					square += float64(x) * float64(x)
				}
				largest = math.Max(largest, math.Sqrt(square))
			}
			entries := math.Sqrt(width) * float64(l.magnitude(id))
			t.Logf("rows of norm %.0f, bound %.0f, by the entries %.0f", largest, most, entries)
			if largest > most || largest < most*0.9 || most > entries/2 {
				t.Errorf("rows of norm %g, bound %g, by the entries %g", largest, most, entries)
			}
		}
	}
}
