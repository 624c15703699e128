package forward

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// smallGraph is y = relu((x·W + 2) >> 2) on x of shape (1,2), followed by the
// quotient of y and a divisor, and a virtual output.
func smallGraph() (*model.Graph, model.Weights) {
	const x, w, y, lo, den, q, r, out = 0, 1, 2, 3, 4, 5, 6, 7
	shape := []int{1, 3}
	wit := func(name string, max int64) model.Tensor {
		return model.Tensor{Name: name, Shape: shape, Kind: model.Witness, Max: max}
	}
	g := &model.Graph{
		Tensors: []model.Tensor{
			x:   {Name: "x", Shape: []int{1, 2}, Min: -100, Max: 100},
			w:   {Name: "w", Shape: []int{2, 3}, Kind: model.Fixed, Min: -4, Max: 4},
			y:   wit("y", 63),
			lo:  wit("lo", 3),
			den: {Name: "den", Shape: shape, Kind: model.Fixed, Min: 0, Max: 9},
			q:   wit("q", 63),
			r:   wit("r", 9),
			out: {Name: "out", Shape: []int{3, 1}, Kind: model.Virtual, Max: 700, Def: []model.Linear{
				{Coef: 10, Src: q, View: &model.View{Groups: []model.Group{
					{Out: []int{0}, In: []int{1}, Strides: []int{1}}, {Out: []int{1}, In: []int{0}, Strides: []int{1}}}}},
				{Coef: 1, Src: r, View: &model.View{Groups: []model.Group{
					{Out: []int{0}, In: []int{1}, Strides: []int{1}}, {Out: []int{1}, In: []int{0}, Strides: []int{1}}}}},
			}},
		},
		Tables: []model.Table{
			{Name: "relu", Kind: model.TablePiecewise, Bits: 7, Min: -64, Values: model.None, Pieces: []model.Piece{{End: 64}, {End: 128, Slope: 1}}},
			{Name: "range 2", Kind: model.TableRange, Bits: 2, Values: model.None},
			{Name: "range 4", Kind: model.TableRange, Bits: 4, Values: model.None},
		},
		Steps: []model.Step{
			{Kind: model.StepLookup, Name: "gemm", Shape: shape, Acc: model.Acc{Const: 2, Products: []model.Product{
				{Coef: 1, A: x, B: w, LabelsA: []int{0, 2}, LabelsB: []int{2, 1}}}}, Shift: 2, Lo: lo, Table: 0, Out: y, Den: model.None},
			{Kind: model.StepLookup, Name: "gemm", Shape: shape, Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: lo}}},
				Lo: model.None, Table: 1, Out: model.None, Den: model.None},
			{Kind: model.StepDivide, Name: "div", Shape: shape, Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: y}}},
				Den: den, Out: q, Lo: r, Table: model.None},
			{Kind: model.StepZero, Name: "div", Shape: shape, Lo: model.None, Table: model.None, Out: model.None, Den: model.None},
			inRange(shape, model.Acc{Linear: []model.Linear{{Coef: 1, Src: r}}}),
			inRange(shape, model.Acc{}),
			inRange(shape, model.Acc{Linear: []model.Linear{{Coef: 1, Src: q}}}),
		},
		Inputs: []model.TensorID{x}, Outputs: []model.TensorID{out},
	}
	d := g.Division(&g.Steps[2])
	g.Steps[3].Acc, g.Steps[5].Acc = d.Equation, d.Below
	g.Finish(0)
	return g, model.Weights{w: ints.Int8s{1, 2, 3, 4, -4, 0}, den: ints.Int16s{1, 2, 3}}
}

// inRange looks an accumulator up in the table "range 4".
func inRange(shape []int, acc model.Acc) model.Step {
	return model.Step{Kind: model.StepLookup, Name: "div", Shape: shape, Acc: acc, Lo: model.None, Table: 2, Out: model.None, Den: model.None}
}

func TestRun(t *testing.T) {
	g, weights := smallGraph()
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	w, err := Run(context.Background(), g, weights, [][]int32{{10, 3}})
	if err != nil {
		t.Fatal(err)
	}
	// x·W = (22, 8, 30); +2 → 24, 10, 32; >>2 → 6, 2, 8.
	for _, c := range []struct {
		id   model.TensorID
		want []int32
	}{{2, []int32{6, 2, 8}}, {3, []int32{0, 2, 0}}, {5, []int32{6, 1, 2}}, {6, []int32{0, 0, 2}}, {7, []int32{60, 10, 22}}} {
		if d := cmp.Diff(c.want, w.Tensor(c.id)); d != "" {
			t.Errorf("%s: %s", g.Tensors[c.id].Name, d)
		}
	}
	counts := map[string][]int32{}
	for _, m := range g.Mults {
		counts[g.Tables[m.Table].Name] = w.Values[m.Tensor]
	}
	if d := cmp.Diff([]int32{2, 0, 1, 0}, counts["range 2"]); d != "" {
		t.Error(d)
	}
	want := make([]int32, 128)
	want[64+6], want[64+2], want[64+8] = 1, 1, 1
	if d := cmp.Diff(want, counts["relu"]); d != "" {
		t.Error(d)
	}
}

func TestRunErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(g *model.Graph, w model.Weights)
		in     []int32
		want   string
	}{
		{"input size", func(*model.Graph, model.Weights) {}, []int32{1}, `input "x" has 1 entries, want 2`},
		{"input range", func(*model.Graph, model.Weights) {}, []int32{1, 101}, "outside of"},
		{"key", func(*model.Graph, model.Weights) {}, []int32{90, 0}, `step 0 (gemm): entry 2: key 68 is not in table "relu"`},
		{"divisor", func(_ *model.Graph, w model.Weights) { w[4] = ints.Int32s{1, 0, 1} }, []int32{1, 1}, "step 2 (div): entry 1: the divisor is 0"},
		{"bound", func(g *model.Graph, _ model.Weights) { g.Steps[0].Acc.Products[0].Coef = 1 << 29 }, []int32{1, 1}, "not within ±2^30"},
		{"weights", func(_ *model.Graph, w model.Weights) { w[1] = nil }, []int32{1, 1}, `weights of "w"`},
	} {
		g, weights := smallGraph()
		c.change(g, weights)
		_, err := Run(context.Background(), g, weights, [][]int32{c.in})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g, weights := smallGraph()
	if _, err := Run(ctx, g, weights, [][]int32{{1, 1}}); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}
