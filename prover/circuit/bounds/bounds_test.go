package bounds_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// The circuits whose bounds need an argument that they come without.
var notShown = map[string]string{"attention": "Softmax", "formulas": "Softmax", "text": "Softmax", "texts": "Softmax", "segment": "Softmax"}

// In runs of the golden circuits, also at the ends of their inputs, every entry of every
// tensor is within its interval.
func TestIntervalsHold(t *testing.T) {
	cases, err := golden.ReadAll("../../../testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range cases {
		g, err := c.Template.At(c.Instance)
		if err != nil {
			t.Fatal(err)
		}
		all, err := bounds.Intervals(g, bounds.Measure(g, c.Weights))
		if node := notShown[c.Name]; node != "" {
			if err == nil || !strings.Contains(err.Error(), node) {
				t.Errorf("%s: %v", c.Name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		instance := c.Instance
		instance.Reveals = nil
		whole, err := c.Template.At(instance)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 4 {
			inputs := c.Inputs
			if n > 0 {
				inputs = atEnds(whole, n, rng)
			}
			w, err := forward.Run(context.Background(), whole, c.Weights, inputs)
			if err == nil && len(g.Reveals) > 0 {
				w, err = forward.Restate(context.Background(), nil, w, g)
			}
			if err != nil {
				t.Fatal(c.Name, err)
			}
			within(t, g, w, all)
		}
	}
}

// atEnds returns inputs of their greatest values, their least, or either.
func atEnds(g *model.Graph, n int, rng *rand.Rand) [][]int32 {
	var inputs [][]int32
	for _, id := range g.Inputs {
		in := &g.Tensors[id]
		v := make([]int32, model.Size(in.Shape))
		for i := range v {
			v[i] = int32([]int64{in.Max, in.Min, []int64{in.Min, in.Max}[rng.IntN(2)]}[n-1])
		}
		inputs = append(inputs, v)
	}
	return inputs
}

func within(t *testing.T, g *model.Graph, w *forward.Witness, all []bounds.Interval) {
	t.Helper()
	counts := map[model.TensorID]bool{}
	for _, m := range g.Mults {
		counts[m.Tensor] = true
	}
	for id, in := range all {
		if counts[model.TensorID(id)] {
			continue
		}
		for i, x := range w.Tensor(model.TensorID(id)) {
			if int64(x) < in.Min || int64(x) > in.Max {
				t.Fatalf("%s: tensor %q: entry %d is %d, outside of [%d, %d]", g.Name, g.Tensors[id].Name, i, x, in.Min, in.Max)
			}
		}
	}
}

// dense is a layer of count weights in [−weight−1, weight], on inputs in
// [−input−1, input], that rounds by look-up.
func dense(count int, weight, input int64) *model.Graph {
	const x, w, y, lo = 0, 1, 2, 3
	shape := []int{4}
	g := &model.Graph{
		Tensors: []model.Tensor{
			x:  {Name: "x", Shape: []int{count}, Min: -input - 1, Max: input},
			w:  {Name: "w", Shape: []int{4, count}, Kind: model.Fixed, Min: -weight - 1, Max: weight},
			y:  {Name: "y", Shape: shape, Kind: model.Witness, Min: -1 << 14, Max: 1<<14 - 1},
			lo: {Name: "lo", Shape: shape, Kind: model.Witness, Max: 1<<15 - 1},
		},
		Tables: []model.Table{
			{Name: "clamp", Kind: model.TablePiecewise, Bits: 15, Min: -1 << 14, Values: model.None, Pieces: []model.Piece{{End: 1 << 15, Slope: 1}}},
			{Name: "range", Kind: model.TableRange, Bits: 15, Values: model.None},
		},
		Steps: []model.Step{
			{Kind: model.StepLookup, Name: "dense", Shape: shape, Shift: 15, Lo: lo, Table: 0, Out: y, Den: model.None,
				Acc: model.Acc{Products: []model.Product{{Coef: 1, A: x, B: w, LabelsA: []int{1}, LabelsB: []int{0, 1}}}}},
			{Kind: model.StepLookup, Name: "dense", Shape: shape, Lo: model.None, Table: 1, Out: model.None, Den: model.None,
				Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: lo}}}},
		},
		Inputs: []model.TensorID{x}, Outputs: []model.TensorID{y},
	}
	g.Finish(0)
	return g
}

