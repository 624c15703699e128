package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
)

// TestOpenMasks runs masks that calibration has not met, alone and beside a constant
// one: a masked entry has no weight at all, and the others are as without it.
func TestOpenMasks(t *testing.T) {
	const texts, n = 2, 6
	for _, causal := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(5, 6))
		b := graph.NewBuilder("masked")
		x := b.Input("x", graph.Float, []int{texts, n, n})
		m := b.Input("m", graph.Int64, []int{texts, n})
		rest := b.Sub(b.Number(1), b.Cast(b.Reshape(m, []int{texts, 1, n}), graph.Float))
		s := b.Add(x, b.Mul(rest, b.Number(-3.4e38)))
		if causal {
			c := &graph.Tensor{Shape: []int{n, n}, DType: graph.Bool, I64: make([]int64, n*n)}
			for i := range c.I64 {
				if i%n <= i/n {
					c.I64[i] = 1
				}
			}
			s = b.Where(b.Constant("c", c), s, b.Number(-1e30))
		}
		b.Output("y", b.Softmax(s, 2))
		fg, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		if !fg.Masks("m") || fg.Masks("x") {
			t.Fatal("the mask is not one")
		}
		in := func(mask ...float64) [][]float64 {
			x := make([]float64, texts*n*n)
			for i := range x {
				x[i] = 3 * rng.NormFloat64()
			}
			return [][]float64{x, mask}
		}
		met, err := fg.RunFloat(in(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1))
		if err != nil {
			t.Fatal(err)
		}
		model, err := Quantise(fg, Ranges(met), Options{})
		if err != nil {
			t.Fatal(err)
		}
		run := func(given [][]float64) []float64 {
			ints, clamped, err := model.QuantiseInput(given)
			if err != nil || clamped > 0 {
				t.Fatalf("%d clamped, %v", clamped, err)
			}
			w, err := forward.Run(context.Background(), model.Graph, model.Weights, ints)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Check(); err != nil {
				t.Fatal(err)
			}
			return model.Outputs(w)[0]
		}
		for range 5 {
			given := in(1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0)
			values, err := fg.RunFloat(given)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range run(given) {
				if want := values["y"][i]; want == 0 && v != 0 || math.Abs(v-want) > 2e-3 {
					t.Errorf("causal %v: entry %d is %v, not %v", causal, i, v, want)
				}
			}
		}
		// Of a row that is masked altogether nothing has a weight, in the float model too.
		none := in(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1)
		if values, err := fg.RunFloat(none); err != nil || slices.Max(values["y"][:n*n]) != 0 {
			t.Errorf("the float model has weights in a row without scores: %v, %v", values["y"], err)
		}
		for i, v := range run(none)[:n*n] {
			if v != 0 {
				t.Errorf("entry %d of a row that is masked altogether is %v", i, v)
			}
		}
		two := in(2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
		if _, clamped, err := model.QuantiseInput(two); err != nil || clamped != 1 {
			t.Errorf("a mask of 2: %d clamped, %v", clamped, err)
		}
		if _, err := fg.RunFloat(two); err == nil {
			t.Error("the float model takes a mask of 2")
		}
	}
}
