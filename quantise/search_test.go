package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"github.com/prove-model/prove-model/quantise/weights"
)

// runSized runs a model in the size of the inputs.
func runSized(m *Model, inputs [][]float64) (*forward.Witness, error) {
	lens := make([]int, len(inputs))
	for i := range inputs {
		lens[i] = len(inputs[i])
	}
	in, err := m.Circuit.InstanceOf(lens)
	if err != nil {
		return nil, err
	}
	at, err := m.At(in)
	if err != nil {
		return nil, err
	}
	ints, _, err := at.QuantiseInput(inputs)
	if err != nil {
		return nil, err
	}
	return forward.Run(context.Background(), at.Graph, at.Weights, ints)
}

// chosen chooses formats for a network on a random input and checks the error on
// that input.
func chosen(t *testing.T, g *graph.Graph, inputs [][]float64, opts Options) (*Model, *Choice) {
	t.Helper()
	values, err := g.RunFloat(inputs)
	if err != nil {
		t.Fatal(err)
	}
	m, c, err := Choose(context.Background(), g, []Sample{{Graph: g, Inputs: inputs}}, Ranges(values), opts)
	if err != nil {
		t.Fatal(err)
	}
	_, got, want := runModel(t, m, g, inputs, values)
	a := Compare(got[0], want[0])
	t.Logf("error %.4f %%, first %.4f %%, %d runs: %v", 100*a.Relative, 100*c.First, c.Runs, c.Formats)
	if aim := opts.Target; a.Relative != c.Error && (aim == 0 || math.Abs(a.Relative-c.Error) > 1e-9*aim) {
		t.Errorf("an error of %g is said to be %g", a.Relative, c.Error)
	}
	return m, c
}

func TestChooseTransformer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	g := networks.Transformer(t, 3, rng)
	x := [][]float64{networks.Normal(12*32, rng)}
	_, c := chosen(t, g, x, Options{})
	if c.Error > Target || c.First <= Target {
		t.Errorf("error %g, at first %g", c.Error, c.First)
	}
	if _, again := chosen(t, g, x, Options{}); !reflect.DeepEqual(c, again) {
		t.Errorf("another choice: %v", again)
	}
	if _, exact := chosen(t, g, x, Options{Mode: "exact"}); exact.Error > Target {
		t.Errorf("error %g in exact mode", exact.Error)
	}
	if _, small := chosen(t, g, x, Options{Mode: "w8a8"}); len(small.Formats) != 0 {
		t.Errorf("formats in w8a8 mode: %v", small.Formats)
	}
}

// A search of which one model at a time has its weights, as of a large one, comes to the
// same end, and samples whose float run is known to the same as others.
func TestChooseLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	g := networks.Transformer(t, 1, rng)
	var runs []map[string][]float64
	samples := make([]Sample, 2)
	for i := range samples {
		samples[i] = Sample{Graph: g, Inputs: [][]float64{networks.Normal(12*32, rng)}}
		values, err := g.RunFloat(samples[i].Inputs)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, values)
	}
	// With one sample and with several, as its run may be at hand or not.
	for n := range samples {
		choose := func() (*Model, *Choice) {
			m, c, err := Choose(context.Background(), g, samples[:n+1], Ranges(runs...), Options{})
			if err != nil {
				t.Fatal(err)
			}
			return m, c
		}
		want, choice := choose()
		if choice.Runs < 3 {
			t.Errorf("%d runs: there is no search", choice.Runs)
		}
		for i := range samples {
			samples[i].Float = NewFloatRun(g)
			for name, values := range runs[i] {
				samples[i].Float.Add(name, values)
			}
		}
		before := weights.LargeWeights
		weights.LargeWeights = 1
		got, again := choose()
		weights.LargeWeights = before
		if !reflect.DeepEqual(choice, again) || !reflect.DeepEqual(got.Weights, want.Weights) || !reflect.DeepEqual(got.Graph, want.Graph) {
			t.Errorf("%d samples: %v, not %v", n+1, again, choice)
		}
		for i := range samples {
			samples[i].Float = nil
		}
	}
}

// What is aimed at is reached, and no more is done for it than that takes.
func TestTarget(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	g := networks.Tabular(t, rng)
	x := [][]float64{{50.8, 44173, 0.0387, 2.76, 1684}}
	runs := 0
	for _, aim := range []float64{0.3, 0.02, 1e-4} {
		_, c := chosen(t, g, x, Options{Target: aim})
		if c.Error > aim || c.Runs <= runs || (c.First <= aim) != (len(c.Formats) == 0) {
			t.Errorf("an error of %g for one of %g, %d runs after %d, %v", c.Error, aim, c.Runs, runs, c.Formats)
		}
		runs = c.Runs
	}
	for _, aim := range []float64{-0.1, 1.5, math.NaN()} {
		if _, err := (Options{Target: aim}).WithDefaults(); err == nil {
			t.Errorf("a target of %g is accepted", aim)
		}
	}
}

// The formats alone make the same model again.
func TestFormatsRepeat(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	g := networks.Transformer(t, 3, rng)
	x := [][]float64{networks.Normal(12*32, rng)}
	m, c := chosen(t, g, x, Options{})
	values, err := g.RunFloat(x)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Quantise(g, Ranges(values), Options{Formats: c.Formats})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Circuit, m.Circuit) || !reflect.DeepEqual(again.Weights, m.Weights) {
		t.Error("another model")
	}
	for name, f := range c.Formats {
		if back, err := FormatOf(f.Code()); err != nil || back != f {
			t.Errorf("%s: %+v comes back as %+v, %v", name, f, back, err)
		}
	}
}

func TestFormatsAreChecked(t *testing.T) {
	for _, f := range []Format{{Bits: 3}, {Bits: -1}, {Bits: 29}, {Weights: 1}, {Weights: 23}} {
		if _, err := (Options{Formats: Formats{"x": f}}).WithDefaults(); err == nil {
			t.Errorf("%+v: accepted", f)
		}
	}
	for _, code := range []uint32{3, 29, 1 << 8, 23 << 8, 1 << 16} {
		if f, err := FormatOf(code); err == nil {
			t.Errorf("%#x: %+v", code, f)
		}
	}
}

func TestChooseTabular(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	g := networks.Tabular(t, rng)
	_, c := chosen(t, g, [][]float64{{50.8, 44173, 0.0387, 2.76, 1684}}, Options{})
	if c.Error > 2*Target {
		t.Errorf("error %g", c.Error)
	}
}
