package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/math/ints"
)

// same is the view that keeps every axis.
func same(rank int) *View {
	v := &View{}
	for i := range rank {
		v.Groups = append(v.Groups, Group{Out: []int{i}, In: []int{i}, Strides: []int{1}})
	}
	return v
}

func input(shape ...int) Tensor { return Tensor{Shape: shape, Kind: Input, Max: 1} }

func virtual(def []Linear, shape ...int) Tensor {
	return Tensor{Shape: shape, Kind: Virtual, Max: 1, Def: def}
}

// nestedGraph has n virtual tensors upon each other.
func nestedGraph(n int) Graph {
	g := Graph{Tensors: []Tensor{input(2)}, Inputs: []TensorID{0}, Outputs: []TensorID{TensorID(n)}}
	for i := range n {
		g.Tensors = append(g.Tensors, virtual([]Linear{{Coef: 1, Src: TensorID(i)}}, 2))
	}
	return g
}

func TestNesting(t *testing.T) {
	g := nestedGraph(MaxNesting)
	g.Chunks = 1
	if err := g.Validate(); err != nil {
		t.Error(err)
	}
}

// TestValidateRefuses: graphs on which a verifier would panic, or take hours
// or gigabytes, or bind less than it prints.
func TestValidateRefuses(t *testing.T) {
	tests := map[string]struct {
		why string
		g   Graph
	}{
		"no entries, and some": {"without entries", Graph{Tensors: []Tensor{{Shape: []int{2, 1}, Kind: Empty}}, Outputs: []TensorID{0}}},
		"no entries below 0":   {"out of range", Graph{Tensors: []Tensor{{Shape: []int{0, -1}, Kind: Empty}}, Outputs: []TensorID{0}}},
		"no entries in a range": {"says what they are", Graph{
			Tensors: []Tensor{{Shape: []int{0}, Kind: Empty, Max: 1}}, Outputs: []TensorID{0}}},
		"no entries and no use": {"neither an input nor an output", Graph{
			Tensors: []Tensor{input(2), {Shape: []int{0}, Kind: Empty}}, Inputs: []TensorID{0}, Outputs: []TensorID{0}}},
		"no entries that are moved": {"has no entries", Graph{
			Tensors: []Tensor{{Shape: []int{0}, Kind: Empty}, virtual([]Linear{{Coef: 1, View: &View{Groups: []Group{
				{Out: []int{0}, Strides: []int{0}}, {In: []int{0}}}}}}, 3)},
			Inputs: []TensorID{0}, Outputs: []TensorID{1}}},
		"an input without entries twice": {"comes twice", Graph{Tensors: []Tensor{{Shape: []int{0}, Kind: Empty}}, Inputs: []TensorID{0, 0}}},
		"a dimension of 0":               {"out of range", Graph{Tensors: []Tensor{input(0)}, Inputs: []TensorID{0}}},
		"codes that are all there is": {"codes in the range", Graph{
			Tensors: []Tensor{{Shape: []int{2}, Kind: Input, Max: 2, Numbers: AllNumbers}}, Inputs: []TensorID{0}}},
		"codes that nobody sees": {"has codes", Graph{
			Tensors: []Tensor{input(2), {Shape: []int{2}, Kind: Virtual, Max: 9, Numbers: MaskingNumbers, Def: []Linear{{Coef: 1}}}},
			Inputs:  []TensorID{0}, Outputs: []TensorID{0}}},
		"a long chain":              {"upon each other", nestedGraph(MaxNesting + 1)},
		"an input twice":            {"comes twice", Graph{Tensors: []Tensor{input(2)}, Inputs: []TensorID{0, 0}}},
		"an input that is not told": {"does not list", Graph{Tensors: []Tensor{input(2), input(2)}, Inputs: []TensorID{0}}},
		"a reshape that cuts off": {"changes the size", Graph{
			Tensors: []Tensor{input(4), virtual([]Linear{{Coef: 1, View: &View{Groups: []Group{
				{Out: []int{0}, In: []int{0}, Map: MapReshape}}}}}, 3)},
			Inputs: []TensorID{0}}},
		"an affine map of two axes": {"malformed affine", Graph{
			Tensors: []Tensor{input(4, 4), virtual([]Linear{{Coef: 1, View: &View{Groups: []Group{
				{In: []int{0, 1}}}}}})},
			Inputs: []TensorID{0}}},
		"one entry of a huge axis": {"too large", Graph{
			Tensors: []Tensor{input(1 << MaxVars), virtual([]Linear{{Coef: 1, View: &View{Groups: []Group{
				{In: []int{0}}}}}})},
			Inputs: []TensorID{0}}},
		"public indexes that are none":          {"is no input", wired(func(g *Graph) { idsGroup(g).Ids = 9 })},
		"public indexes below the first tensor": {"is no input", wired(func(g *Graph) { idsGroup(g).Ids = -1 })},
		"indexes that are computed":             {"is no input", wired(func(g *Graph) { idsGroup(g).Ids = 2 })},
		"public indexes of a sum of two axes": {"is no input", wired(func(g *Graph) {
			idsGroup(g).In = []int{0, 1}
			v := g.Tensors[2].Def[0].View
			v.Groups = v.Groups[:1]
			g.Tensors[2].Shape = []int{3}
		})},
		"public indexes of no axis": {"is no input", wired(func(g *Graph) {
			idsGroup(g).In = nil
			g.Tensors[0].Shape = []int{4}
			v := g.Tensors[2].Def[0].View
			v.Groups[1].In = []int{0}
		})},
		"too few public indexes":                 {"2 public indexes wire 3", wired(func(g *Graph) { g.Tensors[1].Shape[0] = 2 })},
		"public indexes beyond the axis":         {"[0, 5] of an axis of 5", wired(func(g *Graph) { g.Tensors[1].Max = 5 })},
		"public indexes that may be negative":    {"[-1, 4] of an axis of 5", wired(func(g *Graph) { g.Tensors[1].Min = -1 })},
		"the public indexes of a reshape":        {"another map", wired(func(g *Graph) { v := g.Tensors[2].Def[0].View; v.Groups[1].Ids = 1 })},
		"a list of its own beside public ones":   {"another map", wired(func(g *Graph) { idsGroup(g).Index = []int{0, 0, 0} })},
		"a base beside public indexes":           {"another map", wired(func(g *Graph) { idsGroup(g).Base = 1 })},
		"public indexes of an axis of all sizes": {"too large", wired(func(g *Graph) { g.Tensors[0].Shape[0] = 1<<28 + 1 })},
		"a witness from nowhere": {"result of no step", Graph{
			Tensors: []Tensor{input(2), {Shape: []int{2}, Kind: Witness, Max: 1}}, Inputs: []TensorID{0}}},
		"a result of two steps": {"two steps", Graph{
			Tensors: []Tensor{input(2), {Shape: []int{2}, Kind: Witness, Max: 1}}, Inputs: []TensorID{0},
			Steps: []Step{exact(0, 1), exact(0, 1)}}},
		"a free remainder":      {"nothing keeps the remainder", rounding(Acc{Const: 1}, 0)},
		"a remainder times two": {"nothing keeps the remainder", rounding(Acc{Linear: []Linear{{Coef: 2, Src: 1}}}, 0)},
		"a formula of no tensor": {"exactly the tensors by formula", Graph{
			Tensors: []Tensor{{Shape: []int{2}, Kind: Input, Max: 1, Formula: &Formula{}}}, Inputs: []TensorID{0}}},
		"a tensor by no formula":         {"exactly the tensors by formula", formula(nil, 0, 1, 2, 2)},
		"an unknown formula":             {"unknown formula", formula(&Formula{Kind: Progression + 1}, 0, 1, 2, 2)},
		"a matrix of one index":          {"2 indexes", formula(&Formula{}, 0, 1, 2)},
		"a progression of two indexes":   {"1 indexes", formula(&Formula{Kind: Progression}, 0, 1, 2, 2)},
		"a step of a matrix":             {"step 1", formula(&Formula{Kind: Equal, Step: 1}, 0, 1, 2, 2)},
		"an offset beyond the bound":     {"offset", formula(&Formula{Offset: -Bound}, 0, 1, 2, 2)},
		"a step beyond the bound":        {"step", formula(&Formula{Kind: Progression, Step: Bound}, 0, 1, 2)},
		"ones beyond the range":          {"entries in [0, 1]", formula(&Formula{}, 0, 0, 2, 2)},
		"zeros beyond the range":         {"entries in [0, 1]", formula(&Formula{Kind: AtLeast}, 1, 1, 2, 2)},
		"a progression that leaves it":   {"entries in [-4, 5]", formula(&Formula{Kind: Progression, Offset: 5, Step: -3}, -3, 5, 4)},
		"a progression that wraps":       {"entries in", formula(&Formula{Kind: Progression, Offset: 1, Step: Bound - 1}, 1-Bound, Bound-1, 1<<30)},
		"a long progression":             {"progression of", formula(&Formula{Kind: Progression, Step: 1}, 1-Bound, Bound-1, 1<<34)},
		"saturated rows of a range":      {"intervals of saturated", marked(TableRange, Rows{0, 1})},
		"no saturated rows":              {"saturated rows [2, 2)", marked(TableFunc, Rows{2, 2})},
		"saturated rows beyond a table":  {"saturated rows [2, 5)", marked(TableFunc, Rows{2, 5})},
		"saturated rows that touch":      {"saturated rows [2, 3)", marked(TableFunc, Rows{0, 2}, Rows{2, 3})},
		"saturated rows out of order":    {"saturated rows [0, 1)", marked(TableFunc, Rows{2, 3}, Rows{0, 1})},
		"saturated rows before a table":  {"saturated rows [-1, 1)", marked(TableFunc, Rows{-1, 1})},
		"saturated rows with a slope":    {"values differ", marked(TablePiecewise, Rows{0, 2})},
		"one saturated row with a slope": {"values differ", marked(TablePiecewise, Rows{1, 2})},
		"too many saturated intervals":   {"65 intervals", marked(TableFunc, make([]Rows, 65)...)},
		"a remainder of many bits":       {"nothing keeps the remainder", rounding(Acc{Linear: []Linear{{Coef: 1, Src: 1}}}, 1)},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			g := c.g
			g.Chunks = max(g.Chunks, 1)
			if g.Outputs == nil {
				g.Outputs = []TensorID{TensorID(len(g.Tensors) - 1)}
			}
			if err := g.Validate(); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want an error about %q", err, c.why)
			}
		})
	}
}

