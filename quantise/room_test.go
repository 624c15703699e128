package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"github.com/prove-model/prove-model/quantise/lower"
)

// The factors of a product of two computed values are rounded once, to what the
// accumulator has room for, however fine they could be, and before they are repeated.
func TestFactorsAreRoundedOnce(t *testing.T) {
	const rows, size, heads = 8, 64, 4
	build := func(rng *rand.Rand) (networks.Network, graph.Value) {
		n := networks.New([]int{1, rows, size})
		q := n.Transpose(n.Reshape(n.Dense(n.In[0], heads*size, rng), []int{1, rows, heads, size}), []int{0, 2, 1, 3})
		k := n.Reshape(n.Dense(n.In[0], size, rng), []int{1, 1, rows, size})
		k = n.Transpose(n.Expand(k, []int{1, heads, rows, size}), []int{0, 1, 3, 2})
		return n, n.MatMul(q, k)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	n, y := build(rng)
	g := n.WithOutput(t, y)
	in := networks.Normal(rows*size, rng)
	fine := Formats{}
	for _, node := range g.Nodes {
		fine[node.Output] = Format{Bits: 15}
	}
	for _, opts := range []Options{{}, {Formats: fine}} {
		m, w, got, want := run(t, g, [][]float64{in}, opts)
		a := Compare(got[0], want[0])
		t.Logf("error %.4f %% of the range", 100*a.Relative)
		if a.Relative > 0.003 {
			t.Errorf("error %.4f %% of the range", 100*a.Relative)
		}
		if s := m.Saturation(w); len(s) != 0 {
			t.Errorf("saturates: %v", s)
		}
		// Three at most: the value, and its remainder in one or two.
		entries := 0
		for i := range m.Graph.Steps {
			if s := &m.Graph.Steps[i]; s.Kind == model.StepLookup {
				entries += model.Size(s.Shape)
			}
		}
		if most := 3 * (rows*heads*size + rows*size); entries > most {
			t.Errorf("%d look-ups, more than %d", entries, most)
		}
	}
}

// A value of few entries whose table would be large is rounded in limbs, one of many
// with the table; both as exactly, and with a defined result beyond the range.
func TestSparseTables(t *testing.T) {
	for _, rows := range []int{1, 4096} {
		rng := rand.New(rand.NewPCG(3, 4))
		n := networks.New([]int{rows, 16})
		// Weights that hardly ever work together: the static bound is far off.
		w := n.Filled([]int{16, 16}, func(int) float64 { return math.Copysign(1, rng.NormFloat64()) })
		hidden := n.MatMul(n.In[0], w)
		g := n.WithOutput(t, n.Dense(hidden, 4, rng))
		m, wit, got, want := run(t, g, [][]float64{networks.Normal(rows*16, rng)}, Options{Formats: Formats{g.Nodes[0].Output: {Bits: 12}}})
		if a := Compare(got[0], want[0]); a.Relative > 0.003 {
			t.Errorf("%d rows: error %.4f %% of the range", rows, 100*a.Relative)
		}
		if s := m.Saturation(wit); len(s) != 0 {
			t.Errorf("saturates: %v", s)
		}
		largest := 0
		for _, table := range m.Graph.Tables {
			if table.Kind == model.TablePiecewise {
				largest = max(largest, table.Bits)
			}
		}
		t.Logf("%d rows: the largest clamp table has 2^%d rows", rows, largest)
		if few := rows == 1; few != (largest <= 12) {
			t.Errorf("%d rows: a clamp table of 2^%d rows", rows, largest)
		}
	}
}

// Outputs of many entries are rounded, so that a proof is not mostly their low bits.
func TestManyOutputs(t *testing.T) {
	for _, rows := range []int{4, 16} {
		rng := rand.New(rand.NewPCG(5, 6))
		n := networks.New([]int{rows, 32})
		g := n.WithOutput(t, n.MatMul(n.In[0], n.Filled([]int{32, 4100}, func(int) float64 { return rng.NormFloat64() })))
		m, w, got, want := run(t, g, [][]float64{networks.Normal(rows*32, rng)}, Options{})
		if a := Compare(got[0], want[0]); a.Relative > 0.001 {
			t.Errorf("%d rows: error %.4f %% of the range", rows, 100*a.Relative)
		}
		if s := m.Saturation(w); len(s) != 0 {
			t.Errorf("saturates: %v", s)
		}
		out := &m.Graph.Tensors[m.Graph.Outputs[0]]
		if few := rows*4100 < lower.ManyOutputs; few != (max(-out.Min, out.Max) > 1<<(lower.OutputBits+7)) {
			t.Errorf("%d rows: outputs in [%d, %d]", rows, out.Min, out.Max)
		}
	}
}
