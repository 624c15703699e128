package bounds_test

import (
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// manyPieces is a circuit of few bytes whose bounds take long: accumulators of many clamped values, of which each is
// taken piece by piece together with all others.
func manyPieces(clamps, pieces, steps int) *model.Graph {
	const bits = 16
	g := &model.Graph{Tensors: []model.Tensor{{Name: "x", Shape: []int{1}, Min: -100, Max: 100}}, Inputs: []model.TensorID{0}}
	table := model.Table{Name: "clamp", Kind: model.TablePiecewise, Bits: bits, Min: -1 << (bits - 1), Values: model.None}
	for i := 1; i <= pieces; i++ {
		table.Pieces = append(table.Pieces, model.Piece{End: int64(i) << bits / int64(pieces), Slope: int64(i)})
	}
	g.Tables = append(g.Tables, table)
	var all []model.Linear
	add := func() model.TensorID {
		g.Tensors = append(g.Tensors, model.Tensor{Shape: []int{1}, Kind: model.Witness, Min: -1 << 29, Max: 1 << 29})
		return model.TensorID(len(g.Tensors) - 1)
	}
	for range clamps {
		out := add()
		g.Steps = append(g.Steps, model.Step{Kind: model.StepLookup, Shape: []int{1}, Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: 0}}},
			Lo: model.None, Table: 0, Out: out, Den: model.None})
		all = append(all, model.Linear{Coef: 1, Src: out})
	}
	for range steps {
		g.Steps = append(g.Steps, model.Step{Kind: model.StepExact, Name: "all", Shape: []int{1}, Acc: model.Acc{Linear: all},
			Lo: model.None, Table: model.TableID(model.None), Out: add(), Den: model.None})
	}
	g.Finish(0)
	return g
}

// Bounds that would take minutes are given up, with an error that says so.
func TestWorkIsBounded(t *testing.T) {
	if _, err := bounds.Intervals(manyPieces(20, 8, 1), &bounds.Certified{}); err != nil && strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
	_, err := bounds.Intervals(manyPieces(2000, 64, 20), &bounds.Certified{})
	if err == nil || !strings.Contains(err.Error(), "too long to find") {
		t.Errorf("%v", err)
	}
}

// BenchmarkHostile is what the most that bounds may cost costs.
func BenchmarkHostile(b *testing.B) {
	g := manyPieces(2000, 64, 20)
	for b.Loop() {
		bounds.Intervals(g, &bounds.Certified{})
	}
}
