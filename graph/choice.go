package graph

import (
	"math"
	"slices"
)

// Choice recognises an output that is the index of the greatest score (an ArgMax), or a label
// that is looked up by the index. It returns the name of the scores, and the axis along which
// the greatest one is taken. The output must have one entry for each row of scores along this
// axis. Choice returns false for other outputs.
func (g *Graph) Choice(output string) (scores string, axis int, ok bool) {
	by := g.Makers()
	seen := map[string]bool{}
	var follow func(name string) bool // whether a value depends on one choice and on constants only
	follow = func(name string) bool {
		if seen[name] || g.Consts[name] != nil {
			return true
		}
		seen[name] = true
		n := by[name]
		if n == nil {
			return false
		}
		if x, a, is := greatestOf(by, n); is {
			first := scores == ""
			same := scores == x && axis == a
			scores, axis = x, a
			return first || same
		}
		if t, turns := n.Op.(Transpose); turns && wide(g.Shapes[n.Inputs[0]]) && !ascending(t.Perm) {
			return false
		}
		for _, in := range n.Inputs {
			if !follow(in) {
				return false
			}
		}
		return true
	}
	if dt := g.DTypes[output]; !dt.Known() || dt.IsFloat() || !follow(output) || scores == "" {
		return "", 0, false
	}
	shape := g.Shapes[scores]
	return scores, axis, Size(shape) > 0 && Size(g.Shapes[output])*shape[axis] == Size(shape)
}

// greatestOf reports whether a node is [x − max x ≥ 0], which is 1 for the greatest entries of x
// along an axis, as Builder.ArgMax makes it.
func greatestOf(by map[string]*Node, n *Node) (x string, axis int, ok bool) {
	if d := by[n.Inputs[0]]; n.Op == Op(IsNotNegative) && d != nil && d.Op == Op(Sub) {
		if top := by[d.Inputs[1]]; top != nil && top.Inputs[0] == d.Inputs[0] {
			if r, is := top.Op.(Reduce); is && r.Func == MaxOf && len(r.Axes) == 1 && r.Keep {
				return d.Inputs[0], r.Axes[0], true
			}
		}
	}
	return "", 0, false
}

// wide reports whether a shape has at least two axes with more than one entry.
func wide(shape []int) bool {
	n := 0
	for _, d := range shape {
		if d > 1 {
			n++
		}
	}
	return n > 1
}

// ascending reports whether perm is 0, 1, 2, …
func ascending(perm []int) bool { return slices.Equal(perm, index(len(perm), 1)) }

// extentOf is the width of the smallest interval that contains 0 and all values.
func extentOf(values []float64) float64 {
	lo, hi := 0.0, 0.0
	for _, x := range values {
		lo, hi = math.Min(lo, x), math.Max(hi, x)
	}
	return hi - lo
}

// Margins returns, for each row of scores along an axis, the difference between the greatest and the
// second greatest score, divided by the range of all scores (see extentOf).
func Margins(scores []float64, shape []int, axis int) []float64 {
	extent := extentOf(scores)
	n, inner := shape[axis], Size(shape[axis+1:])
	margins := make([]float64, len(scores)/n)
	for i := range margins {
		at := i/inner*n*inner + i%inner
		first, second := math.Inf(-1), math.Inf(-1)
		for k := range n {
			switch s := scores[at+k*inner]; {
			case s > first:
				first, second = s, first
			case s > second:
				second = s
			}
		}
		if margins[i] = first - second; extent > 0 {
			margins[i] /= extent
		}
	}
	return margins
}