// wired is a graph whose output is rows of one input at the indexes of another,
// changed.
func wired(change func(g *Graph)) Graph {
	g := Graph{
		Tensors: []Tensor{input(5, 4), input(3), virtual([]Linear{{Coef: 1, View: &View{Groups: []Group{
			{Out: []int{0}, In: []int{0}, Map: MapPublic, Ids: 1}, {Out: []int{1}, In: []int{1}, Strides: []int{1}}}}}}, 3, 4)},
		Inputs: []TensorID{0, 1}, Outputs: []TensorID{2}, Chunks: 1,
	}
	g.Tensors[1].Max = 4
	change(&g)
	return g
}

func idsGroup(g *Graph) *Group { return &g.Tensors[2].Def[0].View.Groups[0] }

func exact(from, to TensorID) Step {
	return Step{Kind: StepExact, Shape: []int{2}, Acc: Acc{Linear: []Linear{{Coef: 1, Src: from}}}, Out: to, Lo: None, Table: None, Den: None}
}

// rounding looks the input up with a remainder of 4 bits, and an accumulator in
// a range of 4 bits or more.
func rounding(rest Acc, more int) Graph {
	witness := func(d int) Tensor { return Tensor{Shape: []int{d}, Kind: Witness, Max: 1} }
	look := func(acc Acc, table TableID) Step {
		return Step{Shape: []int{2}, Acc: acc, Table: table, Lo: None, Out: None, Den: None}
	}
	g := Graph{
		Tensors: []Tensor{input(2), witness(2), witness(1 << 8), witness(1 << (4 + more))},
		Inputs:  []TensorID{0},
		Tables:  []Table{{Bits: 8, Values: None}, {Bits: 4 + more, Values: None}},
		Steps:   []Step{look(Acc{Linear: []Linear{{Coef: 1}}}, 0), look(rest, 1)},
		Mults:   []Mult{{0, 0, 2}, {0, 1, 3}},
		Outputs: []TensorID{1},
	}
	g.Steps[0].Shift, g.Steps[0].Lo = 4, 1
	return g
}

