package model

import "math"

// Numbers says which integers of a tensor are codes for numbers that are not finite.
type Numbers uint8

const (
	// FiniteNumbers has no codes: every integer stands for itself times the scale.
	FiniteNumbers Numbers = iota
	// AllNumbers has three codes: Min stands for −∞, Max − 1 for +∞, and Max for NaN.
	AllNumbers
	// MaskingNumbers has one code: Min stands for −∞.
	MaskingNumbers
)

// Finite returns the range, bounds included, of the integers of the tensor that stand for finite numbers.
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

// decode replaces reals[i] by −∞, +∞ or NaN where ints[i] is the code for that.
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
