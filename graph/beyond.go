package graph

import "math"

// Fragile is a computed value some entries of which a float32 runtime may compute differently, since
// they overflow to infinity or underflow to 0. Count returns the number of such entries.
type Fragile struct {
	Value string
	Count func(values []float64) int
}

// Beyond returns the fragile values on which an output depends: results of Exp that overflow in float32; operands of Log and
// Reciprocal, and divisors, that underflow to 0 in float32; and results of a LogSoftmax that the model computes as Log of a
// Softmax, where the Softmax underflows to 0.
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

// countIf returns the number of values for which is returns true.
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

// tooUnlikely counts the logarithms of probabilities that round to 0 in float32, which are those below 2^−150.
func tooUnlikely(values []float64) int {
	return countIf(values, func(x float64) bool { return x < -150*math.Ln2 })
}
