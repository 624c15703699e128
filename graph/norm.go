package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Softmax is exp(x), normalised to the sum 1 along the last axis.
type Softmax struct{}

// Kind implements [Op].
func (Softmax) Kind() string { return "Softmax" }

func (Softmax) infer(in []operandType) (operandType, error) {
	if err := arity(in, 1, 1); err != nil {
		return operandType{}, err
	}
	if len(in[0].shape) == 0 {
		return operandType{}, errors.New("its input is a scalar")
	}
	if !in[0].dtype.IsFloat() {
		return operandType{}, fmt.Errorf("its input has type %v", in[0].dtype)
	}
	return in[0], nil
}

func (Softmax) eval(operands []operand, shape []int) (operand, error) {
	in := operands[0].float64s()
	n := shape[len(shape)-1]
	out := make([]float64, len(in))
	for at := 0; at < len(in); at += n {
		row, dst := in[at:at+n], out[at:at+n]
		top := slices.Max(row)
		sum := 0.0
		for i, v := range row {
			dst[i] = math.Exp(v - top)
			sum += dst[i]
		}
		for i := range dst {
			dst[i] /= sum
		}
	}
	return operand{shape: shape, f: out}, nil
}

// Softmax normalises along an axis, which is moved to the end and back.
func (b *Builder) Softmax(x Value, axis int) Value {
	if !b.valid(x) {
		return Value{}
	}
	rank := len(b.Shape(x))
	if err := checkAxes([]int{axis}, rank); err != nil {
		return b.Failf("%v", err)
	}
	perm := make([]int, rank) // swaps axis and the last; its own inverse
	for i := range perm {
		perm[i] = i
	}
	perm[axis], perm[rank-1] = rank-1, axis
	return b.Transpose(b.emit(Softmax{}, b.Transpose(x, perm)), perm)
}

// LayerNorm is (x − mean)/√(variance + eps) over the axes from the given one on,
// times scale and plus bias, if there is one.
func (b *Builder) LayerNorm(x Value, axis int, eps float64, scale Value, bias ...Value) Value {
	if !b.valid(x) {
		return Value{}
	}
	in := b.Shape(x)
	var axes []int
	for i := axis; i < len(in); i++ {
		axes = append(axes, i)
	}
	d := b.Sub(x, b.Reduce(Mean, x, axes, true))
	variance := b.Reduce(Mean, b.Mul(d, d), axes, true)
	sum := b.Add(variance, b.number("epsilon", eps))
	y := b.Div(d, b.Apply(Sqrt, sum))
	y = b.Mul(y, scale)
	for _, v := range bias {
		y = b.Add(y, v)
	}
	if b.Valid(y) && !slices.Equal(b.Shape(y), in) {
		return b.Failf("scale or bias do not fit shape %v", in)
	}
	return y
}
