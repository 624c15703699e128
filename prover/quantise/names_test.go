package quantise

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/model"
)

// TestOddNames quantises a model whose parts have names that no key may hold:
// escape sequences, line ends, bytes that are not UTF-8, too many of them.
func TestOddNames(t *testing.T) {
	const odd = "\x1b[1A\x1b[2K\r\n\u202e\xff"
	rename := func(s string) string {
		if s == "" {
			return s
		}
		return odd + s + strings.Repeat("é", 200)
	}
	n := newNetwork([]int{2, 3})
	rng := rand.New(rand.NewPCG(1, 2))
	y := n.node("Softmax", []int{2, 4}, onnx.Node{Ints: map[string][]int64{"axis": {1}}}, n.dense("in0", 4, rng))
	n.Outputs = []string{y}

	g := &onnx.Graph{Name: rename("graph"), Consts: map[string]*onnx.Tensor{}, Shapes: map[string][]int{}, DTypes: map[string]onnx.DType{}}
	for k, v := range n.Consts {
		g.Consts[rename(k)] = v
	}
	for k, v := range n.Shapes {
		g.Shapes[rename(k)] = v
	}
	for k, v := range n.DTypes {
		g.DTypes[rename(k)] = v
	}
	for _, v := range n.Inputs {
		v.Name = rename(v.Name)
		g.Inputs = append(g.Inputs, v)
	}
	for _, node := range n.Nodes {
		c := *node
		c.Name, c.Inputs, c.Outputs = rename(c.Name), nil, nil
		for _, name := range node.Inputs {
			c.Inputs = append(c.Inputs, rename(name))
		}
		for _, name := range node.Outputs {
			c.Outputs = append(c.Outputs, rename(name))
		}
		g.Nodes = append(g.Nodes, &c)
	}
	for _, name := range n.Outputs {
		g.Outputs = append(g.Outputs, rename(name))
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
