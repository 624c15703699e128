package onnx

import (
	"image"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

func TestDims(t *testing.T) {
	in := func(dims ...any) []*onnxpb.ValueInfoProto { return []*onnxpb.ValueInfoProto{testInput("x", dims...)} }
	two := func(a, b []any) []*onnxpb.ValueInfoProto {
		return []*onnxpb.ValueInfoProto{testInput("x", a...), testInput("z", b...)}
	}
	for _, c := range []struct {
		name   string
		inputs []*onnxpb.ValueInfoProto
		opts   Options
		want   [][]int  // of success
		fails  []string // in the error
	}{
		{"fixed", in(2, 3), Options{}, [][]int{{2, 3}}, nil},
		{"leading is one", in("batch", 3), Options{}, [][]int{{1, 3}}, nil},
		{"leading without name is one", in(nil, 3), Options{}, [][]int{{1, 3}}, nil},
		{"leading −1 is one", in(-1, 3), Options{}, [][]int{{1, 3}}, nil},
		{"--dim", in("batch", "n"), Options{Dims: map[string]int{"batch": 2, "n": 5}}, [][]int{{2, 5}}, nil},
		{"--dim by position", in(nil, nil), Options{Dims: map[string]int{"x[1]": 4}}, [][]int{{1, 4}}, nil},
		{"from the shape", in("batch", "n", 3), Options{InputShapes: [][]int{{2, 5, 3}}}, [][]int{{2, 5, 3}}, nil},
		{"shape without the batch", in("batch", 3), Options{InputShapes: [][]int{{3}}, InputLens: []int{3}}, [][]int{{1, 3}}, nil},
		{"from the count", in("batch", 3), Options{InputLens: []int{6}}, [][]int{{2, 3}}, nil},
		{"leading one, next from the count", in("batch", "n", 3), Options{InputLens: []int{12}}, [][]int{{1, 4, 3}}, nil},
		{"shared symbol", two([]any{"batch", 3}, []any{"n", "batch"}), Options{InputLens: []int{6}}, [][]int{{2, 3}, {1, 2}}, nil},
		{"fixed by a leading use later", two([]any{1, "n"}, []any{"n", 2}), Options{}, [][]int{{1, 1}, {1, 2}}, nil},
		{"no shape, but given", []*onnxpb.ValueInfoProto{noShape()}, Options{InputShapes: [][]int{{4, 2}}}, [][]int{{4, 2}}, nil},
		{"no shape", []*onnxpb.ValueInfoProto{noShape()}, Options{}, nil, []string{"shape", `"x"`}},
		{"all open ones are named", two([]any{"batch", "h"}, []any{1, nil}), Options{}, nil, []string{"--dim", `"h"`, `"z[1]"`}},
		{"--dim unknown", in("batch", 3), Options{Dims: map[string]int{"bath": 1}}, nil, []string{"bath", `"batch"`}},
		{"--dim zero", in("batch", 3), Options{Dims: map[string]int{"batch": 0}}, nil, []string{"batch", "at least 1"}},
		{"wrong count", in(2, 3), Options{InputLens: []int{7}}, nil, []string{`"x"`, "[2 3]", "7"}},
		{"count that does not divide", in("batch", 3), Options{InputLens: []int{7}}, nil, []string{`"x"`, "7"}},
		{"shape that contradicts", in(2, "n"), Options{InputShapes: [][]int{{3, 4}}, InputLens: []int{12}}, nil, []string{`"x"`, "[3 4]", `[2 "n"]`}},
		{"channels for a batch", in("N", 1, 8, 8), Options{InputShapes: [][]int{{1, 3, 8, 8}}, InputLens: []int{192}}, nil, []string{`"x"`, "[1 3 8 8]", `["N" 1 8 8]`}},
		{"names in order", two([]any{2}, []any{2}), Options{given: Inputs{{Name: "x", Shape: []int{2}}, {Name: "z", Shape: []int{2}}}}, [][]int{{2}, {2}}, nil},
		{"names that NumPy gave", two([]any{2}, []any{2}), Options{given: Inputs{{Name: "arr_0", numbered: true}, {Name: "arr_1", numbered: true}}}, [][]int{{2}, {2}}, nil},
		{"other names", two([]any{2}, []any{2}), Options{given: Inputs{{Name: "X"}, {Name: "z"}}}, nil, []string{`"X" is given`, `"x", "z"`}},
		{"names in another order", two([]any{2}, []any{2}), Options{given: Inputs{{Name: "z"}, {Name: "x"}}}, [][]int{{2}, {2}}, nil},
		{"shapes in another order", two([]any{"a", 3}, []any{"b", 2}), Options{given: Inputs{{Name: "z", Shape: []int{4, 2}}, {Name: "x", Shape: []int{5, 3}}}}, [][]int{{5, 3}, {4, 2}}, nil},
		{"counts in another order", two([]any{"a", 3}, []any{"b", 2}), Options{given: Inputs{{Name: "z", Values: make([]float64, 8)}, {Name: "x", Values: make([]float64, 15)}}}, [][]int{{5, 3}, {4, 2}}, nil},
		{"question marks are no names", in("?", 3, "?", "?"), Options{InputShapes: [][]int{{2, 3, 48, 192}}}, [][]int{{2, 3, 48, 192}}, nil},
		{"pictures are a batch", in("n", 3, 4, 5), Options{given: Inputs{{pictures: make([]image.Image, 3)}}}, [][]int{{3, 3, 4, 5}}, nil},
		{"rows of a table", in("n", 2), Options{given: Inputs{{table: &table{columns: []string{"a", "b"}, rows: make([][]float64, 3)}}}}, [][]int{{3, 2}}, nil},
		{"--dim too large", in("batch", 3), Options{Dims: map[string]int{"batch": 1 << 40}}, nil, []string{`"x"`, "large"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := refusal(func(in []*onnxpb.ValueInfoProto) []graph.Input { return inputValues(in, c.opts) }, c.inputs)
			if c.fails != nil {
				if err == nil {
					t.Fatalf("got %v", got)
				}
				for _, w := range c.fails {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("error does not mention %q: %v", w, err)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if !slices.Equal(got[i].Shape, c.want[i]) {
					t.Errorf("input %d: got %v, want %v", i, got[i].Shape, c.want[i])
				}
			}
		})
	}
}

// TestSymbols: the names of open axes stay with the inputs.
func TestSymbols(t *testing.T) {
	m := testModel(13, testNode("Add", []string{"x", "z"}, one("y")))
	m.Graph.Input = []*onnxpb.ValueInfoProto{testInput("x", "batch", 3), testInput("z", 1, nil)}
	g, err := Parse(marshal(t, m), Options{Dims: map[string]int{"batch": 4, "z[1]": 3}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{"batch", ""}, {"", "z[1]"}} {
		if got := g.Inputs[i].Symbols; !slices.Equal(got, want) {
			t.Errorf("input %d has symbols %q, want %q", i, got, want)
		}
	}
	if !slices.Equal(g.Shapes["y"], []int{4, 3}) {
		t.Errorf("y has shape %v", g.Shapes["y"])
	}
	m.Graph.Input = []*onnxpb.ValueInfoProto{testInput("x", 2, 3), testInput("z", 1)}
	if g, err = Parse(marshal(t, m), Options{}); err != nil || g.Inputs[0].Symbols != nil {
		t.Errorf("fixed axes: %v, %v", g, err)
	}
}

// noShape is an input that only has a type.
func noShape() *onnxpb.ValueInfoProto {
	v := testInput("x")
	v.Type.GetTensorType().Shape = nil
	return v
}
