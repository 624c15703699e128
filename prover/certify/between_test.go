package certify

import (
	"bytes"
	"errors"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// between is a template whose accumulator is within bounds at the sizes 1 and 4 to 8 of its free
// dimension, and 2^35, far beyond p, at 2 and 3: two terms take away what is there, one of which is
// wired at the size 1 alone, and the other from 4 on.
func between() *model.Template {
	const most = 1 << 10
	window := func(base int, scale model.Scale) *model.View {
		return &model.View{Groups: []model.Group{{Out: []int{0}, In: []int{0}, Base: base, BaseScale: scale, Strides: []int{1}}}}
	}
	return &model.Template{
		Free: []model.FreeDim{{Name: "n", Bound: 8}},
		Graph: &model.Graph{
			Tensors: []model.Tensor{
				{Name: "here", Kind: model.Input, Shape: []int{2}, Min: most, Max: most},
				{Name: "at one", Kind: model.Input, Shape: []int{10}, Min: most, Max: most},
				{Name: "from four on", Kind: model.Input, Shape: []int{1}, Scales: []model.Scale{1}, Min: most, Max: most},
				{Name: "y", Kind: model.Witness, Shape: []int{2}, Min: -most, Max: most},
			},
			Steps: []model.Step{{Kind: model.StepExact, Name: "sum", Shape: []int{2}, Lo: model.None, Table: model.None, Out: 3, Den: model.None,
				Acc: model.Acc{Linear: []model.Linear{
					{Coef: 1 << 25, Src: 0}, {Coef: -1 << 25, Src: 1, View: window(5, 1)}, {Coef: -1 << 25, Src: 2, View: window(2, 0)},
				}}}},
			Inputs: []model.TensorID{0, 1, 2}, Outputs: []model.TensorID{3},
		},
	}
}

// A certificate that is made where bounds follow at the least and the greatest size says nothing of
// those between: the bounds of a proof are checked at its own sizes.
func TestBoundsBetweenSizes(t *testing.T) {
	of := commit(t, between(), nil, quick)
	file, err := of.certify()
	if err != nil {
		t.Fatal(err)
	}
	said, err := Verify(of.key, bytes.NewReader(file), anyBits)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 8; n++ {
		g, err := of.key.Circuit.At(model.Instance{Sizes: []int{n}})
		if err != nil {
			t.Fatal(err)
		}
		err = said.Check(g)
		if wraps := n == 2 || n == 3; wraps != errors.Is(err, ErrNotShown) || !wraps && err != nil {
			t.Errorf("size %d: %v", n, err)
		}
	}
}