// formula has a tensor by formula beside its input.
func formula(f *Formula, lo, hi int64, shape ...int) Graph {
	return Graph{
		Tensors: []Tensor{input(2), {Shape: shape, Kind: ByFormula, Min: lo, Max: hi, Formula: f}},
		Inputs:  []TensorID{0},
	}
}

// marked looks the input up in a table of four rows, of which the second has a slope.
func marked(k TableKind, rows ...Rows) Graph {
	g := Graph{
		Tensors: []Tensor{input(2), {Shape: []int{4}, Kind: Fixed, Max: 1}, {Shape: []int{2}, Kind: Witness, Max: 1}, {Shape: []int{4}, Kind: Witness, Max: 1}},
		Inputs:  []TensorID{0}, Outputs: []TensorID{0},
		Tables: []Table{{Kind: k, Bits: 2, Values: None, Saturated: rows}},
		Steps:  []Step{{Shape: []int{2}, Acc: Acc{Linear: []Linear{{Coef: 1}}}, Out: 2, Lo: None, Den: None}},
		Mults:  []Mult{{0, 0, 3}},
		Chunks: 1,
	}
	switch k {
	case TableFunc:
		g.Tables[0].Values = 1
	case TablePiecewise:
		g.Tables[0].Pieces = []Piece{{End: 1}, {End: 2, Slope: 1}, {End: 3, Offset: 1}, {End: 4, Offset: 2}}
	}
	return g
}

