package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Norm divides x by the root of its mean square along axes: x/√(mean(x²) + Epsilon), as
// RMSNorm does. If Centred is set, the mean is subtracted from x first, as LayerNorm
// does. If Sum is set, it divides by the root of the sum of squares, the L2 norm. A row
// of zeros gives zeros, even without an epsilon.
type Norm struct {
	Axes         []int // ascending
	Centred, Sum bool
	Epsilon      float64 // not negative
}

func (n Norm) kind() string {
	switch {
	case n.Sum:
		return "L2Norm"
	case n.Centred:
		return "LayerNorm"
	}
	return "RMSNorm"
}

func (Norm) takes() operands { return operands{1, 1, floats} }

func (n Norm) infer(in []operandType) operandType {
	checkAxes(n.Axes, len(in[0].shape))
	refuse.If(len(n.Axes) == 0, "it has no axes")
	refuse.If(!(n.Epsilon >= 0) || math.IsInf(n.Epsilon, 0), "its epsilon is %v", n.Epsilon)
	return in[0]
}

// Count returns the number of elements of a row (the elements that share one norm) of an
// operand of the given shape.
func (n Norm) Count(shape []int) int {
	count := 1
	for _, a := range n.Axes {
		count *= shape[a]
	}
	return count
}

// eval computes x, less its mean if Centred is set, divided by the root of its mean square or sum
// of squares.
func (n Norm) eval(in []operand, shape []int) operand {
	x := in[0].float64s()
	rows := Reduce{Axes: n.Axes, Keep: true}.shape(shape)
	count := float64(n.Count(shape))
	combined := func(x []float64) []float64 { return combine(x, shape, rows, n.Axes, reductions[Sum].floats) }
	if n.Centred {
		mean := apply(combined(x), func(s float64) float64 { return s / count })
		x = zipWith(x, mean, shape, rows, shape, func(a, b float64) float64 { return a - b })
	}
	if n.Sum {
		count = 1
	}
	root := apply(combined(apply(x, func(v float64) float64 { return v * v })), func(s float64) float64 {
		if s == 0 && n.Epsilon == 0 {
			return 1
		}
		return math.Sqrt(s/count + n.Epsilon)
	})
	return operand{shape: shape, f: zipWith(x, root, shape, rows, shape, func(a, b float64) float64 { return a / b })}
}

// Norm applies op to x.
func (b *Builder) Norm(op Norm, x Value) Value { return b.emit(op, x) }

// LayerNorm is (x − mean)/√(variance + eps) over the axes from axis on, times scale, plus
// bias if there is one.
func (b *Builder) LayerNorm(x Value, axis int, eps float64, scale Value, bias ...Value) (made Value) {
	defer b.refused(&made)
	b.needAxes(x, axis)
	in := b.Shape(x)
	y := b.Mul(b.Norm(Norm{Axes: index(len(in), 1)[axis:], Centred: true, Epsilon: eps}, x), scale)
	for _, v := range bias {
		y = b.Add(y, v)
	}
	refuse.If(b.Valid(y) && !slices.Equal(b.Shape(y), in), "scale or bias do not fit shape %v", in)
	return y
}
