package graph

import (
	"strings"
	"testing"
)

// TestValidate breaks every promise of the normal form in turn.
func TestValidate(t *testing.T) {
	make := func() *Graph {
		b := NewBuilder("test")
		x := b.Input("x", Float, []int{1, 2}, "batch", "")
		w := b.Constant("w", &Tensor{Shape: []int{2, 2}, DType: Float, F32: []float32{1, 2, 3, 4}})
		b.At("", "n")
		y := b.MatMul(x, w)
		b.Rename(y, "m")
		b.Output("y", b.Apply(Relu, y))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	if err := make().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(g *Graph)
		want   string
	}{
		"order":          {func(g *Graph) { g.Nodes[0], g.Nodes[1] = g.Nodes[1], g.Nodes[0] }, "not defined before"},
		"name":           {func(g *Graph) { g.Nodes[1].Name = "n" }, "two nodes"},
		"defined twice":  {func(g *Graph) { g.Nodes[1].Output = "x" }, "defined twice"},
		"shape":          {func(g *Graph) { g.Shapes["m"] = []int{2} }, "gives shape"},
		"no shape":       {func(g *Graph) { delete(g.Shapes, "m") }, "shape"},
		"type":           {func(g *Graph) { g.DTypes["m"] = Int64 }, "type"},
		"unknown type":   {func(g *Graph) { g.DTypes["x"] = 99 }, "element type 99"},
		"input":          {func(g *Graph) { g.Inputs[0].Shape = []int{2, 1} }, "input"},
		"symbols":        {func(g *Graph) { g.Inputs[0].Symbols = []string{"batch"} }, "symbols"},
		"constant":       {func(g *Graph) { g.Consts["w"].F32 = g.Consts["w"].F32[1:] }, "3 elements"},
		"constant shape": {func(g *Graph) { g.Consts["w"].Shape = []int{4} }, "constant"},
		"unused":         {func(g *Graph) { g.Nodes, g.Outputs = g.Nodes[:1], []string{"x"} }, "uses"},
		"output":         {func(g *Graph) { g.Outputs[0] = "w" }, "output"},
		"no outputs":     {func(g *Graph) { g.Outputs = nil }, "no outputs"},
		"stray shape":    {func(g *Graph) { g.Shapes["z"] = []int{1} }, "shapes"},
		"operator":       {func(g *Graph) { g.Nodes[1].Op = Add }, "operands"},
		"jump":           {func(g *Graph) { g.Nodes[1].Op = Scalar{Func: Sign} }, "constants only"},
		"constant node":  {func(g *Graph) { g.Nodes[0].Inputs[0] = "w" }, "constant operands"},
		"quotient":       {func(g *Graph) { g.Nodes[0].Op = Div }, "divides by a constant"},
		"scaled weights": {func(g *Graph) { g.Nodes[0].Op = Gemm{Alpha: 2, Beta: 1} }, "has a factor"},
		"scaled nothing": {func(g *Graph) { g.Nodes[0].Op = Gemm{Alpha: 1, Beta: 2} }, "has a factor"},
	} {
		g := make()
		c.change(g)
		if err := g.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
