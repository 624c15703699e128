package quantise

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// beyond runs a model of one input on calibration, then on x, and returns the
// outputs for x and what is reported of them.
func beyond(t *testing.T, build func(n networks.Network) graph.Value, calibration, x []float64) (y []float64, reported int) {
	t.Helper()
	n := networks.New([]int{len(x)})
	g := n.WithOutput(t, build(n))
	values, err := g.RunFloat([][]float64{calibration})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Quantise(g, Ranges(values), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range [][]float64{calibration, x} {
		ints, saturated, err := m.QuantiseInput([][]float64{run})
		if err != nil || saturated != 0 {
			t.Fatalf("%d saturated, %v", saturated, err)
		}
		w, err := forward.Run(context.Background(), m.Graph, m.Weights, ints)
		if err != nil {
			t.Fatal(err)
		}
		checkWitness(t, m, w)
		reported = 0
		for _, k := range m.Saturation(w) {
			reported += k.Count
		}
		stated := 0
		for i := range m.Graph.Steps {
			table := &m.Graph.Tables[max(m.Graph.Steps[i].Table, 0)]
			for _, k := range w.Keys[i] {
				if row := int64(k) - table.Min; slices.ContainsFunc(table.Saturated, func(r model.Rows) bool { return r.From <= row && row < r.To }) {
					stated++
				}
			}
		}
		if stated != reported {
			t.Errorf("a proof states %d entries, and %d are reported", stated, reported)
		}
		y = m.Outputs(w)[0]
		if &run[0] == &calibration[0] && reported != 0 {
			t.Errorf("%d entries of the calibration are reported", reported)
		}
	}
	return y, reported
}

// A run that leaves a function's domain, or comes near a pole, has the values
// that the documentation says, and every such entry is reported once.
func TestOutsideOfDomains(t *testing.T) {
	apply := func(f *graph.Function) func(networks.Network) graph.Value {
		return func(n networks.Network) graph.Value { return n.Apply(f, n.In[0]) }
	}
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		build          func(networks.Network) graph.Value
		calibration, x []float64
		want           []float64 // +Inf and −Inf: the ends of the calibrated range
		reported       int
	}{
		"asin":  {apply(graph.Asin), []float64{0, -0.9, 0.9}, []float64{0.5, -1.5, 1.25}, []float64{math.Asin(0.5), -math.Pi / 2, math.Pi / 2}, 2},
		"acos":  {apply(graph.Acos), []float64{0, -0.9, 0.9}, []float64{0.5, -1.5, 1.25}, []float64{math.Acos(0.5), math.Pi, 0}, 2},
		"acosh": {apply(graph.Acosh), []float64{1, 2, 3}, []float64{2.5, 0.5, -4}, []float64{math.Acosh(2.5), 0, 0}, 2},
		"atanh": {apply(graph.Atanh), []float64{0, -0.9, 0.9}, []float64{0.5, -1.5, 1}, []float64{math.Atanh(0.5), -inf, inf}, 2},
		"tan":   {apply(graph.Tan), []float64{0, -1.2, 1.2}, []float64{0.5, 1.57, -1.57}, []float64{math.Tan(0.5), inf, -inf}, 2},
		"log":   {apply(graph.Log), []float64{1, 2, 3}, []float64{2.5, -1, -2}, []float64{math.Log(2.5), 0, 0}, 2},
		"sqrt":  {apply(graph.Sqrt), []float64{1, 2, 4}, []float64{2.25, -1, -2}, []float64{1.5, 0, 0}, 2},
		"pow": {func(n networks.Network) graph.Value { return n.Apply(graph.Pow, n.In[0], 1.5) },
			[]float64{1, 2, 4}, []float64{4, -1, 2.25}, []float64{8, 0, 3.375}, 1},
		"reciprocal": {apply(graph.Reciprocal), []float64{1, -2, 4}, []float64{2, 0, 4}, []float64{0.5, inf, 0.25}, 1},
		"acos of a multiple": {func(n networks.Network) graph.Value { return n.Apply(graph.Acos, n.Mul(n.In[0], n.Number(0.5))) },
			[]float64{0, -1.8, 1.8}, []float64{1, -3, 2.5}, []float64{math.Acos(0.5), math.Pi, 0}, 2},
		"twice acos": {func(n networks.Network) graph.Value { return n.Mul(n.Apply(graph.Acos, n.In[0]), n.Number(2)) },
			[]float64{0, -0.9, 0.9}, []float64{0.5, -1.5, 1.25}, []float64{2 * math.Acos(0.5), 2 * math.Pi, 0}, 2},
		"log of acosh": {func(n networks.Network) graph.Value { return n.Apply(graph.Log, n.Apply(graph.Acosh, n.In[0])) },
			[]float64{2, 3, 4}, []float64{2.5, 3.5, 0.5}, []float64{math.Log(math.Acosh(2.5)), math.Log(math.Acosh(3.5)), -inf}, 1},
		"x + asin(x)": {func(n networks.Network) graph.Value { return n.Add(n.In[0], n.Apply(graph.Asin, n.In[0])) },
			[]float64{0, -0.9, 0.9}, []float64{0.5, -1.5, 1.25}, []float64{0.5 + math.Asin(0.5), -1.5 - math.Pi/2, 1.25 + math.Pi/2}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			y, reported := beyond(t, c.build, c.calibration, c.x)
			if reported != c.reported {
				t.Errorf("%d entries are reported, want %d", reported, c.reported)
			}
			most := 0.0
			for _, v := range y {
				most = math.Max(most, math.Abs(v))
			}
			for i, want := range c.want {
				if math.IsInf(want, 0) {
					want = math.Copysign(most, want)
				}
				if math.Abs(y[i]-want) > 0.01*most {
					t.Errorf("at %g: %g, want %g", c.x[i], y[i], want)
				}
			}
		})
	}
}

