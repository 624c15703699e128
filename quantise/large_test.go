package quantise

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"github.com/prove-model/prove-model/quantise/lower"
	"github.com/prove-model/prove-model/quantise/weights"
)

// allLarge has every transformer be large until the test ends.
func allLarge(t *testing.T) {
	before := lower.ManyWeights
	lower.ManyWeights = 1
	t.Cleanup(func() { lower.ManyWeights = before })
}

// fewOf chooses formats for a large transformer, and checks the error on the input.
func fewOf(t *testing.T, g *graph.Graph, x [][]float64, target float64) (*Model, *Choice) {
	t.Helper()
	values, err := g.RunFloat(x)
	if err != nil {
		t.Fatal(err)
	}
	m, c, err := Choose(t.Context(), g, []Sample{{Graph: g, Inputs: x}}, Ranges(values), Options{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	w, err := runSized(m, x)
	if err != nil {
		t.Fatal(err)
	}
	if a := Compare(m.Outputs(w)[0], values[g.Outputs[0]]); math.Abs(a.Relative-c.Error) > 1e-9*target {
		t.Errorf("an error of %g is said to be %g", a.Relative, c.Error)
	}
	if c.Runs > 4 || c.Error > c.First || (c.First <= target) != (c.Runs == 1) {
		t.Errorf("target %g: error %g, at first %g, %d runs", target, c.Error, c.First, c.Runs)
	}
	return m, c
}

// A large transformer has few attempts, of which the first has the usual formats and later
// ones what brings the outputs to the target; and the choice is the same on any number of
// processors.
func TestChooseOfFew(t *testing.T) {
	allLarge(t)
	rng := rand.New(rand.NewPCG(3, 1))
	g := networks.Transformer(t, 2, rng)
	x := [][]float64{networks.Normal(12*32, rng)}
	for _, target := range []float64{Target, Target / 4} {
		m, c := fewOf(t, g, x, target)
		if c.Error > target {
			t.Errorf("error %g for a target of %g", c.Error, target)
		}
		procs, large := runtime.GOMAXPROCS(1), weights.LargeWeights
		weights.LargeWeights = 1
		other, again := fewOf(t, g, x, target)
		runtime.GOMAXPROCS(procs)
		weights.LargeWeights = large
		if !reflect.DeepEqual(c, again) || !reflect.DeepEqual(m.Weights, other.Weights) || !reflect.DeepEqual(m.Graph, other.Graph) {
			t.Errorf("target %g: another choice on one processor", target)
		}
	}
}

// A target that cannot be reached ends the search at its bound, with the best it has met;
// so does a caller who has waited for long enough, with an error.
func TestFewRunsEnd(t *testing.T) {
	allLarge(t)
	rng := rand.New(rand.NewPCG(3, 1))
	g := networks.Transformer(t, 1, rng)
	x := [][]float64{networks.Normal(12*32, rng)}
	fewOf(t, g, x, 1e-9)
	values, err := g.RunFloat(x)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Choose(ctx, g, []Sample{{Graph: g, Inputs: x}}, Ranges(values), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that was called off gives %v", err)
	}
}
