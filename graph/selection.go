package graph

import (
	"cmp"
	"math"
	"slices"
)

// Selection says that an output depends on the first K entries of each row of scores in sorted order, such as the nearest
// neighbours.
type Selection struct {
	Scores string // name of the scores; their rows are along the last axis
	K      int
	Least  bool // whether the least scores come first, or the greatest
}

// Selection returns the selection on which an output depends. It returns false if the output depends on none or on several, or if
// the first axis of the output does not have an entry for each row of scores.
func (g *Graph) Selection(output string) (Selection, bool) {
	var found []Selection
	g.follows(output, func(by map[string]*Node, n *Node) bool {
		s, ok := g.selects(by, n)
		if ok && !slices.Contains(found, s) {
			found = append(found, s)
		}
		return !ok
	})
	if len(found) != 1 {
		return Selection{}, false
	}
	scores, out := g.Shapes[found[0].Scores], g.Shapes[output]
	rows := Size(scores[:len(scores)-1])
	return found[0], len(out) > 0 && out[0] == rows && rows > 0
}

// selects reports whether a node says which entry of a row has which of the first places, as Builder.TopK makes it: [place − i =
// 0], where the place of an entry is the number of entries that come before it, counted by the signs of the differences of all
// pairs.
func (g *Graph) selects(by map[string]*Node, n *Node) (Selection, bool) {
	none := Selection{}
	if n.Op != IsZero || by[n.Inputs[0]] == nil || by[n.Inputs[0]].Op != Sub {
		return none, false
	}
	place, list := by[by[n.Inputs[0]].Inputs[0]], g.Consts[by[n.Inputs[0]].Inputs[1]]
	if place == nil || list == nil || len(list.Shape) != 2 || list.Shape[0] != 1 {
		return none, false
	}
	if r, ok := place.Op.(Reduce); !ok || r.Func != Sum || !r.Keep {
		return none, false
	}
	for node := place; ; { // back from the place to the differences
		if node = by[node.Inputs[0]]; node == nil {
			return none, false
		}
		if node.Op != Sub {
			continue
		}
		c, a := by[node.Inputs[0]], by[node.Inputs[1]]
		if c == nil || a == nil || c.Inputs[0] != a.Inputs[0] {
			return none, false
		}
		x, shape := c.Inputs[0], g.Shapes[c.Output]
		if len(shape) < 2 || len(g.Shapes[x]) != len(shape)-1 {
			return none, false
		}
		// TopK subtracts rows (…, n, 1) from columns (…, 1, n), and the other way round for the least.
		return Selection{x, list.Shape[1], shape[len(shape)-1] == 1 && shape[len(shape)-2] != 1}, true
	}
}

// Boundary describes where the selection ends in a row of scores. In and Out are the places in the row of the last entry that is
// selected and of the first one that is not. Margin is the difference of their scores, divided by the range of all scores (see
// extentOf).
type Boundary struct {
	In, Out int
	Margin  float64
}

// Boundaries returns the boundary of each row of n scores. The margin is infinite if all of a row is selected, or
// nothing.
func (s Selection) Boundaries(scores []float64, n int) []Boundary {
	extent := extentOf(scores)
	edges := make([]Boundary, len(scores)/n)
	for row := range edges {
		values, order := scores[row*n:(row+1)*n], index(n, 1)
		slices.SortStableFunc(order, func(a, b int) int {
			if s.Least {
				return cmp.Compare(values[a], values[b])
			}
			return cmp.Compare(values[b], values[a])
		})
		edges[row].Margin = math.Inf(1)
		if s.K > 0 && s.K < n {
			in, out := order[s.K-1], order[s.K]
			edges[row] = Boundary{in, out, math.Abs(values[in] - values[out])}
			if extent > 0 {
				edges[row].Margin /= extent
			}
		}
	}
	return edges
}
