package model

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// batched is a template in which every kind of number scales: x is [b, 3] and
// y [b·t, 2]; z sums x over an axis of b entries, and w moves y by b rows.
func batched() *Template {
	const b, t = Scale(1), Scale(2)
	g := &Graph{
		Tensors: []Tensor{
			{Shape: []int{1, 3}, Scales: []Scale{b, 0}, Kind: Input, Max: 1},
			{Shape: []int{1, 2}, Scales: []Scale{b | t, 0}, Kind: Input, Max: 1},
			{Shape: []int{1}, Scales: []Scale{t}, Kind: Input, Max: 1},
			virtual([]Linear{{Coef: 1, Src: 0, View: &View{Groups: []Group{
				{In: []int{0}, Sum: []SumIndex{{Dim: 1, Stride: 1, Scale: b}}}, {Out: []int{0}, In: []int{1}, Strides: []int{1}}}}}}, 3),
			virtual([]Linear{{Coef: 1, Src: 1, View: &View{Groups: []Group{
				{Out: []int{0}, In: []int{0}, Base: -1, BaseScale: b, Strides: []int{1}}, {Out: []int{1}, In: []int{1}, Strides: []int{1}}}}}}, 2, 2),
			{Shape: []int{1, 3}, Scales: []Scale{b, 0}, Kind: Witness, Max: 1},
			{Shape: []int{3}, Kind: Fixed, Max: 1},
		},
		Tables: []Table{{Kind: TablePiecewise, Bits: 1, Pieces: []Piece{{End: 2, Slope: 1}}, Values: None}},
		Steps: []Step{{Shape: []int{1, 3}, Scales: []Scale{b, 0}, Acc: Acc{Linear: []Linear{{Coef: 1, Src: 0}}},
			Lo: None, Table: 0, Out: 5, Den: None}},
		Inputs: []TensorID{0, 1, 2}, Outputs: []TensorID{3, 4, 5},
	}
	g.Tensors[4].Scales = []Scale{b, 0} // [2b, 2]
	return &Template{Free: []FreeDim{{"batch", 100}, {"tokens", 50}}, Graph: g}
}

