package model

import (
	"strings"
	"testing"
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

// TestValidateRefuses: graphs on which a verifier would panic, or take hours
// or gigabytes, or bind less than it prints.
func TestValidateRefuses(t *testing.T) {
	tests := map[string]struct {
		why string
		g   Graph
	}{
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
		"a witness from nowhere": {"result of no step", Graph{
			Tensors: []Tensor{input(2), {Shape: []int{2}, Kind: Witness, Max: 1}}, Inputs: []TensorID{0}}},
		"a result of two steps": {"two steps", Graph{
			Tensors: []Tensor{input(2), {Shape: []int{2}, Kind: Witness, Max: 1}}, Inputs: []TensorID{0},
			Steps: []Step{exact(0, 1), exact(0, 1)}}},
		"a free remainder":               {"nothing keeps the remainder", rounding(Acc{Const: 1}, 0)},
		"a remainder times two":          {"nothing keeps the remainder", rounding(Acc{Linear: []Linear{{Coef: 2, Src: 1}}}, 0)},
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
// bits.
func TestValidateAccepts(t *testing.T) {
	g := rounding(Acc{Linear: []Linear{{Coef: 1, Src: 1}}}, 0)
	g.Chunks = 1
	if err := g.Validate(); err != nil {
		t.Error(err)
	}
}
