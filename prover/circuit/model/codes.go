package model

import "math"

// Numbers says what the integers of a tensor stand for.
type Numbers uint8

const (
	// FiniteNumbers are integers times a scale.
	FiniteNumbers Numbers = iota
	// AllNumbers are finite numbers and three codes: the least integer, Min, is −∞; the
	// greatest, Max, is NaN; Max − 1 is +∞.
	AllNumbers
	// MaskingNumbers are finite numbers, and the least integer is −∞.
	MaskingNumbers
)

// Finite returns the integers of the tensor that stand for finite numbers.
func (t *Tensor) Finite() (lo, hi int64) {
	lo, hi = t.Min, t.Max
	if t.Numbers != FiniteNumbers {
		lo++
	}
	if t.Numbers == AllNumbers {
		hi -= 2
	}
	return lo, hi
}

// code returns the integer that stands for x, if x is not finite and the tensor has a
// code for it.
func (t *Tensor) code(x float64) (v int64, ok bool) {
	switch {
	case t.Numbers != FiniteNumbers && math.IsInf(x, -1):
		return t.Min, true
	case t.Numbers != AllNumbers:
	case math.IsNaN(x):
		return t.Max, true
	case math.IsInf(x, 1):
		return t.Max - 1, true
	}
	return 0, false
}

// decode sets reals[i] where ints[i] is a code.
func (t *Tensor) decode(reals []float64, ints []int32) {
	if t.Numbers == FiniteNumbers {
		return
	}
	lo, hi := t.Finite()
	for i, v := range ints {
		switch v := int64(v); {
		case v < lo:
			reals[i] = math.Inf(-1)
		case v == hi+1:
			reals[i] = math.Inf(1)
		case v > hi:
			reals[i] = math.NaN()
		}
	}
}