func declared(g *model.Graph) *bounds.Certified {
	c := &bounds.Certified{Ranges: map[model.TensorID]bounds.Interval{}, Sums: map[bounds.Sum]bounds.SumBound{}}
	for _, id := range g.FixedIDs() {
		t := &g.Tensors[id]
		c.Ranges[id] = bounds.Interval{Min: t.Min, Max: t.Max}
	}
	return c
}

// What the widest formats need, and no more.
func TestFormats(t *testing.T) {
	sum := func(parts bounds.SumBound) map[bounds.Sum]bounds.SumBound {
		return map[bounds.Sum]bounds.SumBound{{Tensor: 1, Axes: 2}: parts}
	}
	const p = field.P
	for _, c := range []struct {
		name          string
		count         int
		weight, input int64
		sums          map[bounds.Sum]bounds.SumBound
		ok            bool
	}{
		{"bytes need nothing but their range", 17408, 127, 127, nil, true},
		{"words do", 17408, 1 << 15, 1 << 12, nil, false},
		{"their sums", 17408, 1 << 15, 1 << 12, sum(bounds.SumBound{Positive: 1 << 17, Negative: 1 << 17, Both: 1 << 17}), true},
		{"of both signs", 17408, 1 << 15, 1 << 12, sum(bounds.SumBound{Positive: 1 << 18, Negative: 1 << 18, Both: 1 << 19}), false},
		{"beyond p from the sides", 1 << 20, 1 << 15, 0, sum(bounds.SumBound{Positive: p - 1<<29, Negative: p - 1<<29, Both: p - 1<<29}), false},
		{"just not", 1 << 20, 1 << 15, 0, sum(bounds.SumBound{Positive: p - 1<<29 - 1, Negative: p - 1<<29 - 1, Both: p - 1<<29 - 1}), true},
		{"beyond all integers", 1 << 30, 1 << 29, 1 << 29, sum(bounds.SumBound{Positive: 1 << 60, Negative: 1 << 60, Both: 1 << 61}), false},
	} {
		g := dense(c.count, c.weight, c.input)
		said := declared(g)
		if c.sums != nil {
			said.Sums = c.sums
		}
		err := bounds.Check(g, said)
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "step 0 (dense)") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Nothing is known of weights that nobody certified.
	if err := bounds.Check(dense(4, 1, 1), &bounds.Certified{}); err == nil {
		t.Error("weights of any size")
	}
}

// A circuit that is right modulo p and not over the integers is refused: y = x·w wraps
// for weights that a prover chooses well.
func TestWrap(t *testing.T) {
	g := dense(1, 1<<28, 1<<3)
	// 8·2^28 = 2^31 = p + 1: modulo p it is 1.
	w := model.Weights{1: ints.Of([]int32{1 << 28, 0, 0, 0})}
	if _, err := forward.Run(context.Background(), g, w, [][]int32{{8}}); err == nil {
		t.Fatal("the run is within the bounds")
	}
	if err := bounds.Check(g, bounds.Measure(g, w)); err == nil {
		t.Fatal("a product that wraps")
	}
}

