package quantise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// TestMatrixFormula: what is found is what the matrix is, entry by entry; and every
// formula that leaves both kinds of entries is found.
func TestMatrixFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := []int{rapid.IntRange(2, 7).Draw(t, "rows"), rapid.IntRange(2, 7).Draw(t, "columns")}
		f := model.Formula{Kind: model.FormulaKind(rapid.IntRange(0, 2).Draw(t, "kind")), Offset: int64(rapid.IntRange(-8, 8).Draw(t, "offset"))}
		v := ints.All(f.Values(shape))
		mixed := slices.Contains(v, 0) && slices.Contains(v, 1)
		if rapid.Bool().Draw(t, "altered") {
			mixed = false
			v[rapid.IntRange(0, len(v)-1).Draw(t, "entry")] ^= 1
		}
		got := matrixFormula(shape[0], shape[1], func(at int) bool { return v[at] != 0 })
		if got == nil {
			if mixed {
				t.Fatalf("%+v of %v is not found", f, shape)
			}
			return
		}
		if !slices.Equal(ints.All(got.Values(shape)), v) {
			t.Fatalf("%v is taken for %+v", v, *got)
		}
	})
}

// Masks, positions and identities are not committed to, and are what they were.
func TestFormulas(t *testing.T) {
	const rows = 5
	causal := func(n network, low float64) graph.Value {
		return n.constant([]int{rows, rows}, func(i int) float64 {
			if i%rows > i/rows {
				return low
			}
			return 0
		})
	}
	for name, c := range map[string]struct {
		build func(n network) graph.Value
		kind  model.FormulaKind
	}{
		"an added mask": {func(n network) graph.Value {
			return n.Softmax(n.Add(n.in[0], causal(n, math.Inf(-1))), 2)
		}, model.AtLeast},
		"a mask for two of each": {func(n network) graph.Value {
			mask := n.constant([]int{2, rows, rows}, func(i int) float64 {
				if i%rows > i/rows%rows {
					return -1e30
				}
				return 0
			})
			return n.Softmax(n.Add(n.in[0], mask), 2)
		}, model.AtLeast},
		"a small bias of a triangle": {func(n network) graph.Value { return n.Add(n.in[0], causal(n, -0.5)) }, model.AtMost},
		"an identity": {func(n network) graph.Value {
			return n.Add(n.in[0], n.constant([]int{rows, rows}, func(i int) float64 {
				if i%rows == i/rows {
					return 1
				}
				return 0
			}))
		}, model.Equal},
		"positions": {func(n network) graph.Value {
			return n.Add(n.Reshape(n.in[0], []int{2, rows * rows}), n.constant([]int{rows * rows}, func(i int) float64 { return float64(i) }))
		}, model.Progression},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork([]int{2, rows, rows})
			g := n.graph(t, c.build(n))
			rng := rand.New(rand.NewPCG(1, 2))
			x := make([]float64, 2*rows*rows)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			m, _, got, want := run(t, g, [][]float64{x}, Options{})
			found := false
			for i := range m.Graph.Tensors {
				tensor := &m.Graph.Tensors[i]
				found = found || tensor.Kind == model.ByFormula && tensor.Formula.Kind == c.kind
				if tensor.Kind == model.Fixed && len(tensor.Shape) > 0 && model.Size(tensor.Shape)%rows == 0 {
					t.Errorf("%q is committed to", tensor.Name)
				}
			}
			if !found {
				t.Error("no formula of the kind")
			}
			if a := Compare(got[0], want[0]); a.Relative > 0.001 {
				t.Errorf("error %.4f %% of the range", 100*a.Relative)
			}
		})
	}
}
