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
)

// allLarge has every transformer be large until the test ends.
func allLarge(t *testing.T) {
	before := manyWeights
	manyWeights = 1
	t.Cleanup(func() { manyWeights = before })
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
	if c.Runs > fewRuns || c.Error > c.First || (c.First <= target) != (c.Runs == 1) {
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
	g := transformerOf(t, 2, rng)
	x := [][]float64{normal(12*32, rng)}
	for _, target := range []float64{Target, Target / 4} {
		m, c := fewOf(t, g, x, target)
		if c.Error > target {
			t.Errorf("error %g for a target of %g", c.Error, target)
		}
		procs, weights := runtime.GOMAXPROCS(1), largeWeights
		largeWeights = 1
		other, again := fewOf(t, g, x, target)
		runtime.GOMAXPROCS(procs)
		largeWeights = weights
		if !reflect.DeepEqual(c, again) || !reflect.DeepEqual(m.Weights, other.Weights) || !reflect.DeepEqual(m.Graph, other.Graph) {
			t.Errorf("target %g: another choice on one processor", target)
		}
	}
}

// What is large is a matter of weights and norms.
func TestLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	with, without := transformerOf(t, 1, rng), tabular(t, rng)
	if large(with) || large(without) {
		t.Error("small models are large")
	}
	allLarge(t)
	if !large(with) || large(without) {
		t.Error("a model without norms is large, or one with them is not")
	}
}

// A target that cannot be reached ends the search at its bound, with the best it has met;
// so does a caller who has waited for long enough, with an error.
func TestFewRunsEnd(t *testing.T) {
	allLarge(t)
	rng := rand.New(rand.NewPCG(3, 1))
	g := transformerOf(t, 1, rng)
	x := [][]float64{normal(12*32, rng)}
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

// Moves begin where the largest errors enter, and go on until those that are left are few
// enough for the target: more for a stricter one.
func TestEnough(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	g := transformerOf(t, 2, rng)
	x := [][]float64{normal(12*32, rng)}
	values, err := g.RunFloat(x)
	if err != nil {
		t.Fatal(err)
	}
	opts, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := &search{ctx: t.Context(), fg: g, ranges: Ranges(values), opts: opts, samples: []Sample{{Graph: g, Inputs: x}}, groups: alike(g)}
	defer s.memory.Close()
	a, err := s.try(nil)
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for _, e := range []float64{Target / 2, 2 * Target, 20 * Target, 1e6 * Target} {
		a.error = e
		moves, err := s.enough(a, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(moves) < before || e < Target != (len(moves) == 0) {
			t.Errorf("%d moves for an error of %g, %d for a smaller one", len(moves), e, before)
		}
		before = len(moves)
		refused := map[move]bool{}
		for _, mv := range moves {
			refused[mv] = true
		}
		others, err := s.enough(a, refused)
		if err != nil {
			t.Fatal(err)
		}
		for _, mv := range others {
			if refused[mv] {
				t.Errorf("%+v was refused", mv)
			}
		}
	}
	if before < 3 {
		t.Errorf("%d moves at most", before)
	}
}

// The steps of a group end.
func TestMuch(t *testing.T) {
	for _, g := range []group{{product: true}, {sum: true}, {}} {
		for _, weights := range []bool{false, true} {
			f, n := Format{}, 0
			for next := g.much(f, weights); next != f; next = g.much(f, weights) {
				if f = next; f.check() != nil {
					t.Fatalf("%+v", f)
				}
				if n++; n > 4 {
					t.Fatalf("%+v: no end", f)
				}
			}
			if weights != (f.Bits == 0) || weights && f.Weights != formatWeights {
				t.Errorf("%+v", f)
			}
		}
	}
}
