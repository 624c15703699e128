package graph

import (
	"errors"
	"fmt"
	"slices"
)

// Greatest keeps the Count greatest elements of every row, along the last axis, and
// makes the others 0. Of equal ones those that come first are kept. It is how a
// router chooses experts.
type Greatest struct{ Count int }

// Kind implements [Op].
func (Greatest) Kind() string { return "Greatest" }

func (g Greatest) infer(in []operandType) (operandType, error) {
	if err := arity(in, 1, 1); err != nil {
		return operandType{}, err
	}
	if len(in[0].shape) == 0 {
		return operandType{}, errors.New("its input is a scalar")
	}
	if n := in[0].shape[len(in[0].shape)-1]; g.Count < 1 || g.Count > n {
		return operandType{}, fmt.Errorf("the %d greatest of %d", g.Count, n)
	}
	return in[0], floats(in...)
}

func (g Greatest) eval(in []operand, shape []int) (operand, error) {
	x, n := in[0].float64s(), shape[len(shape)-1]
	out := make([]float64, len(x))
	order := make([]int, n)
	for at := 0; at < len(x); at += n {
		row := x[at : at+n]
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			switch {
			case row[i] > row[j]:
				return -1
			case row[i] < row[j]:
				return 1
			}
			return 0
		})
		for _, i := range order[:g.Count] {
			out[at+i] = row[i]
		}
	}
	return operand{shape: shape, f: out}, nil
}

// Greatest keeps the count greatest elements of every row of x and makes the others 0.
func (b *Builder) Greatest(x Value, count int) Value {
	if s := b.Shape(x); len(s) > 0 && s[len(s)-1] == count {
		return x
	}
	return b.emit(Greatest{count}, x)
}
