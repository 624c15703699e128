package graph

import (
	"math"
	"slices"
)

// Choice returns the scores of which an output says what is greatest: the value whose greatest
// entry along an axis an ArgMax has found, where the output is the index, or a label for it, and
// has an entry for each row of scores. It returns false for other outputs.
func (g *Graph) Choice(output string) (scores string, axis int, ok bool) {
	by := g.Makers()
	seen := map[string]bool{}
	var follow func(name string) bool // whether all that it is made of is one choice
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

// greatestOf reports whether a node tells which entries of a value are its greatest along an axis.
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

// wide reports whether a shape has two axes along which there is more than one entry.
func wide(shape []int) bool {
	n := 0
	for _, d := range shape {
		if d > 1 {
			n++
		}
	}
	return n > 1
}

func ascending(perm []int) bool { return slices.Equal(perm, index(len(perm), 1)) }

// extentOf is the extent of the range of some numbers, 0 included.
func extentOf(values []float64) float64 {
	lo, hi := 0.0, 0.0
	for _, x := range values {
		lo, hi = math.Min(lo, x), math.Max(hi, x)
	}
	return hi - lo
}

// Margins are, by row of scores along an axis, how far the greatest is ahead of the next, in units of
// the range of all scores, 0 included.
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