// Every kind of step is held to its own bound.
func TestSteps(t *testing.T) {
	const half = (field.P - 1) / 2
	// y = 2·x + c for x in [0, 2^29], constrained in different ways.
	build := func(kind model.StepKind, c int64) *model.Graph {
		g := dense(1, 0, 0)
		g.Tensors[0].Min, g.Tensors[0].Max = 0, 1<<29
		g.Tensors[0].Shape = []int{4}
		g.Steps[0] = model.Step{Kind: kind, Name: "step", Shape: []int{4}, Table: model.None, Lo: model.None, Out: 2, Den: model.None,
			Acc: model.Acc{Const: c, Linear: []model.Linear{{Coef: 2, Src: 0}}}}
		g.Tensors[2].Min, g.Tensors[2].Max = 1-model.Bound, model.Bound-1
		if kind == model.StepZero {
			g.Steps[0].Out = model.None
			g.Outputs = []model.TensorID{0}
		}
		g.Steps = g.Steps[:1]
		return g
	}
	for _, c := range []struct {
		kind model.StepKind
		add  int64
		ok   bool
	}{
		{model.StepExact, half - 1<<30, true},
		{model.StepExact, half - 1<<30 + 1, false},
		{model.StepExact, -half, true},
		{model.StepExact, -half - 1, false},
		{model.StepZero, field.P - 1 - 1<<30, true},
		{model.StepZero, field.P - 1<<30, false},
		{model.StepZero, 1 - field.P, true},
		{model.StepZero, -field.P, false},
	} {
		if err := bounds.Check(build(c.kind, c.add), &bounds.Certified{}); (err == nil) != c.ok {
			t.Errorf("kind %d, constant %d: %v", c.kind, c.add, err)
		}
	}
	// A table's value may wrap by itself.
	g := dense(1, 1, 1)
	g.Tables[0].Pieces = []model.Piece{{End: 1 << 15, Slope: 1 << 20}}
	g.Steps[0].Shift, g.Steps[0].Lo = 0, model.None
	g.Steps[0].Acc = model.Acc{Linear: []model.Linear{{Coef: 1 << 10, Src: 0, View: &model.View{Groups: []model.Group{
		{In: []int{0}}, {Out: []int{0}, Strides: []int{0}}}}}}}
	if err := bounds.Check(g, declared(g)); err == nil || !strings.Contains(err.Error(), "table") {
		t.Errorf("values of 2^31: %v", err)
	}
	// And an output that its public value does not tell.
	g = dense(4, 1, 1)
	g.Tensors = append(g.Tensors, model.Tensor{Name: "z", Shape: []int{4}, Kind: model.Virtual, Min: -5, Max: 5, Def: []model.Linear{{Coef: 1 << 20, Src: 2}}})
	g.Outputs = append(g.Outputs, model.TensorID(len(g.Tensors)-1))
	g.Tensors[0].Max = 1 << 28
	if err := bounds.Check(g, declared(g)); err == nil || !strings.Contains(err.Error(), `output "z"`) {
		t.Errorf("an output of 2^34: %v", err)
	}
}

// Views and sums of them stay within their intervals, whatever they are.
func TestViews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		out := rapid.IntRange(1, 8).Draw(t, "out")
		g := &model.Graph{Tensors: []model.Tensor{{Name: "x", Shape: []int{n}, Min: -7, Max: 9}}, Inputs: []model.TensorID{0}, Outputs: []model.TensorID{1}}
		var def []model.Linear
		for range rapid.IntRange(1, 4).Draw(t, "terms") {
			group := model.Group{Out: []int{0}, In: []int{0}, Base: rapid.IntRange(-8, 8).Draw(t, "base"), Strides: []int{rapid.SampledFrom([]int{1, 1, 1, -1, 2, 0}).Draw(t, "stride")}}
			v := &model.View{Groups: []model.Group{group}}
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				v.Groups[0].Sum = []model.SumIndex{{Dim: rapid.IntRange(1, 4).Draw(t, "dim"), Stride: rapid.IntRange(-2, 2).Draw(t, "sum")}}
			case 1:
				v.Fill = rapid.Int64Range(-20, 20).Draw(t, "fill")
			case 2:
				index := rapid.SliceOfN(rapid.IntRange(-1, n-1), out, out).Draw(t, "index")
				v.Groups[0] = model.Group{Out: []int{0}, In: []int{0}, Map: model.MapIndex, Index: index}
			}
			def = append(def, model.Linear{Coef: rapid.Int64Range(-3, 3).Draw(t, "coef"), Src: 0, View: v})
		}
		g.Tensors = append(g.Tensors, model.Tensor{Name: "y", Shape: []int{out}, Kind: model.Virtual, Min: -1 << 20, Max: 1 << 20, Def: def})
		g.Finish(0)
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		all, err := bounds.Intervals(g, &bounds.Certified{})
		if err != nil {
			t.Fatal(err)
		}
		x := rapid.SliceOfN(rapid.SampledFrom([]int32{-7, 9, 0, 1}), n, n).Draw(t, "x")
		w, err := forward.Run(context.Background(), g, make(model.Weights, 2), [][]int32{x})
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range w.Tensor(1) {
			if int64(y) < all[1].Min || int64(y) > all[1].Max {
				t.Fatalf("entry %d is %d, outside of %v", i, y, all[1])
			}
		}
	})
}

