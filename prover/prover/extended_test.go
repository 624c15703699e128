package prover

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise"
)

// extended are models of numbers that are not finite, with an input for each.
var extended = map[string]struct {
	numbers graph.Numbers
	build   func(b *graph.Builder, x graph.Value) graph.Value
}{
	"as it is": {graph.AllNumbers, func(b *graph.Builder, x graph.Value) graph.Value { return x }},
	"a sum": {graph.AllNumbers, func(b *graph.Builder, x graph.Value) graph.Value {
		return b.Add(x, b.Transpose(b.Reshape(x, []int{4, 3}), []int{1, 0}))
	}},
	"the greater": {graph.AllNumbers, func(b *graph.Builder, x graph.Value) graph.Value { return b.Max(x, b.Negative(x)) }},
	"greater":     {graph.AllNumbers, func(b *graph.Builder, x graph.Value) graph.Value { return b.Compare(graph.Greater, x, b.Negative(x)) }},
	"is NaN":      {graph.AllNumbers, func(b *graph.Builder, x graph.Value) graph.Value { return b.IsNaN(x) }},
	"a choice": {graph.AllNumbers, func(b *graph.Builder, x graph.Value) graph.Value {
		return b.Where(b.IsNaN(x), b.Number(-1), x)
	}},
	"small": {graph.AllNumbers, func(b *graph.Builder, x graph.Value) graph.Value { return b.CastTo(x, graph.Float8E5M2, false) }},
	"a power": {graph.FiniteNumbers, func(b *graph.Builder, x graph.Value) graph.Value {
		return b.Pow(x, b.Reshape(b.SliceAxis(b.Reshape(x, []int{12}), 0, 11, -1, 12), []int{3, 4}))
	}},
	"a mask": {graph.MaskingNumbers, func(b *graph.Builder, x graph.Value) graph.Value {
		scores := make([]float32, 12)
		for i := range scores {
			scores[i] = float32(i%5) / 3
		}
		return b.Softmax(b.Add(b.Constant("scores", &graph.Tensor{Shape: []int{3, 4}, DType: graph.Float, F32: scores}), x), 1)
	}},
}

func extendedGraph(t *testing.T, name string) (*graph.Graph, [][]float64) {
	t.Helper()
	c := extended[name]
	b := graph.NewBuilder("extended")
	b.Output("y", c.build(b, b.ExtendedInput("x", graph.Float, c.numbers, []int{3, 4})))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	inf := math.Inf(1)
	in := [][]float64{{1, inf, -inf, 0.5, math.NaN(), -3, -inf, 2.25, 0, inf, -0.125, -inf}}
	switch c.numbers {
	case graph.FiniteNumbers: // NaN, +∞ and powers
		in = [][]float64{{-1, 0, 2, 0.5, -1.5, 0, 0, -2, 3, 1.5, -0.5, 0.25}}
	case graph.MaskingNumbers:
		in = [][]float64{{1, 0, -inf, 0.5, 0, -inf, -inf, -1, -inf, -inf, -inf, -inf}}
	}
	return g, in
}

