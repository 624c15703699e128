package model

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// attention is a template of texts in which each token sums the values of all, of a table of positions and a mask.
func attention() *Template {
	rows, square := []Scale{textScale, 0}, []Scale{textScale, textScale}
	affine := func(out, in []int, strides ...int) Group { return Group{Out: out, In: in, Strides: strides} }
	g := &Graph{
		Tensors: []Tensor{
			{Name: "x", Shape: []int{1, 2}, Scales: rows, Kind: Input, Min: -8, Max: 7},
			{Name: "positions", Shape: []int{16, 2}, Kind: Fixed, Min: -8, Max: 7},
			{Name: "mask", Shape: []int{1, 1}, Scales: square, Kind: ByFormula, Max: 1, Formula: &Formula{Kind: AtLeast}},
			{Name: "value", Shape: []int{1, 2}, Scales: rows, Kind: Witness, Min: -16, Max: 15},
			{Name: "turned", Shape: []int{2, 1}, Scales: []Scale{0, textScale}, Kind: Virtual, Min: -16, Max: 15,
				Def: []Linear{{Coef: 1, Src: 3, View: &View{Groups: []Group{affine([]int{0}, []int{1}, 1), affine([]int{1}, []int{0}, 1)}}}}},
			{Name: "y", Shape: []int{1, 2}, Scales: rows, Kind: Witness, Min: -1 << 20, Max: 1 << 20},
		},
		Steps: []Step{
			{Kind: StepExact, Shape: []int{1, 2}, Scales: rows, Out: 3, Lo: None, Table: None, Den: None, Acc: Acc{Linear: []Linear{
				{Coef: 1, Src: 0}, {Coef: 1, Src: 1, View: &View{Groups: []Group{affine([]int{0}, []int{0}, 1), affine([]int{1}, []int{1}, 1)}}},
			}}},
			{Kind: StepExact, Shape: []int{1, 2}, Scales: rows, Out: 5, Lo: None, Table: None, Den: None,
				Acc: Acc{Products: []Product{{Coef: 1, A: 2, B: 4, LabelsA: []int{0, 2}, LabelsB: []int{1, 2}}}}},
		},
		Inputs: []TensorID{0}, Outputs: []TensorID{5},
	}
	return &Template{Free: []FreeDim{{Name: "tokens", Bound: 16}}, Graph: g}
}

func segmentAt(own int, past ...int) Instance {
	in := Instance{Sizes: []int{own}, Segment: &Segment{}}
	for _, n := range past {
		in.Segment.Past = append(in.Segment.Past, Past{Tokens: n, RowVars: 1})
	}
	return in
}

// A segment's circuit begins at its first position, and has the values of those before it under trees of their own.
func TestSegment(t *testing.T) {
	g, err := attention().At(segmentAt(2, 3, 4))
	if err != nil {
		t.Fatal(err)
	}
	if m := g.Tensors[2]; !slices.Equal(m.Shape, []int{2, 9}) || m.Formula.Offset != -7 {
		t.Errorf("the mask %v begins at %d", m.Shape, m.Formula.Offset)
	}
	if base := g.Steps[0].Acc.Linear[1].View.Groups[0].Base; base != 7 {
		t.Errorf("positions begin at %d", base)
	}
	if len(g.Apart) != 3 || g.OwnTree() != 2 || !slices.Equal(g.Apart[2].Tensors, []TensorID{3}) || len(g.Unmade()) != 2 {
		t.Errorf("trees %v", g.Apart)
	}
	if of := g.Steps[1].Acc.Products[0].B; !slices.Equal(g.Tensors[of].Shape, []int{2, 9}) {
		t.Errorf("a token reads %v", g.Tensors[of].Shape)
	}
	first, err := attention().At(segmentAt(5))
	if err != nil || len(first.Apart) != 1 || len(first.Unmade()) != 0 {
		t.Errorf("the first segment: %v", err)
	}
}

// Circuits in which a token does not read others by their positions alone have no segments, and neither have texts that are too long. What
// is no valid template is refused as that.
func TestSegmentRefuses(t *testing.T) {
	value := func(c *Template) *Group { return &c.Graph.Tensors[4].Def[0].View.Groups[1] }
	for name, x := range map[string]struct {
		in     Instance
		change func(c *Template)
		want   string
	}{
		"too long":         {segmentAt(4, 10, 3), nil, "17 tokens or more, with those before, are over the 16"},
		"no tokens before": {segmentAt(4, 0), nil, "a segment of 0 tokens"},
		"too many":         {segmentAt(1, make([]int, MaxPast+1)...), nil, "over 255"},
		"moved":            {segmentAt(4, 1), func(c *Template) { value(c).Base = -1 }, errMoved.Error()},
		"two axes of an input": {segmentAt(4, 1), func(c *Template) {
			c.Graph.Tensors[0].Scales = []Scale{textScale, textScale}
			c.Graph.Tensors[0].Shape = []int{1, 1}
		}, ""},
		"nothing of others": {segmentAt(4, 1), func(c *Template) { c.Graph.Steps[1].Acc = Acc{Linear: []Linear{{Coef: 1, Src: 3}}} }, "no tensor of one token is read by others"},
		"a product of two rows": {segmentAt(4, 1), func(c *Template) {
			c.Graph.Tensors[2].Shape, c.Graph.Tensors[2].Scales = []int{1, 2}, []Scale{textScale, 0}
		}, ""},
		"several texts":     {Instance{Sizes: []int{4}, Texts: 2, Segment: &Segment{}}, nil, "several texts"},
		"no labels":         {segmentAt(4, 1), func(c *Template) { c.Graph.Steps[1].Acc.Products[0].LabelsA = nil }, ""},
		"no strides":        {segmentAt(4, 1), func(c *Template) { value(c).Strides = nil }, ""},
		"axes that are not": {segmentAt(4, 1), func(c *Template) { value(c).In = []int{7} }, ""},
		"of itself":         {segmentAt(4, 1), func(c *Template) { c.Graph.Tensors[4].Def[0].Src = 4 }, ""},
		"a formula's axes":  {segmentAt(4, 1), func(c *Template) { c.Graph.Tensors[2].Shape, c.Graph.Tensors[2].Scales = []int{1}, []Scale{textScale} }, ""},
	} {
		c := attention()
		if x.change != nil {
			x.change(c)
		}
		if _, err := c.At(x.in); err == nil || !strings.Contains(err.Error(), x.want) || x.want != "" && !errors.Is(err, ErrSegment) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The circuit of the most segments takes a moment.
func TestManySegments(t *testing.T) {
	c := attention()
	c.Free[0].Bound = 1 << 10
	c.Graph.Tensors[1].Shape = []int{1 << 10, 2}
	past := slices.Repeat([]int{2}, MaxPast)
	began := time.Now()
	if _, err := c.At(segmentAt(2, past...)); err != nil || time.Since(began) > 2*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
