package quantise

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/model"
)

// TestOddNames quantises a model whose parts have names that no key may hold:
// escape sequences, line ends, bytes that are not UTF-8, too many of them.
func TestOddNames(t *testing.T) {
	const odd = "\x1b[1A\x1b[2K\r\n\u202e\xff"
	rename := func(s string) string { return odd + s + strings.Repeat("é", 200) }
	rng := rand.New(rand.NewPCG(1, 2))
	b := graph.NewBuilder(rename("graph"))
	n := network{Builder: b, in: []graph.Value{b.Input(rename("in0"), graph.Float, []int{2, 3})}}
	b.At("Softmax", rename("softmax"))
	b.Output(rename("y"), b.Softmax(n.dense(n.in[0], 4, rng), 1))
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
