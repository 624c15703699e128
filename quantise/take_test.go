package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
)

// embedding is a table of rows of very different sizes, read at tokens.
func embedding(rng *rand.Rand, rows, width int) *graph.Tensor {
	t := &graph.Tensor{Shape: []int{rows, width}, DType: graph.Float, F32: make([]float32, rows*width)}
	for i := range t.F32 {
		t.F32[i] = float32(rng.NormFloat64() * math.Exp2(float64(i/width%7-3)))
	}
	return t
}

// TestTokens runs tokens that calibration has not met: every row of the embedding is
// as precise as weights are, and a token is what it is or refused.
func TestTokens(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, mode := range []string{"auto", "w8a8"} {
		e := embedding(rng, 300, 5)
		b := graph.NewBuilder("tokens")
		ids := b.Input("ids", graph.Int32, []int{2, 3})
		b.Output("y", b.Take(b.Constant("e", e), 0, ids))
		b.Output("z", b.Take(b.Apply(graph.Relu, b.Input("x", graph.Float, []int{2, 300})), 1, b.Reshape(ids, []int{6})))
		fg, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, 600)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		met, err := fg.RunFloat([][]float64{{0, 1, 2, 1, 1, 0}, x})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Quantise(fg, Ranges(met), Options{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		in := [][]float64{{299, 0, 298, 7, 7, 150}, x}
		want, err := fg.RunFloat(in)
		if err != nil {
			t.Fatal(err)
		}
		whole, clamped, err := m.QuantiseInput(in)
		if err != nil || clamped != 0 || !slices.Equal(whole[0], []int32{299, 0, 298, 7, 7, 150}) {
			t.Fatalf("%v, %d clamped, %v", whole[0], clamped, err)
		}
		w, err := forward.Run(context.Background(), m.Graph, m.Weights, whole)
		if err != nil {
			t.Fatal(err)
		}
		out := m.Outputs(w)
		step := map[string]float64{"auto": 1 << 15, "w8a8": 1 << 7}[mode]
		largest := math.Max(slices.Max(e.Float64s()), -slices.Min(e.Float64s()))
		for i, v := range out[0] {
			if math.Abs(v-want["y"][i]) > largest/step {
				t.Errorf("%s: entry %d is %v, not %v", mode, i, v, want["y"][i])
			}
		}
		for i, v := range out[1] {
			if math.Abs(v-want["z"][i]) > 8/min(step, 1<<12) {
				t.Errorf("%s: picked entry %d is %v, not %v", mode, i, v, want["z"][i])
			}
		}
		first := in[0][3]
		in[0][3] = first - 300 // the same, from the end
		if ints, _, err := m.QuantiseInput(in); err != nil || ints[0][3] != int32(first) {
			t.Errorf("index %v from the end: %v", in[0][3], err)
		}
		for _, bad := range []float64{-301, 300, 0.5, 1e10} {
			in[0][3] = bad
			if _, _, err := m.QuantiseInput(in); err == nil || !strings.Contains(err.Error(), `input "ids": entry 3 is`) {
				t.Errorf("token %v: %v", bad, err)
			}
		}
	}
}

// TestComputedIndices: rows at computed indices are as precise as those of other products
// are, of a table with one digit and with two.
func TestComputedIndices(t *testing.T) {
	for _, rows := range []int{9, 300} {
		b := graph.NewBuilder("computed")
		ids := b.Cast(b.Add(b.Input("x", graph.Float, []int{3}), b.Number(1)), graph.Int64)
		b.Output("y", b.Take(b.Constant("e", embedding(rand.New(rand.NewPCG(1, 2)), rows, 2)), 0, ids))
		fg, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		in := [][]float64{{1.25, float64(rows) - 1.5, -2.75}}
		want, err := fg.RunFloat(in)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Quantise(fg, Ranges(want), Options{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := runSized(m, in)
		if err != nil {
			t.Fatal(err)
		}
		if a := Compare(m.Outputs(w)[0], want["y"]); a.Relative > 1e-3 {
			t.Errorf("%d rows: %v, not %v", rows, m.Outputs(w)[0], want["y"])
		}
	}
}

// TestLargeIntegers: integers that are no indexes are exact where the scale of their
// range would round them.
func TestLargeIntegers(t *testing.T) {
	b := graph.NewBuilder("integers")
	n := b.Input("n", graph.Int64, []int{4})
	b.Output("y", b.Apply(graph.Neg, b.Cast(n, graph.Float)))
	fg, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	in := [][]float64{{1, 77777, 1 << 20, 1<<22 + 1}}
	met, err := fg.RunFloat(in)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Quantise(fg, Ranges(met), Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole, clamped, err := m.QuantiseInput(in)
	if err != nil || clamped != 0 || !slices.Equal(whole[0], []int32{1, 77777, 1 << 20, 1<<22 + 1}) {
		t.Errorf("%v, %d clamped, %v", whole[0], clamped, err)
	}
}
