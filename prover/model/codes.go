package model

import "math"

// codes is how many integers of an extended tensor stand for no finite number.
const codes = 3

// Finite returns the integers of the tensor that stand for finite numbers. Of an
// extended tensor the least one, Min, is −∞, the greatest, Max, is NaN, and the one
// before that is +∞.
func (t *Tensor) Finite() (lo, hi int64) {
	if t.Extended {
		return t.Min + 1, t.Max - 2
	}
	return t.Min, t.Max
}

// code returns the integer that stands for x, if x is not finite and one does.
func (t *Tensor) code(x float64) (v int64, ok bool) {
	switch {
	case !t.Extended:
	case math.IsNaN(x):
		return t.Max, true
	case math.IsInf(x, 1):
		return t.Max - 1, true
	case math.IsInf(x, -1):
		return t.Min, true
	}
	return 0, false
}

// decode sets the numbers that codes among some integers stand for.
func (t *Tensor) decode(reals []float64, ints []int32) {
	if !t.Extended {
		return
	}
	for i, v := range ints {
		switch int64(v) {
		case t.Max:
			reals[i] = math.NaN()
		case t.Max - 1:
			reals[i] = math.Inf(1)
		case t.Min:
			reals[i] = math.Inf(-1)
		}
	}
}
