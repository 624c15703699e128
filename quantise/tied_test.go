package quantise

import (
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// An output layer that is tied to the embeddings is one fixed tensor with them where both
// are rounded alike, and two where they are not.
func TestTied(t *testing.T) {
	m, err := hf.Open("../hf/testdata/qwen2")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const positions = 2 // of logits, so that no norm is folded into the layer
	g, err := m.Graph(longest, positions)
	if err != nil {
		t.Fatal(err)
	}
	in := [][]float64{{1, 5, 9, 2, 40, 7, 33, 8, 21}, {3, 8}}
	values, err := g.RunFloat(in)
	if err != nil {
		t.Fatal(err)
	}
	shared := map[bool]int{}
	for weights := 12; weights <= 16; weights++ {
		formats := Formats{}
		for _, n := range g.Nodes {
			formats[n.Output] = Format{Bits: 18} // in limbs, so that there is room for weights
			if _, ok := n.Op.(graph.Gemm); ok {
				formats[n.Output] = Format{Bits: 18, Weights: weights}
			} else if g.Consts[n.Inputs[0]] != nil {
				formats[n.Output] = Format{Bits: 14} // the embeddings
			}
		}
		q, err := Quantise(g, Ranges(values), Options{Length: longest, Formats: formats})
		if err != nil {
			t.Fatal(err)
		}
		var tables []model.TensorID
		for i := range q.Graph.Tensors {
			if x := &q.Graph.Tensors[i]; x.Kind == model.Fixed && len(x.Shape) == 2 && x.Shape[0] == m.Vocabulary {
				tables = append(tables, model.TensorID(i))
			}
		}
		taken, multiplied := uses(q.Graph, tables[0])
		switch {
		case len(tables) == 1 && taken && multiplied:
		case len(tables) == 2 && taken && !multiplied && q.Graph.Tensors[tables[0]].Frac != q.Graph.Tensors[tables[1]].Frac:
		default:
			t.Fatalf("weights of %d bits: %d tensors; the first is read by tokens: %t, multiplied: %t", weights, len(tables), taken, multiplied)
		}
		shared[len(tables) == 1]++
		sized, err := q.At(model.Instance{Sizes: []int{longest}})
		if err != nil {
			t.Fatal(err)
		}
		ints, _, err := sized.QuantiseInput(in)
		if err != nil {
			t.Fatal(err)
		}
		w, err := forward.Run(t.Context(), sized.Graph, sized.Weights, ints)
		if err == nil {
			err = w.Check()
		}
		if err != nil {
			t.Fatal(err)
		}
		if a := Compare(sized.Outputs(w)[0], values[g.Outputs[0]]); a.Relative > 0.01 {
			t.Errorf("weights of %d bits: error %.3f %% of the range", weights, 100*a.Relative)
		}
	}
	if shared[true] == 0 || shared[false] == 0 {
		t.Errorf("one tensor %d times, two %d times", shared[true], shared[false])
	}
}

// uses reports whether ids that are public pick rows of a tensor, and whether it is a
// factor.
func uses(g *model.Graph, id model.TensorID) (taken, multiplied bool) {
	for i := range g.Tensors {
		for _, l := range g.Tensors[i].Def {
			taken = taken || l.Src == id
		}
	}
	for i := range g.Steps {
		for _, p := range g.Steps[i].Acc.Products {
			multiplied = multiplied || p.A == id || p.B == id
		}
	}
	return taken, multiplied
}