// The greater of two values is no greater than either, nor is a concatenation.
func TestCancels(t *testing.T) {
	const x, relu, greater, both = 0, 1, 2, 3
	at := func(base int) *model.View {
		return &model.View{Groups: []model.Group{{Out: []int{0}, In: []int{0}, Base: base, Strides: []int{1}}}}
	}
	shape := []int{5}
	g := &model.Graph{
		Tensors: []model.Tensor{
			x:       {Name: "x", Shape: []int{10}, Min: -300, Max: 200},
			relu:    {Name: "relu", Shape: shape, Kind: model.Witness, Min: 0, Max: 500},
			greater: {Name: "greater", Shape: shape, Kind: model.Virtual, Def: []model.Linear{{Coef: 1, Src: x, View: at(5)}, {Coef: 1, Src: relu}}},
			both:    {Name: "both", Shape: []int{10}, Kind: model.Virtual, Def: []model.Linear{{Coef: 1, Src: greater, View: at(0)}, {Coef: 2, Src: relu, View: at(-5)}}},
		},
		Tables: []model.Table{{Name: "relu", Kind: model.TablePiecewise, Bits: 10, Min: -512, Values: model.None, Pieces: []model.Piece{{End: 512}, {End: 1024, Slope: 1}}}},
		Steps: []model.Step{{Kind: model.StepLookup, Name: "greater", Shape: shape, Lo: model.None, Table: 0, Out: relu, Den: model.None,
			Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: x, View: at(0)}, {Coef: -1, Src: x, View: at(5)}}}}},
		Inputs: []model.TensorID{x}, Outputs: []model.TensorID{both},
	}
	g.Finish(0)
	all, err := bounds.Intervals(g, &bounds.Certified{})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[model.TensorID]bounds.Interval{relu: {Min: 0, Max: 500}, greater: {Min: -300, Max: 200}, both: {Min: -300, Max: 1000}} {
		if all[id] != want {
			t.Errorf("%q: %v, want %v", g.Tensors[id].Name, all[id], want)
		}
	}
	// Of another table the sum says no more than its terms do.
	g.Tables[0].Pieces[1].Slope = 3
	if all, _ = bounds.Intervals(g, &bounds.Certified{}); all[greater].Max <= 200 {
		t.Errorf("three times the difference: %v", all[greater])
	}
}

