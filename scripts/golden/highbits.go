package main

import (
	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
)

// highBits is a circuit that is built by hand, without the quantiser. It rounds 25 numbers a to
// multiples of 2^4, as limbs: a + 2^3 = 2^10·high + 2^4·low + rest. The limb low is the result of a
// look-up in a table of high bits. So is the number bent, which is low if low is below 40, and
// otherwise 3 − 2·low.
func highBits() (_ *golden.Circuit, err error) {
	defer must.Catch(&err)
	const x, bias, high, left, low, bent, joined = 0, 1, 2, 3, 4, 5, 6
	shape := []int{5, 5}
	witness := func(name string, lo, hi int64) model.Tensor {
		return model.Tensor{Name: name, Shape: shape, Kind: model.Witness, Min: lo, Max: hi}
	}
	rows := func(name string, bits, drop int, pieces ...model.Piece) model.Table {
		return model.Table{Name: name, Kind: model.TablePiecewise, Bits: bits, Drop: drop, Pieces: pieces, Values: model.None}
	}
	lookUp := func(name string, acc model.Acc, table model.TableID, out model.TensorID) model.Step {
		return model.Step{Kind: model.StepLookup, Name: name, Shape: shape, Acc: acc, Lo: model.None, Table: table, Out: out, Den: model.None}
	}
	is := model.Acc{Linear: []model.Linear{{Coef: 1, Src: left}}}
	repeated := &model.View{Groups: []model.Group{{Out: []int{0}, Strides: []int{0}}, {Out: []int{1}, In: []int{0}, Strides: []int{1}}}}
	g := &model.Graph{
		Name: "stretched",
		Tensors: []model.Tensor{
			x:      {Name: "x", Shape: shape, Kind: model.Input, Min: -1000, Max: 1000},
			bias:   {Name: "bias", Shape: shape[1:], Kind: model.Fixed, Min: -100, Max: 100},
			high:   witness("high", -64, 63),
			left:   witness("left", 0, 1<<10-1),
			low:    witness("low", 0, 63),
			bent:   witness("bent", -123, 39),
			joined: {Name: "joined", Shape: shape, Kind: model.Virtual, Min: -1 << 12, Max: 1<<12 - 1, Def: []model.Linear{{Coef: 1 << 6, Src: high}, {Coef: 1, Src: low}}},
		},
		Tables: []model.Table{
			rows("high", 7, 0, model.Piece{End: 1 << 7, Slope: 1}),
			rows("low", 10, 4, model.Piece{End: 1 << 6, Slope: 1}),
			rows("bent", 10, 4, model.Piece{End: 40, Slope: 1}, model.Piece{End: 1 << 6, Slope: -2, Offset: 3}),
		},
		Steps: []model.Step{
			lookUp("high", model.Acc{Const: 1 << 3, Linear: []model.Linear{{Coef: 21, Src: x}, {Coef: 1, Src: bias, View: repeated}}}, 0, high),
			lookUp("low", is, 1, low),
			lookUp("bent", is, 2, bent),
		},
		Inputs: []model.TensorID{x}, Outputs: []model.TensorID{joined, bent},
	}
	g.Tables[0].Min = -1 << 6
	g.Steps[0].Shift, g.Steps[0].Lo = 10, left
	c := must.Get(circuitOf(g))
	c.Weights[bias] = ints.Of([]int32{-100, 100, 0, 7, -8})
	in := make([]int32, 25)
	for i := range in {
		in[i] = int32(i*613%2001 - 1000)
	}
	c.Inputs = [][]int32{in}
	return c, nil
}

// circuitOf is the circuit of a graph, without weights and inputs.
func circuitOf(g *model.Graph) (*golden.Circuit, error) {
	err := g.Finish(0)
	return &golden.Circuit{Template: g.Template(), Instance: g.Instance, Security: proof.DefaultSecurity, Weights: make(model.Weights, len(g.Tensors))}, err
}
