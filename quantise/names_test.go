package quantise

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// TestOddNames quantises a model whose parts have names that no key may hold:
// escape sequences, line ends, bytes that are not UTF-8, too many of them.
func TestOddNames(t *testing.T) {
	const odd = "\x1b[1A\x1b[2K\r\n\u202e\xff"
	rename := func(s string) string { return odd + s + strings.Repeat("é", 200) }
	rng := rand.New(rand.NewPCG(1, 2))
	b := graph.NewBuilder(rename("graph"))
	n := networks.Network{Builder: b, In: []graph.Value{b.Input(rename("in0"), graph.Float, []int{2, 3})}}
	b.At("Softmax", rename("softmax"))
	b.Output(rename("y"), b.Softmax(n.Dense(n.In[0], 4, rng), 1))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 6)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	m, _, got, want := run(t, g, [][]float64{x}, Options{})
	if a := Compare(got[0], want[0]); a.Relative > 0.01 {
		t.Errorf("error %.4f of the range", a.Relative)
	}
	if err := m.Graph.Validate(); err != nil {
		t.Error(err)
	}
	name := m.Graph.Tensors[m.Graph.Inputs[0]].Name
	if !strings.Contains(name, "in0") || len(name) > model.MaxName || strings.ContainsAny(name, "\x1b\r\n") {
		t.Errorf("the input's name became %q", name)
	}
}

// TestOddNamesOfSaturatedNodes: what is said about a run is printed, and names nodes.
func TestOddNamesOfSaturatedNodes(t *testing.T) {
	b := graph.NewBuilder("g")
	n := networks.Network{Builder: b, In: []graph.Value{b.Input("x", graph.Float, []int{1, 4})}}
	b.At("Relu", "relu\nVALID: the model\x1b[2K")
	relu := n.Relu(n.MatMul(n.In[0], n.Filled([]int{4, 4}, func(int) float64 { return 1 })))
	b.Output("y", relu)
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	values, err := g.RunFloat([][]float64{{1, -1, 1, -0.5}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Quantise(g, Ranges(values), Options{})
	if err != nil {
		t.Fatal(err)
	}
	in, _, err := m.QuantiseInput([][]float64{{1, 1, 1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := forward.Run(context.Background(), m.Graph, m.Weights, in)
	if err != nil {
		t.Fatal(err)
	}
	said := m.Saturation(w)
	if len(said) == 0 {
		t.Error("nothing is clamped")
	}
	for node := range said {
		if node != model.PrintableName(node) {
			t.Errorf("clamped at %q", node)
		}
	}
}