func TestAt(t *testing.T) {
	c := batched()
	before := batched()
	g, err := c.At(Instance{Sizes: []int{4, 5}})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range [][]int{{4, 3}, {20, 2}, {5}, {3}, {8, 2}, {4, 3}, {3}, {2}} {
		if got := g.Tensors[id]; !slices.Equal(got.Shape, want) || got.Scales != nil {
			t.Errorf("tensor %d: shape %v with scales %v, want %v", id, got.Shape, got.Scales, want)
		}
	}
	if s := g.Tensors[3].Def[0].View.Groups[0].Sum[0]; s != (SumIndex{Dim: 4, Stride: 1}) {
		t.Errorf("summed index %+v", s)
	}
	if v := g.Tensors[4].Def[0].View.Groups[0]; v.Base != -4 || v.BaseScale != 0 {
		t.Errorf("base %d, scale %d", v.Base, v.BaseScale)
	}
	if s := g.Steps[0]; !slices.Equal(s.Shape, []int{4, 3}) || s.Scales != nil {
		t.Errorf("step %+v", s)
	}
	if g.Chunks != 1 || len(g.Mults) != 1 || !slices.Equal(g.Instance.Sizes, []int{4, 5}) {
		t.Errorf("%d chunks, %d multiplicities, instance %v", g.Chunks, len(g.Mults), g.Instance)
	}
	old, err := c.At(Instance{Sizes: []int{100, 50}, ChunkEntries: 2})
	if err != nil {
		t.Fatal(err)
	}
	if in, err := c.AtIn(old, Instance{Sizes: []int{4, 5}}); err != nil || !reflect.DeepEqual(in, g) {
		t.Errorf("in the memory of another: %v, want %v (%v)", in, g, err)
	}
	if !reflect.DeepEqual(c, before) {
		t.Error("the template has changed")
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestTemplateRoundTrip(t *testing.T) {
	c := &Template{Graph: batched().Graph}
	for i := range c.Graph.Tensors {
		c.Graph.Tensors[i].Scales = nil
	}
	c.Graph.Steps[0].Scales = nil
	c.Graph.Tensors[3].Def[0].View.Groups[0].Sum[0].Scale = 0
	c.Graph.Tensors[4].Def[0].View.Groups[0].BaseScale = 0
	g, err := c.At(Instance{ChunkEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Template(); !reflect.DeepEqual(got, c) {
		t.Errorf("got %+v", got.Graph)
	}
}

func TestAtRefusesSizes(t *testing.T) {
	for _, in := range []Instance{
		{}, {Sizes: []int{1}}, {Sizes: []int{1, 1, 1}}, {Sizes: []int{0, 1}}, {Sizes: []int{-1, 1}},
		{Sizes: []int{101, 1}}, {Sizes: []int{1, 51}}, {Sizes: []int{1, 1}, ChunkEntries: -1}, {Sizes: []int{1, 1}, ChunkEntries: maxChunk + 1},
	} {
		if _, err := batched().At(in); err == nil {
			t.Errorf("%+v: accepted", in)
		}
	}
	if _, err := batched().At(Instance{Sizes: []int{100, 50}}); err != nil {
		t.Error(err)
	}
}

func TestTemplateRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		why    string
		change func(c *Template)
	}{
		"no circuit":         {"no circuit", func(c *Template) { c.Graph = nil }},
		"many":               {"over 8", func(c *Template) { c.Free = make([]FreeDim, 9) }},
		"no name":            {"free dimension 0", func(c *Template) { c.Free[0].Name = "" }},
		"no bound":           {"bound 0", func(c *Template) { c.Free[1].Bound = 0 }},
		"a large bound":      {"bound 16777217", func(c *Template) { c.Free[1].Bound = MaxBound + 1 }},
		"one name":           {"two free", func(c *Template) { c.Free[1].Name = "batch" }},
		"nothing to measure": {"no axis of an input", func(c *Template) { c.Graph.Tensors[2].Scales = nil }},
		"unknown":            {"scale 0x4", func(c *Template) { c.Graph.Steps[0].Scales[0] = 4 }},
		"short":              {"scales [1]", func(c *Template) { c.Graph.Tensors[0].Scales = []Scale{1} }},
		"idle":               {"scales [0 0]", func(c *Template) { c.Graph.Tensors[5].Scales = []Scale{0, 0} }},
		"fixed":              {"fixed tensor", func(c *Template) { c.Graph.Tensors[6].Scales = []Scale{1} }},
		"huge":               {"over 2^34", func(c *Template) { c.Graph.Tensors[0].Shape[0] = 1 << 28 }},
		"overflow":           {"over 2^34", func(c *Template) { c.Graph.Tensors[1].Shape[0] = -1 << 63 }},
		"a huge sum":         {"over 2^34", func(c *Template) { c.Graph.Tensors[3].Def[0].View.Groups[0].Sum[0].Dim = 1 << 40 }},
		"a huge base":        {"over 2^34", func(c *Template) { c.Graph.Tensors[4].Def[0].View.Groups[0].Base = -1 << 40 }},
		"no base":            {"base of 0", func(c *Template) { c.Graph.Tensors[4].Def[0].View.Groups[0].Base = 0 }},
		"a step's view": {"scale 0x8", func(c *Template) {
			c.Graph.Steps[0].Acc.Linear = append(c.Graph.Steps[0].Acc.Linear, Linear{Src: 3, View: &View{Groups: []Group{{Base: 1, BaseScale: 8}}}})
		}},
		"chunks":       {"with chunks", func(c *Template) { c.Graph.Chunks = 1 }},
		"a chunk":      {"with chunks", func(c *Template) { c.Graph.Tensors[5].Chunk = 1 }},
		"counts":       {"with chunks", func(c *Template) { c.Graph.Mults = []Mult{{}} }},
		"sizes":        {"with chunks", func(c *Template) { c.Graph.Instance.Sizes = []int{1} }},
		"a bad table":  {"bits out of range", func(c *Template) { c.Graph.Tables[0].Bits = -5 }},
		"a bad shape":  {"out of range", func(c *Template) { c.Graph.Steps[0].Shape[1] = -3 }},
		"a far result": {"not a witness", func(c *Template) { c.Graph.Steps[0].Out = 1000 }},
		"a far table":  {"does not exist", func(c *Template) { c.Graph.Steps[0].Table = -7 }},
	} {
		t.Run(name, func(t *testing.T) {
			b := batched()
			c.change(b)
			if err := b.Validate(); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want an error about %q", err, c.why)
			}
		})
	}
}

// TestCanonicalChunks: the size of a chunk follows from the circuit alone.
func TestCanonicalChunks(t *testing.T) {
	for _, c := range []struct {
		steps, entries int // of each step
		explicit       int
		chunks         int
	}{
		{1, 1, 0, 1},
		{4, minChunk / 4, 0, 1},
		{5, minChunk / 4, 0, 2},
		{64, minChunk, 0, 64},
		{65, minChunk, 0, 33},                  // of twice the size
		{100, minChunk - 1, 0, 50},             // likewise
		{3, 8 * minChunk, 0, 3},                // a step is not cut
		{64 * 32 * 4, minChunk / 4, 0, 64},     // 2^33 entries: of the largest size
		{65 * 32, minChunk, 0, 65},             // never above that
		{10, 10, 25, 5},                        // as told
		{maxChunks + 1, minChunk, minChunk, 0}, // too many
	} {
		g := &Graph{}
		for range c.steps {
			g.Tensors = append(g.Tensors, Tensor{Shape: []int{c.entries}, Kind: Witness})
			g.Steps = append(g.Steps, Step{Kind: StepExact, Shape: []int{c.entries}, Lo: None, Out: TensorID(len(g.Tensors) - 1)})
		}
		err := g.Finish(c.explicit)
		if c.chunks == 0 {
			if err == nil {
				t.Errorf("%+v: accepted", c)
			}
			continue
		}
		if err != nil || g.Chunks != c.chunks {
			t.Errorf("%+v: %d chunks, %v", c, g.Chunks, err)
		}
		for i := range g.Steps {
			if g.Steps[i].Chunk != g.Tensors[i].Chunk || i > 0 && g.Steps[i].Chunk < g.Steps[i-1].Chunk || g.Steps[i].Chunk >= g.Chunks {
				t.Fatalf("%+v: step %d in chunk %d, its result in %d", c, i, g.Steps[i].Chunk, g.Tensors[i].Chunk)
			}
		}
	}
}
