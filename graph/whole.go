package graph

import "math"

// wholeMargin is the largest distance of a computed value to a whole number, relative to that number, at which float32
// arithmetic may have it on the other side of the number. It is four times the distance of float32 numbers just below a
// power of two.
const wholeMargin = 0x1p-22

// Wholes returns the computed float values on whose whole parts an output depends: the operands of casts to integers,
// and those of a Floor or Ceil that is the output itself. Inputs, also reshaped or sliced ones, are not among them,
// since every runtime has their exact values.
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

// follows calls visit with the nodes on which an output depends, starting at the output itself; by has all nodes by the name of
// their result. It goes on to the operands of a node if visit returns true.
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

// computed says whether a value is more than entries of an input or a constant in other places.
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

// NearWhole counts the values that float32 arithmetic may have on the other side of a whole number: those that
// are not whole, but within wholeMargin of a whole number other than 0.
func NearWhole(values []float64) int {
	return countIf(values, func(x float64) bool {
		whole := math.Round(x)
		d := math.Abs(x - whole)
		return d > 0 && whole != 0 && d <= wholeMargin*math.Abs(whole) && math.Abs(x) < 1<<22
	})
}
