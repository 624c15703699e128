package quantise

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Layer is a node of the float graph in a run of the integer model.
type Layer struct {
	Node, Op, Value string // Value: the name of what it computes
	Shape           []int
	// Held says that a tensor holds the value: then it has Bits without sign, entries
	// are multiples of 2^(−Frac), and Accuracy compares with the float run. If not, the
	// node is a part of the next one, or moves entries about.
	Held       bool
	Bits, Frac int
	Accuracy
	// LookUps is the number of entries that steps of the node look up, Committed that
	// of entries committed to for it, in one proof. Nodes of one name share them.
	LookUps, Committed int
	Saturated          Saturated
}

// Layers describes a run of a model, node by node. fg is the float graph in the size of the run,
// and values what RunFloat gave on the same input.
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
