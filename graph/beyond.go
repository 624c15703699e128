package graph

import "math"

// Fragile is a value of which a runtime in float32 may have other entries, whose number Count tells.
type Fragile struct {
	Value string
	Count func(values []float64) int
}

// Beyond returns such values that an output follows from: results of Exp that float32 has as an infinity, and numbers that it has
// as 0, where something is divided by them or their logarithm is taken.
func (g *Graph) Beyond(output string) (list []Fragile) {
	g.follows(output, func(_ map[string]*Node, n *Node) bool {
		s, _ := n.Op.(Scalar)
		switch {
		case s.Func == Exp:
			list = append(list, Fragile{n.Output, tooLarge})
		case s.Func == Log || s.Func == Reciprocal:
			list = append(list, Fragile{n.Inputs[0], tooSmall})
		case n.Op == Op(Div):
			list = append(list, Fragile{n.Inputs[1], tooSmall})
		case n.Op == Op(LogSoftmax{OfSoftmax: true}):
			list = append(list, Fragile{n.Output, tooUnlikely})
		}
		return true
	})
	return list
}

func countIf(values []float64, is func(x float64) bool) int {
	count := 0
	for _, x := range values {
		if is(x) {
			count++
		}
	}
	return count
}

// tooLarge counts the values that round to an infinity in float32.
func tooLarge(values []float64) int {
	return countIf(values, func(x float64) bool { return math.Abs(x) > math.MaxFloat32 && !math.IsInf(x, 0) })
}

// tooSmall counts the values that are not 0 and round to 0 in float32.
func tooSmall(values []float64) int {
	return countIf(values, func(x float64) bool { return x != 0 && math.Abs(x) <= 0x1p-150 })
}

// tooUnlikely counts the logarithms of numbers that round to 0 in float32.
func tooUnlikely(values []float64) int {
	return countIf(values, func(x float64) bool { return x < -150*math.Ln2 })
}
