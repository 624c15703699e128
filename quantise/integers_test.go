package quantise

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
)

// TestIntegersAreExact draws graphs of two or three operators on integers of all types, at
// the ends of the types and near 0. A circuit gives what the float model does, to the unit,
// in every mode, or it is refused by a name.
func TestIntegersAreExact(t *testing.T) {
	types := []graph.DType{graph.Int8, graph.Uint8, graph.Int16, graph.Uint16, graph.Int32, graph.Uint32, graph.Int64, graph.Uint64}
	shape := []int{2, 3}
	right := 0
	rapid.Check(t, func(t *rapid.T) {
		dt := rapid.SampledFrom(types).Draw(t, "type")
		lo, hi := dt.Bounds()
		most := rapid.SampledFrom([]int64{4, 100, 1 << 15, 1 << 20, 1 << 29, 1 << 31}).Draw(t, "most")
		number := rapid.Int64Range(max(lo, -most), min(hi, most))
		entry := rapid.OneOf(number, rapid.SampledFrom([]int64{max(lo, -most), min(hi, most), 0, 1}))
		b := graph.NewBuilder("integers")
		var inputs [][]float64
		operand := func(name string) graph.Value {
			values := rapid.SliceOfN(entry, 6, 6).Draw(t, name)
			switch rapid.IntRange(0, 3).Draw(t, name+" is") {
			case 0:
				return b.Constant(name, &graph.Tensor{Shape: []int{}, DType: dt, I64: values[:1]})
			case 1:
				return b.Constant(name, &graph.Tensor{Shape: shape, DType: dt, I64: values})
			}
			floats := make([]float64, 6)
			for i, v := range values {
				floats[i] = float64(v)
			}
			inputs = append(inputs, floats)
			return b.Input(name, dt, shape)
		}
		x := b.Input("x", dt, shape)
		floats := make([]float64, 6)
		for i, v := range rapid.SliceOfN(entry, 6, 6).Draw(t, "x") {
			floats[i] = float64(v)
		}
		inputs = append(inputs, floats)
		for i := range rapid.IntRange(1, 3).Draw(t, "operators") {
			op := rapid.SampledFrom([]string{"add", "sub", "from", "mul", "square", "min", "max", "less", "clip", "neg", "abs", "sum", "greatest", "mean", "concat", "pad", "sign"}).Draw(t, "operator")
			b.At(op, fmt.Sprint(op, i))
			y := func() graph.Value { return operand(fmt.Sprint("y", i)) }
			switch op {
			case "add":
				x = b.InType(b.Add(x, y()))
			case "sub":
				x = b.InType(b.Sub(x, y()))
			case "from":
				x = b.InType(b.Sub(y(), x))
			case "mul":
				x = b.InType(b.Mul(x, y()))
			case "square":
				x = b.InType(b.Mul(x, x))
			case "min":
				x = b.Min(x, y())
			case "max":
				x = b.Max(x, y())
			case "less":
				y := y()
				x = b.Where(b.Compare(graph.Less, x, y), x, y)
			case "clip":
				ends := []int64{entry.Draw(t, "end"), entry.Draw(t, "end")}
				x = b.Clip(x, float64(slices.Min(ends)), float64(slices.Max(ends)))
			case "neg":
				x = b.InType(b.Negative(x))
			case "abs":
				x = b.InType(b.Apply(graph.Abs, x))
			case "sum", "greatest", "mean":
				f := map[string]graph.Reduction{"sum": graph.Sum, "greatest": graph.MaxOf, "mean": graph.Mean}[op]
				x = b.Expand(b.InType(b.Reduce(f, x, []int{1}, true)), shape)
			case "concat":
				x = b.SliceAxis(b.Concat(0, x, y()), 0, 1, 1, 2)
			case "pad":
				x = b.Pad(x, []int{1, 0}, []int{-1, 0}, float64(entry.Draw(t, "fill")))
			case "sign":
				x = b.Sign(x)
			}
		}
		b.Output("z", x)
		g, err := b.Graph()
		if err != nil {
			return // two constants, of which one is too large
		}
		values, err := g.RunFloat(inputs)
		if err != nil {
			return
		}
		if slices.ContainsFunc(values["z"], func(v float64) bool { return v != math.Trunc(v) }) {
			t.Fatalf("the float model gives %v", values["z"])
		}
		for _, mode := range []string{"auto", "w8a8", "exact"} {
			m, err := Quantise(g, Ranges(values), Options{Mode: mode})
			if err != nil {
				if !strings.Contains(err.Error(), "node ") && !strings.Contains(err.Error(), "input ") && !strings.Contains(err.Error(), "output ") {
					t.Fatalf("refused without a name: %v", err)
				}
				continue
			}
			ints, saturated, err := m.QuantiseInput(inputs)
			if err != nil || saturated != 0 {
				t.Fatalf("%d saturated, %v", saturated, err)
			}
			w, err := forward.Run(context.Background(), m.Graph, m.Weights, ints)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Outputs(w)[0]; !slices.Equal(got, values["z"]) {
				t.Fatalf("%s: %v, not %v", mode, got, values["z"])
			}
			right++
		}
	})
	if right == 0 {
		t.Error("all are refused")
	}
}