// The values of a high-bits table are those of what it leaves of its keys, and a key is not
// what a value is in proportion to.
func TestHighBits(t *testing.T) {
	const x, low, rest = 0, 1, 2
	shape := []int{1001}
	g := &model.Graph{
		Tensors: []model.Tensor{
			x:    {Name: "x", Shape: shape, Min: 0, Max: 1000},
			low:  {Name: "low", Shape: shape, Kind: model.Witness, Min: -6, Max: 61},
			rest: {Name: "rest", Shape: shape, Kind: model.Virtual, Min: -1 << 12, Max: 1 << 12, Def: []model.Linear{{Coef: 1, Src: x}, {Coef: -16, Src: low}}},
		},
		Tables: []model.Table{{Name: "stretched", Kind: model.TablePiecewise, Bits: 10, Drop: 4, Values: model.None,
			Pieces: []model.Piece{{End: 60, Slope: 1}, {End: 64, Slope: -3, Offset: 177}}}},
		Steps: []model.Step{{Kind: model.StepLookup, Name: "low", Shape: shape, Lo: model.None, Table: 0, Out: low, Den: model.None,
			Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: x}}}}},
		Inputs: []model.TensorID{x}, Outputs: []model.TensorID{low, rest},
	}
	g.Finish(0)
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	in := make([]int32, shape[0])
	for i := range in {
		in[i] = int32(i)
	}
	w, err := forward.Run(context.Background(), g, make(model.Weights, len(g.Tensors)), [][]int32{in})
	if err != nil {
		t.Fatal(err)
	}
	all, err := bounds.Intervals(g, &bounds.Certified{})
	if err != nil {
		t.Fatal(err)
	}
	within(t, g, w, all)
	// The keys up to 1000 have ⌊1000/16⌋ = 62 for their last, of the second piece.
	if want := (bounds.Interval{Min: -9, Max: 59}); all[low] != want {
		t.Errorf("values in %v, want %v", all[low], want)
	}
	// Without more known of x than that it is a key.
	g.Tensors[x].Max = 1023
	if all, err = bounds.Intervals(g, &bounds.Certified{}); err != nil || all[low] != (bounds.Interval{Min: -12, Max: 59}) {
		t.Errorf("values in %v, %v", all[low], err)
	}
	// A value that its public number does not tell, or that is none.
	g.Tables[0].Pieces[0].Slope = 1 << 25
	if _, err = bounds.Intervals(g, &bounds.Certified{}); err == nil || !strings.Contains(err.Error(), "table") {
		t.Errorf("values of 2^31: %v", err)
	}
}

// What 0 or 1 chooses is one of the two; what 2 may choose is not.
func TestChosen(t *testing.T) {
	const x, c, by, out = 0, 1, 2, 3
	at := func(base int) *model.View {
		return &model.View{Groups: []model.Group{{Out: []int{0}, In: []int{0}, Base: base, Strides: []int{1}}}}
	}
	shape, each := []int{5}, []int{0}
	g := &model.Graph{
		Tensors: []model.Tensor{
			x:   {Name: "x", Shape: []int{10}, Min: -300, Max: 200},
			c:   {Name: "c", Shape: shape, Min: 0, Max: 1},
			by:  {Name: "by", Shape: shape, Kind: model.Virtual, Def: []model.Linear{{Coef: 1, Src: x, View: at(0)}, {Coef: -1, Src: x, View: at(5)}}},
			out: {Name: "out", Shape: shape, Kind: model.Witness, Min: -300, Max: 200},
		},
		Steps: []model.Step{{Kind: model.StepExact, Name: "choose", Shape: shape, Lo: model.None, Table: model.None, Out: out, Den: model.None,
			Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: x, View: at(5)}}, Products: []model.Product{{Coef: 1, A: by, B: c, LabelsA: each, LabelsB: each}}}}},
		Inputs: []model.TensorID{x, c}, Outputs: []model.TensorID{out},
	}
	g.Finish(0)
	for most, want := range map[int64]bounds.Interval{1: {Min: -300, Max: 200}, 2: {Min: -1300, Max: 1200}} {
		g.Tensors[c].Max = most
		all, err := bounds.Intervals(g, &bounds.Certified{})
		if err != nil || all[out] != want {
			t.Errorf("factors up to %d: %v, %v, want %v", most, all[out], err, want)
		}
	}
}