// TestFormulas: what formulas may be, and what they are.
func TestFormulas(t *testing.T) {
	for _, c := range []struct {
		f     Formula
		shape []int
		want  []int32
	}{
		{Formula{}, []int{2, 3}, []int32{1, 1, 1, 0, 1, 1}},
		{Formula{Kind: AtMost, Offset: -1}, []int{2, 3}, []int32{0, 1, 1, 0, 0, 1}},
		{Formula{Kind: AtLeast, Offset: 0}, []int{2, 3}, []int32{1, 0, 0, 1, 1, 0}},
		{Formula{Kind: Equal, Offset: 1}, []int{3, 2}, []int32{0, 0, 1, 0, 0, 1}},
		{Formula{Kind: Progression, Offset: 5, Step: -3}, []int{4}, []int32{5, 2, -1, -4}},
	} {
		g := formula(&c.f, -4, 5, c.shape...)
		g.Outputs, g.Chunks = []TensorID{1}, 1
		if err := g.Validate(); err != nil {
			t.Errorf("%+v: %v", c.f, err)
		}
		if got := ints.All(g.WithFormulas(nil)[1]); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.f, got, c.want)
		}
	}
	// The widest that there is, and the longest.
	for _, g := range []Graph{
		formula(&Formula{Offset: Bound - 1}, 0, 1, 1<<17, 1<<17),
		formula(&Formula{Kind: Progression, Offset: 7}, 7, 7, 1<<34),
		formula(&Formula{Kind: Progression, Offset: 1 - Bound, Step: 1}, 1-Bound, Bound-1, 1<<30),
	} {
		g.Outputs, g.Chunks = []TensorID{0}, 1
		if err := g.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestFormulaEntries: entries are what their inequality says, also where a whole row is 0 or 1.
func TestFormulaEntries(t *testing.T) {
	for _, shape := range [][]int{{1, 1}, {3, 5}, {5, 3}, {0, 4}} {
		for offset := int64(-7); offset <= 7; offset++ {
			holds := map[FormulaKind]func(i, j int64) bool{
				AtMost:  func(i, j int64) bool { return i <= j+offset },
				AtLeast: func(i, j int64) bool { return i >= j+offset },
				Equal:   func(i, j int64) bool { return i == j+offset },
			}
			for kind, is := range holds {
				f := Formula{Kind: kind, Offset: offset}
				for at, v := range ints.All(f.Values(shape)) {
					if i, j := int64(at/shape[1]), int64(at%shape[1]); (v == 1) != is(i, j) || v&^1 != 0 {
						t.Errorf("%+v of %v: entry (%d, %d) is %d", f, shape, i, j, v)
					}
				}
			}
		}
	}
}

// TestFormulaScales: a mask is that of the size put in.
func TestFormulaScales(t *testing.T) {
	in := input(1)
	in.Scales = []Scale{1}
	c := &Template{Free: []FreeDim{{"tokens", 100}}, Graph: &Graph{
		Tensors: []Tensor{in, {Shape: []int{1, 1}, Scales: []Scale{1, 1}, Kind: ByFormula, Max: 1, Formula: &Formula{}}},
		Inputs:  []TensorID{0}, Outputs: []TensorID{0, 1},
	}}
	g, err := c.At(Instance{Sizes: []int{3}})
	if err != nil {
		t.Fatal(err)
	}
	if got := ints.All(g.WithFormulas(nil)[1]); !slices.Equal(got, []int32{1, 1, 1, 0, 1, 1, 0, 0, 1}) {
		t.Errorf("%v", got)
	}
	// And what is made for two sizes is lifted to it.
	build := func(n int) Build {
		g := &Graph{
			Tensors: []Tensor{input(n), {Shape: []int{n, n}, Kind: ByFormula, Max: 1, Formula: &Formula{}}},
			Inputs:  []TensorID{0}, Outputs: []TensorID{0, 1},
		}
		return Build{[]int{n}, g}
	}
	lifted, err := Lift(c.Free, build(2), build(3))
	if err != nil {
		t.Fatal(err)
	}
	if d := difference(lifted.Graph, c.Graph); d != "" {
		t.Errorf("lifted to another %s", d)
	}
}

// TestSaturatedRows: rows that may be marked, and the blocks that they are cut into.
func TestSaturatedRows(t *testing.T) {
	for _, g := range []Graph{marked(TablePiecewise, Rows{0, 1}, Rows{2, 4}), marked(TableFunc, Rows{0, 4}), marked(TableFunc, Rows{1, 4})} {
		if err := g.Validate(); err != nil {
			t.Error(err)
		}
	}
	for from := range uint64(70) {
		for to := from; to < 70; to++ {
			at, each := from, map[int]int{}
			for _, b := range Aligned(from, to) {
				if b.Start != at || b.Start&(1<<b.Bits-1) != 0 || each[b.Bits] == 2 {
					t.Fatalf("[%d, %d): %v", from, to, Aligned(from, to))
				}
				each[b.Bits]++
				at += 1 << b.Bits
			}
			if at != to {
				t.Fatalf("[%d, %d) is cut to %d", from, to, at)
			}
		}
	}
}

// TestValidateAccepts is the control: the remainder alone in a range of its
// bits, and public indexes.
func TestValidateAccepts(t *testing.T) {
	for _, g := range []Graph{rounding(Acc{Linear: []Linear{{Coef: 1, Src: 1}}}, 0), wired(func(*Graph) {})} {
		g.Chunks = 1
		if err := g.Validate(); err != nil {
			t.Error(err)
		}
	}
}
