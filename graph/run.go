package graph

import (
	"fmt"
	"math"
	"slices"
)

// RunFloat runs the graph in float64 and returns every graph input and node output by
// name, row-major. inputs are in the order of g.Inputs. It is the reference for accuracy:
// weights are the float32 weights of the model. All values together may have at most
// MaxActivations elements.
func (g *Graph) RunFloat(inputs [][]float64) (map[string][]float64, error) {
	if n := g.activations(); n > MaxActivations {
		return nil, fmt.Errorf("a run computes %d elements, and may have %d", n, MaxActivations)
	}
	values := make(map[string][]float64, len(g.Nodes)+len(inputs))
	err := g.run(inputs, values, func(string, []float64) {}, nil)
	if err != nil {
		return nil, err
	}
	return values, nil
}

// VisitFloat is RunFloat, but keeps a value only until its last reader. It calls visit
// with the name and the elements of every graph input and node output, in the order in
// which they are computed. The values that are in memory at the same time may have at
// most MaxActivations elements.
func (g *Graph) VisitFloat(inputs [][]float64, visit func(name string, values []float64)) error {
	last := g.lastReaders()
	if n, _ := g.peak(last); n > MaxActivations {
		return fmt.Errorf("a run has %d elements in memory, and may have %d", n, MaxActivations)
	}
	return g.run(inputs, make(map[string][]float64), visit, last)
}

// run computes all values into values, and calls visit for each. If last is not nil (see
// lastReaders), it deletes each value after its last reader.
func (g *Graph) run(inputs [][]float64, values map[string][]float64, visit func(string, []float64), last [][]string) error {
	if len(inputs) != len(g.Inputs) {
		return fmt.Errorf("the model takes %d inputs, but %d are given", len(g.Inputs), len(inputs))
	}
	for i, v := range g.Inputs {
		if want := Size(v.Shape); len(inputs[i]) != want {
			return fmt.Errorf("input %s has shape %v, %d elements, but %d are given", Quote(v.Name), v.Shape, want, len(inputs[i]))
		}
		if err := exact(inputs[i], v.DType); err != nil {
			return fmt.Errorf("input %s: %w", Quote(v.Name), err)
		}
		values[v.Name] = inputs[i]
		visit(v.Name, inputs[i])
	}
	for i, n := range g.Nodes {
		out, err := g.RunNode(n, values)
		if err != nil {
			return err
		}
		values[n.Output] = out
		visit(n.Output, out)
		if last != nil {
			for _, name := range last[i] {
				delete(values, name)
			}
		}
	}
	return nil
}

// lastReaders lists, for each node, the values that no later node reads. The node's
// result is among them if no node reads it.
func (g *Graph) lastReaders() [][]string {
	last := make([][]string, len(g.Nodes))
	seen := make(map[string]bool, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		for _, name := range slices.Concat([]string{n.Output}, n.Inputs) {
			if !seen[name] && g.Consts[name] == nil {
				seen[name] = true
				last[i] = append(last[i], name)
			}
		}
	}
	return last
}

// Alive returns the largest number of elements of computed values that VisitFloat has in
// memory at the same time.
func (g *Graph) Alive() int {
	n, _ := g.Peak()
	return n
}

// Peak returns the same number as Alive, and the node after which that many elements are
// in memory; the node is nil if there are none.
func (g *Graph) Peak() (elements int, at *Node) { return g.peak(g.lastReaders()) }

// peak is Peak for the lists that lastReaders returns.
func (g *Graph) peak(last [][]string) (elements int, at *Node) {
	computed := make(map[string]int, len(g.Nodes))
	now := 0
	for i, n := range g.Nodes {
		computed[n.Output] = Size(g.Shapes[n.Output])
		now += computed[n.Output]
		if now > elements {
			elements, at = now, n
		}
		for _, name := range last[i] {
			now -= computed[name]
		}
	}
	return elements, at
}

// activations is the number of elements of all computed values.
func (g *Graph) activations() int {
	n := 0
	for _, node := range g.Nodes {
		n += Size(g.Shapes[node.Output])
	}
	return n
}

// RunNode computes the result of a node of the graph in float64, row-major. values has
// the node's operands by name, constants excepted.
func (g *Graph) RunNode(n *Node, values map[string][]float64) ([]float64, error) {
	if Size(g.Shapes[n.Output]) == 0 {
		return []float64{}, nil
	}
	in := make([]operand, len(n.Inputs))
	for i, name := range n.Inputs {
		in[i] = operand{shape: g.Shapes[name], f: values[name]}
		if t := g.Consts[name]; t != nil {
			switch {
			case t.Stored != nil && partly(n.Op, i):
				in[i].stored = t.Stored
			case t.Exact != nil:
				in[i].f = t.Exact
			case t.I64 == nil:
				in[i].w = t.Floats()
			default: // integers: at run time all numbers are float64
				in[i].f = t.Float64s()
				if err := exact(in[i].f, t.DType); err != nil {
					return nil, NodeError{Op: Kind(n.Op), Name: n.Name, Reason: fmt.Sprintf("constant %s: %v", Quote(name), err)}
				}
			}
		}
	}
	out, err := evaluate(n.Op, in, g.Shapes[n.Output])
	if err != nil {
		return nil, NodeError{Op: Kind(n.Op), Name: n.Name, Reason: err.Error()}
	}
	made, dt := out.float64s(), g.DTypes[n.Output]
	if err = exact(made, dt); err == nil && n.Within {
		err = within(made, dt)
	}
	if err != nil {
		return nil, NodeError{Op: Kind(n.Op), Name: n.Name, Reason: err.Error()}
	}
	return made, nil
}

// exact returns an error, for an integer type dt, if one of the values is not finite or
// beyond ±2^53, where float64 no longer holds every integer. For other types it returns nil.
func exact(values []float64, dt DType) error {
	if dt.IsFloat() || !dt.Known() {
		return nil
	}
	for i, v := range values {
		switch {
		case v-v != 0:
			return fmt.Errorf("element %d is %v, for which no integer stands", i, v)
		case math.Abs(v) > 1<<53:
			return fmt.Errorf("element %d is %v: integers are exact within ±2^53", i, v)
		}
	}
	return nil
}

// within returns an error if one of the whole numbers is outside of the range of integer
// type dt.
func within(values []float64, dt DType) error {
	lo, hi := dt.Bounds()
	for i, v := range values {
		if v < float64(lo) || v > float64(hi) {
			return fmt.Errorf("element %d of its result is %.0f: integers of type %v wrap there, which is supported for 8 and 16 bits", i, v, dt)
		}
	}
	return nil
}
