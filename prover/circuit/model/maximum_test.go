package model

import (
	"slices"
	"testing"
)

// greatest is a graph of tensors x of shape [2, 3], m = the greatest of its rows, and z:
// steps are 0 maximum, 1 the entries, 2 the range, of two limbs if it has 15 bits or more.
func greatest(bits, rangeBits int) *Graph {
	g := &Graph{
		Tensors: []Tensor{input(2, 3), {Shape: []int{2}, Kind: Witness, Max: 1}, {Shape: []int{2, 3}, Kind: Witness, Max: 1}},
		Inputs:  []TensorID{0}, Outputs: []TensorID{1},
		Tables: []Table{TopTable("", bits)},
	}
	s := Step{Kind: StepMax, Shape: []int{2}, Lo: None, Table: None, Out: 1, Den: 0}
	m := g.Maximum(&s, 2)
	g.Steps = []Step{s, {Shape: []int{2, 3}, Acc: m.Below, Lo: None, Table: 0, Out: 2, Den: None}}
	g.inRange([]int{2}, m.Found, rangeBits)
	g.Finish(0)
	return g
}

// TestMaximumIsConstrained: a key cannot hold a maximum without the steps that force it,
// nor with weaker ones.
func TestMaximumIsConstrained(t *testing.T) {
	usual := func() *Graph { return greatest(9, 4) }
	below := func(g *Graph) []Linear { return g.Steps[1].Acc.Linear }
	for name, c := range map[string]struct {
		graph  func() *Graph
		change func(g *Graph)
		why    string
	}{
		"usual":     {usual, func(*Graph) {}, ""},
		"two limbs": {func() *Graph { return greatest(20, 16) }, func(*Graph) {}, ""},
		"least":     {func() *Graph { return greatest(1, 2) }, func(*Graph) {}, ""},

		"nothing": {usual, func(g *Graph) { g.Steps = g.Steps[:1]; g.Tables, g.Mults, g.Tensors = nil, nil, g.Tensors[:2] }, "no look-ups"},
		"no entries": {usual, func(g *Graph) {
			g.Steps, g.Tensors, g.Mults = slices.Delete(g.Steps, 1, 2), g.Tensors[:2], nil
			g.Steps[1].Acc.Linear = nil
		}, "no look-ups"},
		"no range":          {usual, func(g *Graph) { g.Steps = g.Steps[:2] }, "no look-ups"},
		"another order":     {usual, func(g *Graph) { g.Steps[1], g.Steps[2] = g.Steps[2], g.Steps[1] }, "no step before"},
		"an equation":       {usual, func(g *Graph) { g.Steps[1].Kind, g.Steps[1].Table = StepExact, None }, "no look-ups"},
		"of another row":    {usual, func(g *Graph) { below(g)[1].View.Groups[0].Strides, below(g)[1].View.Groups[0].Base = []int{-1}, 1 }, "held against"},
		"twice the maximum": {usual, func(g *Graph) { below(g)[1].Coef = -2 }, "held against"},
		"twice the entries": {usual, func(g *Graph) { below(g)[0].Coef = 2 }, "held against"},
		"one above":         {usual, func(g *Graph) { g.Steps[1].Acc.Const = 1 }, "held against"},
		"some entries": {usual, func(g *Graph) {
			below(g)[0].View = &View{Groups: []Group{{Out: []int{0}, In: []int{0}, Strides: []int{1}}, {Out: []int{1}, In: []int{1}, Strides: []int{0}}}}
		}, "held against"},
		"a key above":        {usual, func(g *Graph) { g.Tables[0].Min++ }, "table"},
		"a one below":        {usual, func(g *Graph) { g.Tables[0].Pieces[0].End-- }, "table"},
		"ones":               {usual, func(g *Graph) { g.Tables[0].Pieces = []Piece{{End: 1 << 9, Offset: 1}} }, "table"},
		"two":                {usual, func(g *Graph) { g.Tables[0].Pieces[1].Offset = 2 }, "table"},
		"a slope":            {usual, func(g *Graph) { g.Tables[0].Pieces[0].Slope = 1 }, "table"},
		"none found":         {usual, func(g *Graph) { g.Steps[2].Acc.Const = 0 }, "entry of its row"},
		"found elsewhere":    {usual, func(g *Graph) { g.Steps[2].Acc.Linear[0].View.Groups[0].Strides = []int{0} }, "entry of its row"},
		"some found":         {usual, func(g *Graph) { g.Steps[2].Acc.Linear[0].View.Groups[1].Sum[0].Dim = 2 }, "entry of its row"},
		"found twice":        {usual, func(g *Graph) { g.Steps[2].Acc.Linear[0].Coef = 2 }, "entry of its row"},
		"a range from -1":    {usual, func(g *Graph) { g.Tables[1].Min = -1 }, "entry of its row"},
		"a limb without end": {func() *Graph { return greatest(9, 16) }, func(g *Graph) { g.Steps = g.Steps[:3] }, "entry of its row"},
		"an accumulator":     {usual, func(g *Graph) { g.Steps[0].Acc.Const = 1 }, "accumulator"},
		"no output":          {usual, func(g *Graph) { g.Steps[0].Out = None }, "output"},
		"no operand":         {usual, func(g *Graph) { g.Steps[0].Den = None }, "operand"},
		"a remainder":        {usual, func(g *Graph) { g.Steps[0].Lo = 2 }, "remainder"},
		"along another axis": {usual, func(g *Graph) { g.Tensors[0].Shape = []int{3, 2} }, "differ"},
		"a scalar":           {usual, func(g *Graph) { g.Tensors[0].Shape, g.Tensors[1].Shape, g.Steps[0].Shape = nil, nil, nil }, "along the last axis"},
		"of its own": {usual, func(g *Graph) {
			g.Tensors = append(g.Tensors[:3:3], virtual([]Linear{{Coef: 1, Src: 1, View: below(g)[1].View}}, 2, 3))
			g.Steps[0].Den, below(g)[0].Src, g.Mults = 3, 3, nil
		}, "no step before"},
	} {
		t.Run(name, func(t *testing.T) {
			g := c.graph()
			c.change(g)
			validates(t, g, c.why)
		})
	}
}