// What 0 or 1 chooses may be a product of two tensors: it is that or 0, and an accumulator of it wraps if the product is too large.
func TestChosenProduct(t *testing.T) {
	const x, y, c, product, out = 0, 1, 2, 3, 4
	shape, each := []int{5}, []int{0}
	g := &model.Graph{
		Tensors: []model.Tensor{
			x:       {Name: "x", Shape: shape, Min: -300, Max: 200},
			y:       {Name: "y", Shape: shape, Min: 0, Max: 10},
			c:       {Name: "c", Shape: shape, Min: 0, Max: 1},
			product: {Name: "x·y", Shape: shape, Kind: model.Virtual, Product: &model.Product{Coef: 1, A: y, B: x, LabelsA: each, LabelsB: each}},
			out:     {Name: "out", Shape: shape, Kind: model.Witness, Min: -3000, Max: 2000},
		},
		Steps: []model.Step{{Kind: model.StepExact, Name: "choose", Shape: shape, Lo: model.None, Table: model.None, Out: out, Den: model.None,
			Acc: model.Acc{Products: []model.Product{{Coef: 1, A: product, B: c, LabelsA: each, LabelsB: each}}}}},
		Inputs: []model.TensorID{x, y, c}, Outputs: []model.TensorID{out},
	}
	g.Finish(0)
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	all, err := bounds.Intervals(g, &bounds.Certified{})
	if want := (bounds.Interval{Min: -3000, Max: 2000}); err != nil || all[out] != want {
		t.Errorf("%v, %v, want %v", all[out], err, want)
	}
	g.Tensors[x].Max, g.Tensors[y].Max = 1<<20, 1<<20
	if bounds.Check(g, &bounds.Certified{}) == nil {
		t.Error("products of up to 2^40 are shown not to wrap")
	}
}

// The greatest of numbers that are not known to be within p/2 stands for another integer than the one that it equals modulo p: of
// x·(p − 12) for an x of 1 it is −12, so that nothing below 0 may be left out of what it may be.
func TestGreatestOfLarge(t *testing.T) {
	const x, v, top, is, out = 0, 1, 2, 3, 4
	row, rows := []int{1, 2}, []int{1}
	for _, c := range []struct {
		more  int64 // v is x times 2^30 and this
		shown bool
	}{{-1, true}, {1<<30 - 13, false}} {
		g := &model.Graph{
			Tensors: []model.Tensor{
				x:   {Name: "x", Shape: row, Max: 1},
				v:   {Name: "v", Shape: row, Kind: model.Virtual, Def: []model.Linear{{Coef: 1<<30 - 1, Src: x}, {Coef: c.more + 1, Src: x}}},
				top: {Name: "top", Shape: rows, Kind: model.Witness, Max: 1},
				is:  {Name: "is the top", Shape: row, Kind: model.Witness, Max: 1},
				out: {Name: "out", Shape: rows, Kind: model.Witness, Min: 1 - 1<<30, Max: 0},
			},
			Tables: []model.Table{
				model.TopTable("top", 1), {Name: "range 1", Kind: model.TableRange, Bits: 1}, {Name: "range 5", Kind: model.TableRange, Bits: 5},
			},
			Inputs: []model.TensorID{x}, Outputs: []model.TensorID{out},
		}
		for i := range g.Tables {
			g.Tables[i].Values = model.None
		}
		greatest := model.Step{Kind: model.StepMax, Name: "max", Shape: rows, Lo: model.None, Table: model.None, Out: top, Den: v}
		follow := g.Maximum(&greatest, is)
		look := func(shape []int, acc model.Acc, table model.TableID, to model.TensorID) model.Step {
			return model.Step{Kind: model.StepLookup, Name: "max", Shape: shape, Acc: acc, Lo: model.None, Table: table, Out: to, Den: model.None}
		}
		of := func(c, number int64) model.Acc {
			return model.Acc{Const: number, Linear: []model.Linear{{Coef: c, Src: top}}}
		}
		g.Steps = []model.Step{
			greatest, look(row, follow.Below, 0, is), look(rows, follow.Found, 1, model.None), look(rows, of(1, 16), 2, model.None),
			{Kind: model.StepExact, Name: "out", Shape: rows, Acc: of(1<<26, -15<<26), Lo: model.None, Table: model.None, Out: out, Den: model.None},
		}
		g.Finish(0)
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		all, err := bounds.Intervals(g, &bounds.Certified{})
		if shown := err == nil; shown != c.shown {
			t.Errorf("the greatest of numbers in %v: %v, in %v", all[v], err, all[top])
		}
	}
}

