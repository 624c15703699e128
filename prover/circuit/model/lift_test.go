package model

import (
	"reflect"
	"strings"
	"testing"
)

// build is the template's circuit of these sizes, without layout.
func build(c *Template, sizes ...int) Build { return Build{sizes, c.graph(nil, sizes)} }

func TestLift(t *testing.T) {
	c := batched()
	builds := []Build{build(c, 2, 2), build(c, 3, 2), build(c, 2, 3)}
	got, err := Lift(c.Free, builds...)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, c) {
		t.Errorf("got %+v, want %+v", got.Graph, c.Graph)
	}
	if !reflect.DeepEqual(builds[1], build(c, 3, 2)) {
		t.Error("a build has changed")
	}
	if _, err := Lift(c.Free, builds[0]); err == nil {
		t.Error("lifted one build")
	}
	if _, err := Lift(c.Free[:1], builds...); err == nil {
		t.Error("lifted with too few free dimensions")
	}
}

// TestLiftRefuses changes the second build in all but what may scale.
func TestLiftRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		why    string
		change func(g *Graph)
	}{
		"a tensor more":   {"8 and 1", func(g *Graph) { g.Tensors = append(g.Tensors, Tensor{}) }},
		"a step less":     {"0 for", func(g *Graph) { g.Steps = nil }},
		"an odd axis":     {"tensor 0", func(g *Graph) { g.Tensors[0].Shape[0]++ }},
		"a square":        {"tensor 3", func(g *Graph) { g.Tensors[3].Def[0].View.Groups[0].Sum[0].Dim = 9 }},
		"a rank":          {"tensor 1", func(g *Graph) { g.Tensors[1].Shape = []int{6} }},
		"a range":         {"tensor 5", func(g *Graph) { g.Tensors[5].Max = 2 }},
		"a coefficient":   {"tensor 4", func(g *Graph) { g.Tensors[4].Def[0].Coef = 3 }},
		"a stride":        {"tensor 3", func(g *Graph) { g.Tensors[3].Def[0].View.Groups[0].Sum[0].Stride = 2 }},
		"no view":         {"tensor 3", func(g *Graph) { g.Tensors[3].Def[0].View = nil }},
		"a group less":    {"tensor 4", func(g *Graph) { v := g.Tensors[4].Def[0].View; v.Groups = v.Groups[:1] }},
		"no sum":          {"tensor 3", func(g *Graph) { g.Tensors[3].Def[0].View.Groups[0].Sum = nil }},
		"no definition":   {"tensor 4", func(g *Graph) { g.Tensors[4].Def = nil }},
		"a constant":      {"step 0", func(g *Graph) { g.Steps[0].Acc.Const = 1 }},
		"a table":         {"the list", func(g *Graph) { g.Tables[0].Bits = 2 }},
		"another output":  {"the list", func(g *Graph) { g.Outputs[0] = 4 }},
		"a fixed tensor":  {"fixed tensor that scales", func(g *Graph) { g.Tensors[6].Shape[0] = 9 }},
		"a fixed content": {"tensor 6", func(g *Graph) { g.Tensors[6].Frac = 9 }},
	} {
		t.Run(name, func(t *testing.T) {
			first, second, third := build(batched(), 2, 2), build(batched(), 3, 2), build(batched(), 2, 3)
			if name == "a fixed tensor" {
				first.Graph.Tensors[6].Shape[0], third.Graph.Tensors[6].Shape[0] = 6, 6
			}
			c.change(second.Graph)
			if _, err := Lift(batched().Free, first, second, third); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want an error about %q", err, c.why)
			}
		})
	}
}