// TestExtendedNumbers proves runs with NaN and infinities: what a proof states is what the
// float model gives, each of them where it is; about another number it is refused.
func TestExtendedNumbers(t *testing.T) {
	t.Parallel()
	for name := range extended {
		t.Run(name, func(t *testing.T) {
			g, in := extendedGraph(t, name)
			values, err := g.RunFloat(in)
			if err != nil {
				t.Fatal(err)
			}
			q, err := quantise.Quantise(g, quantise.RangesOf(g, values), quantise.Options{})
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			key, tree, err := Commit(ctx, q.Circuit, q.Weights, proof.Security{TargetBits: 60, GrindBits: 4}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			ints, clamped, err := q.QuantiseInput(in)
			if err != nil || clamped != 0 {
				t.Fatalf("%d numbers clamped, %v", clamped, err)
			}
			wit, err := forward.Run(ctx, q.Graph, q.Weights, ints)
			if err != nil {
				t.Fatal(err)
			}
			if err := wit.Check(); err != nil {
				t.Fatal(err)
			}
			var buf bytes.Buffer
			if _, err := Prove(ctx, key, q.Graph.Instance, tree, wit, &buf, Options{}); err != nil {
				t.Fatal(err)
			}
			r, err := verifier.Verify(key, bytes.NewReader(buf.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			out := &r.Circuit.Tensors[r.Circuit.Outputs[0]]
			if out.Name != "y" {
				t.Errorf("the output is called %q", out.Name)
			}
			got := out.Reals(r.Outputs[0])
			for i, want := range values["y"] {
				if off := math.Abs(got[i] - want); got[i] != want && !(want != want && got[i] != got[i]) && !(off <= 2e-3*max(1, math.Abs(want))) {
					t.Errorf("entry %d is %v, not %v", i, got[i], want)
				}
			}
			// Whoever holds the proof against its input has every code as it is.
			for i := range in[0] {
				for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0.75} {
					if x == in[0][i] || x != x && in[0][i] != in[0][i] {
						continue
					}
					other := [][]float64{slices.Clone(in[0])}
					other[0][i] = x
					ints, _, err := r.Circuit.RoundInputs(other)
					if err == nil && slices.Equal(ints[0], r.Inputs[0]) {
						t.Errorf("entry %d may be %v as well as %v", i, x, in[0][i])
					}
				}
			}
		})
	}
}

// TestExtendedIsForced alters what provers commit to in these models.
func TestExtendedIsForced(t *testing.T) {
	i := uint64(0)
	for name := range extended {
		i++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, in := extendedGraph(t, name)
			newForger(t, g, in, quantise.Options{MaxTableBits: 12, ActBits: 9}, 1<<10).run(t, rand.New(rand.NewPCG(71, i)), forcedIn(1))
		})
	}
}

// few is n where forgeries that are alike are tried one in n times.
func few() int {
	if *full {
		return 3
	}
	return 6
}

// TestForgedCodes: a prover with full knowledge says of a number that it is another code,
// or of a code that it is a number, in the input and the output of a run, and proves the
// rest as it was.
func TestForgedCodes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a sum", "a power"} {
		g, in := extendedGraph(t, name)
		f := newForger(t, g, in, quantise.Options{}, 1<<10)
		if err := f.prove(t, f.honest); err != nil {
			t.Fatal(err)
		}
		for _, id := range []model.TensorID{f.m.Graph.Inputs[0], f.m.Graph.Outputs[0]} {
			x := &f.m.Graph.Tensors[id]
			if x.Numbers == model.FiniteNumbers {
				continue
			}
			lo, hi := x.Finite()
			values := f.honest.Tensor(id)
			for i, v := range values {
				for _, to := range []int64{x.Min, x.Max, x.Max - 1, lo, hi, 0} {
					if int64(v) == to || (i+int(to))%few() != 0 {
						continue
					}
					w := *f.honest
					w.Values = slices.Clone(w.Values)
					w.Values[id] = slices.Clone(values)
					w.Values[id][i] = int32(to)
					if err := f.prove(t, &w); !errors.Is(err, verifier.ErrInvalid) {
						t.Errorf("%s: entry %d of %s as %d instead of %d: %v", name, i, x.Name, to, v, err)
					}
				}
			}
		}
	}
}

// TestForgedUndefined: a prover with full knowledge says of a power that it is defined, or
// that it is not: it alters each truth value that this depends on, and computes all that
// comes after from it.
func TestForgedUndefined(t *testing.T) {
	t.Parallel()
	g, in := extendedGraph(t, "a power")
	f := newForger(t, g, in, quantise.Options{}, 1<<10)
	out, flips, moved := f.m.Graph.Outputs[0], 0, 0
	for step := range f.m.Graph.Steps {
		id := f.m.Graph.Steps[step].Out
		if id == model.None {
			continue
		}
		if x := &f.m.Graph.Tensors[id]; x.Min != 0 || x.Max != 1 {
			continue
		}
		for i, v := range f.honest.Values[id] {
			if (i+step)%few() != 0 {
				continue
			}
			w := f.forge(forgery{"flip", step, map[model.TensorID]map[int]int64{id: {i: 1 - int64(v)}}})
			flips++
			if !slices.Equal(w.Tensor(out), f.honest.Tensor(out)) {
				moved++
			}
			if err := f.prove(t, w); !errors.Is(err, verifier.ErrInvalid) {
				t.Errorf("entry %d of %s as %d: %v", i, f.m.Graph.Tensors[id].Name, 1-v, err)
			}
		}
	}
	if moved < 24/few() {
		t.Errorf("%d of %d flips change the output", moved, flips)
	}
}
