package graph

import "math"

// wholeMargin is how near a computed value is to a whole number that float32 may round to either side of it, in units of
// that number: four steps of float32 below a power of two.
const wholeMargin = 0x1p-22

// Wholes returns the values, computed and of floats, whose whole parts an output follows from: what casts to integers
// read, and Floor and Ceil that are outputs. Inputs, and their entries in other places, are not among them: every
// runtime has these exactly.
func (g *Graph) Wholes(output string) []string {
	var found []string
	g.follows(output, func(by map[string]*Node, n *Node) bool {
		s, _ := n.Op.(Scalar)
		if (s.Func == Trunc || n.Output == output && (s.Func == Floor || s.Func == Ceil)) && computed(by, n.Inputs[0]) {
			found = append(found, n.Inputs[0])
		}
		return true
	})
	return found
}

// follows shows visit the nodes that an output follows from, and all nodes by what they compute. It goes on to what a node reads if
// visit says so.
func (g *Graph) follows(output string, visit func(by map[string]*Node, n *Node) bool) {
	by := g.Makers()
	seen := map[string]bool{}
	waiting := []string{output}
	for len(waiting) > 0 {
		name := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		n := by[name]
		if seen[name] || n == nil {
			continue
		}
		seen[name] = true
		if visit(by, n) {
			waiting = append(waiting, n.Inputs...)
		}
	}
}

// computed says whether a value's entries are neither an input's, in other places maybe, nor constant.
func computed(by map[string]*Node, name string) bool {
	for by[name] != nil {
		switch by[name].Op.(type) {
		case Reshape, Transpose, Slice:
			name = by[name].Inputs[0]
		default:
			return true
		}
	}
	return false
}

// NearWhole counts the values that are no whole number, but as near to one, other than 0, as float32 may be off.
func NearWhole(values []float64) int {
	return countIf(values, func(x float64) bool {
		whole := math.Round(x)
		d := math.Abs(x - whole)
		return d > 0 && whole != 0 && d <= wholeMargin*math.Abs(whole) && math.Abs(x) < 1<<22
	})
}