// A calibration outside of a domain is refused; the error names the node and says
// where the function is defined.
func TestCalibrationOutsideOfDomain(t *testing.T) {
	for f, x := range map[*graph.Function]float64{
		graph.Asin: 1.1, graph.Acos: -1.1, graph.Acosh: 0.9, graph.Atanh: 1, graph.Log: -1, graph.Sqrt: -1, graph.Sinh: 1e4, graph.Cosh: 1e4,
	} {
		n := networks.New([]int{1})
		n.At("", "here")
		g := n.WithOutput(t, n.Apply(f, n.In[0]))
		values, err := g.RunFloat([][]float64{{x}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Quantise(g, Ranges(values), Options{})
		if err == nil || !strings.Contains(err.Error(), `"here/`+f.Name) || !strings.Contains(err.Error(), "not finite") {
			t.Errorf("%s of %g: %v", f.Name, x, err)
		} else if f.Domain != (graph.Domain{}) && !strings.Contains(err.Error(), f.Name+" is defined on") {
			t.Errorf("%s of %g: %v", f.Name, x, err)
		}
	}
}

// Where calibration gives no range, a function with poles in reach is refused.
func TestPolesWithoutRange(t *testing.T) {
	n := networks.New([]int{1})
	// Calibration says that the result is 0; its table reaches up to the pole.
	x := n.Add(n.In[0], n.Number(-3))
	g := n.WithOutput(t, n.Apply(graph.Pow, x, -9))
	ranges := map[string]Range{"in0": {Min: 0, Max: 3, Least: 0}, "y": {}}
	for _, node := range g.Nodes {
		if _, ok := ranges[node.Output]; !ok {
			ranges[node.Output] = Range{Min: -3, Max: 3}
		}
	}
	if _, err := Quantise(g, ranges, Options{}); err == nil || !strings.Contains(err.Error(), "calibration gives it no range") {
		t.Errorf("got %v", err)
	}
}
