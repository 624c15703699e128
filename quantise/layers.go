package quantise

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Layer says how one node of the float graph fared in a run of the integer model.
type Layer struct {
	Node, Op, Value string // Value is the name of the value that the node computes
	Shape           []int  // of the value
	// Held says that a tensor of the circuit holds the value. Then it has Bits, sign excluded,
	// its entries are multiples of 2^(−Frac), and Accuracy compares it with the float run. If no
	// tensor does, the node only moves entries, or is computed together with a later one.
	Held       bool
	Bits, Frac int
	Accuracy
	// LookUps is the number of entries that the node's steps look up in one proof, and Committed
	// the number of entries that these steps commit to. Nodes with the same name share both.
	LookUps, Committed int
	Saturated          Saturated // the entries that were clamped
}

// Layers describes a run of a model, node by node. fg is the float graph in the size of the run,
// values are the values that its RunFloat returned for the same input, and w is the integer run.
func Layers(m *Model, fg *graph.Graph, values map[string][]float64, w *forward.Witness) []Layer {
	lookUps, _ := m.LookUps()
	committed := map[string]int{}
	for i := range m.Graph.Steps {
		if s := &m.Graph.Steps[i]; s.Out != model.None && m.Graph.Tensors[s.Out].Kind == model.Witness {
			committed[s.Name] += model.Size(m.Graph.Tensors[s.Out].Shape)
		}
	}
	clipped := m.Saturation(w)
	var layers []Layer
	for _, n := range fg.Nodes {
		name := model.PrintableName(n.Name)
		l := Layer{Node: name, Op: graph.Kind(n.Op), Value: n.Output, Shape: fg.Shapes[n.Output],
			LookUps: lookUps[name], Committed: committed[name], Saturated: clipped[name]}
		if id, ok := m.Held[n.Output]; ok {
			t := &m.Graph.Tensors[id]
			l.Held, l.Frac = true, t.Frac
			l.Bits = model.Log2Ceil(int(max(t.Max, -t.Min)) + 1)
			l.Accuracy = Compare(m.Dequantise(id, w.Tensor(id)), values[n.Output])
		}
		layers = append(layers, l)
	}
	return layers
}