// Sums of weights are what they are.
func TestMeasure(t *testing.T) {
	w := ints.Of([]int32{1, -2, 3, -4, 5, -6, 7, -8, -9, 10, 11, -12})
	for _, c := range []struct {
		axes uint
		want bounds.SumBound
	}{
		{0b111, bounds.SumBound{Positive: 37, Negative: 41, Both: 78}},
		{0b100, bounds.SumBound{Positive: 21, Negative: 17, Both: 33}},
		{0b011, bounds.SumBound{Positive: 18, Negative: 27, Both: 30}},
		{0b001, bounds.SumBound{Positive: 16, Negative: 18, Both: 18}},
	} {
		if got := bounds.MeasureSum([]int{2, 2, 3}, c.axes, w, 0); got != c.want {
			t.Errorf("axes %b: %+v, want %+v", c.axes, got, c.want)
		}
	}
}

// scaled is y = round(x·f/2^15) for rows x and a factor f of each, summed over the last
// axis or not.
func scaled(summed bool) *model.Graph {
	g := dense(1<<10, 1<<15, 1<<12)
	g.Tensors[0].Shape, g.Tensors[1].Shape = []int{4, 1 << 10}, []int{4}
	shape := []int{4, 1 << 10}
	if summed {
		shape = shape[:1]
		g.Tensors[1].Shape = []int{4, 1 << 10}
	}
	for i := range g.Steps {
		g.Steps[i].Shape = shape
	}
	g.Tensors[2].Shape, g.Tensors[3].Shape = shape, shape
	p := &g.Steps[0].Acc.Products[0]
	p.LabelsA, p.LabelsB = []int{0, 1}, []int{0}
	if summed {
		p.LabelsB = []int{0, 1}
	}
	return g
}

// What is known of entries is not of their sum, though both are written alike.
func TestSumsOfKnown(t *testing.T) {
	for _, summed := range []bool{false, true} {
		g := scaled(summed)
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		known := &bounds.Argument{Products: g.Steps[0].Acc.Products, Sum: bounds.Interval{Min: -5, Max: 5}}
		all, err := bounds.Intervals(g, declared(g), known)
		if summed == (err == nil) || !summed && all[2] != (bounds.Interval{Min: -1, Max: 0}) {
			t.Errorf("summed %t: %v, %v", summed, all[2], err)
		}
	}
}

// Arguments must be in order, and what they take for granted must be known.
func TestArguments(t *testing.T) {
	g := scaled(false)
	g.Tensors[1].Max = 1 << 25
	product := g.Steps[0].Acc.Products
	said := declared(g)
	if bounds.Check(g, said) == nil {
		t.Fatal("nothing to argue about")
	}
	known := func(c int64, in bounds.Interval) *bounds.Argument {
		p := product[0]
		p.Coef = c
		return &bounds.Argument{Products: []model.Product{p}, Sum: in}
	}
	fits := bounds.Interval{Min: -1 << 28, Max: 1 << 28}
	results := map[model.TensorID]bounds.Interval{2: fits, 3: {Max: 1<<15 - 1}}
	for _, c := range []struct {
		name string
		ok   bool
		list []*bounds.Argument
	}{
		{"the sum", true, []*bounds.Argument{known(1, fits)}},
		{"negated", true, []*bounds.Argument{known(-1, fits)}},
		{"too wide a sum", false, []*bounds.Argument{known(1, bounds.Interval{Min: -1 << 31, Max: 1 << 31})}},
		{"half of it, twice too much", false, []*bounds.Argument{known(2, fits)}},
		{"the steps", true, []*bounds.Argument{{From: 0, To: 1, Results: results}}},
		{"out of order", false, []*bounds.Argument{{From: 1, To: 2}, {From: 0, To: 1}}},
		{"beyond the end", false, []*bounds.Argument{{From: 0, To: 3}}},
		{"of other inputs", false, []*bounds.Argument{{From: 0, To: 1, Given: map[model.TensorID]bounds.Interval{0: {Min: -1 << 12, Max: 1 << 12}}}}},
		{"of the input", true, []*bounds.Argument{{From: 0, To: 1, Given: map[model.TensorID]bounds.Interval{0: {Min: -1<<12 - 1, Max: 1 << 12}}, Results: results}}},
	} {
		if err := bounds.Check(g, said, c.list...); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
