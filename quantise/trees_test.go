package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// randomForest adds trees with random splits on features, whose thresholds are among
// the given ones.
func randomForest(b *graph.Builder, rng *rand.Rand, x graph.Value, thresholds [][]float32, trees, depth, targets int) graph.Value {
	var splits []graph.Split
	f := graph.Forest{}
	leaves := 0
	for range trees {
		var grow func(depth int) graph.Child
		grow = func(depth int) graph.Child {
			if depth == 0 || rng.IntN(8) == 0 {
				leaves++
				return ^graph.Child(leaves - 1)
			}
			at := len(f.Branches)
			j := rng.IntN(len(thresholds))
			splits = append(splits, graph.Split{Feature: j, Value: thresholds[j][rng.IntN(len(thresholds[j]))], OrEqual: rng.IntN(2) == 0})
			f.Branches = append(f.Branches, graph.Branch{Bit: at})
			under, over := grow(depth-1), grow(depth-1)
			f.Branches[at].Under, f.Branches[at].Over = under, over
			return graph.Child(at)
		}
		f.Roots = append(f.Roots, grow(depth))
	}
	w := make([]float32, leaves*targets)
	for i := range w {
		w[i] = float32(rng.NormFloat64())
	}
	return b.Forest(f, b.Exceeds(x, splits), b.Constant("w", &graph.Tensor{Shape: []int{leaves, targets}, DType: graph.Float, F32: w}))
}

// TestForestIsExact runs rows whose features are at thresholds, next to them by one
// float32, and far beyond all of them, features of very different sizes, calibrated on
// something else: the leaves are those of the float model, all sums right to 2^−20.
func TestForestIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const rows, trees, targets = 300, 20, 3
	sizes := []float64{1e-6, 0.03, 1, 50, 4e7}
	thresholds := make([][]float32, len(sizes))
	for j, s := range sizes {
		for range 25 { // within four binades, in which 28 bits tell all floats apart
			thresholds[j] = append(thresholds[j], float32(s*(1+14*rng.Float64())*float64(1-2*rng.IntN(2))))
		}
	}
	b := graph.NewBuilder("forest")
	b.Output("y", randomForest(b, rng, b.Input("x", graph.Float, []int{rows, len(sizes)}, "n", ""), thresholds, trees, 6, targets))
	fg, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, rows*len(sizes))
	for i := range x {
		j := i % len(sizes)
		v := thresholds[j][rng.IntN(len(thresholds[j]))]
		switch rng.IntN(5) {
		case 0:
			v = math.Nextafter32(v, 1e30)
		case 1:
			v = math.Nextafter32(v, -1e30)
		case 2:
			v *= 1000 // which is clamped
		case 3:
			v = float32(rng.NormFloat64() * sizes[j] * 5)
		}
		x[i] = float64(v)
	}
	quiet := make([]float64, len(x))
	met, err := fg.RunFloat([][]float64{quiet})
	if err != nil {
		t.Fatal(err)
	}
	want, err := fg.RunFloat([][]float64{x})
	if err != nil {
		t.Fatal(err)
	}
	got, moved := quantiseAndRun(t, fg, met, x)
	if moved != 0 {
		t.Fatalf("%d values moved across a threshold", moved)
	}
	for i, y := range got {
		if d := math.Abs(y - want["y"][i]); d > fixed.Pow2(-16) {
			t.Fatalf("row %d: %v, the float model has %v", i/targets, y, want["y"][i])
		}
	}
}

// TestMovedAcrossThreshold counts values that 28 bits cannot tell from a threshold.
func TestMovedAcrossThreshold(t *testing.T) {
	b := graph.NewBuilder("close")
	least := float32(1e-9)
	splits := []graph.Split{{Value: 1}, {Value: least}, {Feature: 1, Value: 3}}
	b.Output("y", b.Cast(b.Exceeds(b.Input("x", graph.Float, []int{2, 2}), splits), graph.Float))
	fg, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{float64(math.Nextafter32(least, 1)), 3, 2, 4}
	met, err := fg.RunFloat([][]float64{x})
	if err != nil {
		t.Fatal(err)
	}
	got, moved := quantiseAndRun(t, fg, met, x)
	if moved != 1 {
		t.Fatalf("%d values moved; one is next to a threshold that is 10^9 times less than another", moved)
	}
	if !slices.Equal(got, []float64{0, 0, 0, 1, 1, 1}) {
		t.Fatal(got)
	}
}

// quantiseAndRun runs a graph quantised with the values that it met on an input, and returns
// its first output and how many values moved across a threshold.
func quantiseAndRun(t *testing.T, fg *graph.Graph, met map[string][]float64, x []float64) (y []float64, moved int) {
	t.Helper()
	m, err := Quantise(fg, Ranges(met), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ints, moved, err := m.QuantiseInput([][]float64{x})
	if err != nil {
		t.Fatal(err)
	}
	w, err := forward.Run(context.Background(), m.Graph, m.Weights, ints)
	if err != nil {
		t.Fatal(err)
	}
	return m.Outputs(w)[0], moved
}
