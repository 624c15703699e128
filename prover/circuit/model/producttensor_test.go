package model

import (
	"slices"
	"strings"
	"testing"
)

// tripled is y[t, j] = Σ_{e,k} by[t, e]·x[t, k]·w[e, j, k], by way of z[t, e, k] = by·x, for 2 rows, 3 choices, j < 5 and k < 4.
func tripled() *Graph {
	return &Graph{
		Tensors: []Tensor{
			{Name: "by", Shape: []int{2, 3}, Kind: Input, Max: 1}, {Name: "x", Shape: []int{2, 4}, Kind: Input, Max: 9},
			{Name: "w", Shape: []int{3, 5, 4}, Kind: Fixed, Min: -5, Max: 5},
			{Name: "z", Shape: []int{2, 3, 4}, Kind: Virtual, Max: 9, Product: &Product{Coef: 1, A: 0, B: 1, LabelsA: []int{0, 1}, LabelsB: []int{0, 2}}},
			{Name: "y", Shape: []int{2, 5}, Kind: Witness, Min: -180, Max: 180},
		},
		Steps: []Step{{Kind: StepExact, Shape: []int{2, 5}, Out: 4, Lo: None, Table: None, Den: None, Acc: Acc{Products: []Product{
			{Coef: 1, A: 3, B: 2, LabelsA: []int{0, 2, 3}, LabelsB: []int{2, 1, 3}}}}}},
		Inputs: []TensorID{0, 1}, Outputs: []TensorID{4}, Chunks: 1,
	}
}

// A product that defines a tensor is one of two tensors that are none, all axes of which are the tensor's; and such a tensor is an
// operand of a step's product with one that is none, and nothing else. So nothing has a degree above 3.
func TestProductTensors(t *testing.T) {
	if err := tripled().Validate(); err != nil {
		t.Fatal(err)
	}
	view := func(id TensorID, shape ...int) Tensor {
		return Tensor{Shape: shape, Kind: Virtual, Max: 9, Def: []Linear{{Coef: 1, Src: id}}}
	}
	for name, c := range map[string]struct {
		why   string
		alter func(g *Graph)
	}{
		"an operand behind it":      {"looks ahead", func(g *Graph) { g.Tensors[3].Product.A = 4 }},
		"itself":                    {"looks ahead", func(g *Graph) { g.Tensors[3].Product.B = 3 }},
		"a factor":                  {"the factor 2", func(g *Graph) { g.Tensors[3].Product.Coef = 2 }},
		"a label of two dimensions": {"has dimensions", func(g *Graph) { g.Tensors[3].Product.LabelsB = []int{0, 1} }},
		"a sum": {"the axes of the operands", func(g *Graph) {
			g.Tensors[3].Shape, g.Tensors[3].Product.LabelsA, g.Tensors[3].Product.LabelsB = []int{3, 4}, []int{2, 0}, []int{2, 1}
		}},
		"an axis of neither":  {"the axes of the operands", func(g *Graph) { g.Tensors[3].Shape = []int{2, 3, 4, 2} }},
		"a sum beside it":     {"a sum or a product", func(g *Graph) { g.Tensors[3].Def = []Linear{{Coef: 1, Src: 2}} }},
		"one of another kind": {"a sum or a product", func(g *Graph) { g.Tensors[1].Product = g.Tensors[3].Product }},
		"one without entries": {"says what they are", func(g *Graph) {
			g.Tensors = append(g.Tensors, Tensor{Kind: Empty, Shape: []int{0}, Product: g.Tensors[3].Product})
		}},
		"an operand that there is not": {"does not exist", func(g *Graph) { g.Tensors[3].Product.A = -1 }},
		"a view of it":                 {"is a product", func(g *Graph) { g.Tensors = append(g.Tensors, view(3, 2, 3, 4)) }},
		"a summand of a step": {"is a product", func(g *Graph) {
			g.Steps[0].Shape, g.Steps[0].Acc = []int{2, 3, 4}, Acc{Linear: []Linear{{Coef: 1, Src: 3}}}
		}},
		"a product of it that is a tensor": {"an operand of a step's product", func(g *Graph) {
			g.Tensors = append(g.Tensors, Tensor{Shape: []int{2, 3, 4}, Kind: Virtual, Max: 9, Product: &Product{Coef: 1, A: 0, B: 3, LabelsA: []int{0, 1}, LabelsB: []int{0, 1, 2}}})
		}},
		"a product of two of them": {"an operand of a step's product", func(g *Graph) {
			g.Steps[0].Acc.Products[0] = Product{Coef: 1, A: 3, B: 3, LabelsA: []int{0, 2, 3}, LabelsB: []int{0, 2, 3}}
		}},
		"an output": {"is a product", func(g *Graph) { g.Outputs = []TensorID{3} }},
		"what a maximum is of": {"a product", func(g *Graph) {
			g.Steps[0] = Step{Kind: StepMax, Shape: []int{2, 3}, Den: 3, Out: 4, Lo: None, Table: None}
			g.Tensors[4].Shape = []int{2, 3}
		}},
		"a divisor": {"a product", func(g *Graph) {
			g.Tensors = append(g.Tensors, Tensor{Shape: []int{2, 3, 4}, Kind: Witness, Max: 9}, Tensor{Shape: []int{2, 3, 4}, Kind: Witness, Max: 9})
			g.Steps = append(g.Steps, Step{Kind: StepDivide, Shape: []int{2, 3, 4}, Den: 3, Out: 5, Lo: 6, Table: None, Acc: Acc{Const: 5}})
		}},
		"one of a result that comes later": {"made by no step before it", func(g *Graph) {
			g.Tensors = slices.Insert(g.Tensors, 3, Tensor{Shape: []int{2, 4}, Kind: Witness, Max: 9})
			g.Tensors[4].Product.B = 3
			g.Steps[0].Out, g.Steps[0].Acc.Products[0].A, g.Outputs = 5, 4, []TensorID{5}
			g.Steps = append(g.Steps, Step{Kind: StepExact, Shape: []int{2, 4}, Out: 3, Lo: None, Table: None, Den: None, Acc: Acc{Linear: []Linear{{Coef: 1, Src: 1}}}})
		}},
	} {
		g := tripled()
		c.alter(g)
		if err := g.Validate(); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A run computes the terms of one choice.
func TestTerms(t *testing.T) {
	g := tripled()
	if n := g.Terms(&g.Steps[0].Acc.Products[0], g.Steps[0].Shape); n != 4 {
		t.Errorf("%d terms of a sum of 4 that are chosen", n)
	}
	p := Product{Coef: 1, A: 0, B: 2, LabelsA: []int{0, 1}, LabelsB: []int{1, 2, 3}}
	if n := g.Terms(&p, []int{2}); n != 3 {
		t.Errorf("%d terms of a sum over 3", n)
	}
}
