package graph

import "fmt"

// RunFloat runs the graph in float64 and returns every graph input and node
// output by name, row-major. inputs are in the order of g.Inputs. It is the
// reference for accuracy: weights are those of the model in float32.
func (g *Graph) RunFloat(inputs [][]float64) (map[string][]float64, error) {
	if len(inputs) != len(g.Inputs) {
		return nil, fmt.Errorf("the model takes %d inputs, but %d are given", len(g.Inputs), len(inputs))
	}
	if n := g.activations(); n > MaxActivations {
		return nil, fmt.Errorf("a run computes %d elements, and may have %d", n, MaxActivations)
	}
	values := make(map[string][]float64, len(g.Nodes)+len(inputs))
	for i, v := range g.Inputs {
		if want := Size(v.Shape); len(inputs[i]) != want {
			return nil, fmt.Errorf("input %s has shape %v, %d elements, but %d are given", Quote(v.Name), v.Shape, want, len(inputs[i]))
		}
		values[v.Name] = inputs[i]
	}
	for _, n := range g.Nodes {
		out, err := g.RunNode(n, values)
		if err != nil {
			return nil, err
		}
		values[n.Output] = out
	}
	return values, nil
}

// activations is the number of elements of all computed values.
func (g *Graph) activations() int {
	n := 0
	for _, node := range g.Nodes {
		n += Size(g.Shapes[node.Output])
	}
	return n
}

// RunNode computes the value of a node of the graph in float64, row-major, from
// those of its inputs that are not constants.
func (g *Graph) RunNode(n *Node, values map[string][]float64) ([]float64, error) {
	in := make([]operand, len(n.Inputs))
	for i, name := range n.Inputs {
		in[i] = operand{shape: g.Shapes[name], f: values[name]}
		if t := g.Consts[name]; t != nil {
			switch {
			case t.Stored != nil && partly(n.Op, i):
				in[i].stored = t.Stored
			case t.I64 == nil:
				in[i].w = t.Floats()
			default: // at run time all numbers are float64
				in[i].f = t.Float64s()
			}
		}
	}
	out, err := n.Op.eval(in, g.Shapes[n.Output])
	if err != nil {
		return nil, NodeError{Op: n.Op.Kind(), Name: n.Name, Reason: err.Error()}
	}
	return out.float64s(), nil
}
