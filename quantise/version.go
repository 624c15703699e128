package quantise

import (
	"fmt"
	"math"
)

// Version changes whenever Quantise makes another graph or other weights of a
// model, its ranges and its options than before: a key names it, so that whoever
// has the model knows whether quantising it again can be expected to give the
// same.
const Version = 14

// Complete returns the options with defaults in place of zeros.
func (o Options) Complete() (Options, error) { return o.withDefaults() }

// A range that is to be repeated elsewhere consists of numbers of few digits:
// the first codeBits bits of a float64, which are its sign, its exponent and 16
// binary digits.
const (
	codeBits  = 28
	codeShift = 64 - codeBits
)

// Rounded returns the smallest range of such numbers that holds r: at most
// 2^−16 of its bounds wider. Numbers that are not finite stay as they are; a range of no
// values is that of 0.
func (r Range) Rounded() Range {
	r = r.plusNone()
	return Range{-roundUp(-r.Min), roundUp(r.Max), -roundUp(-r.Least)}.plusZero()
}

// plusZero has zero be positive, as a code tells the two apart.
func (r Range) plusZero() Range { return Range{r.Min + 0, r.Max + 0, r.Least + 0} }

// roundUp returns the least number with a code that is not below x.
func roundUp(x float64) float64 {
	bits := math.Float64bits(x)
	code := bits >> codeShift << codeShift
	if code != bits && x > 0 {
		code += 1 << codeShift // away from 0, into the next exponent if need be
	}
	if math.IsNaN(x) {
		return x
	}
	return math.Float64frombits(code)
}

// Codes returns a rounded range as integers below 2^28.
func (r Range) Codes() [3]uint32 {
	var c [3]uint32
	for i, x := range []float64{r.Min, r.Max, r.Least} {
		c[i] = uint32(math.Float64bits(x) >> codeShift)
	}
	return c
}

// RangeOf is the inverse of Codes. It refuses codes that no rounded range has.
func RangeOf(codes [3]uint32) (Range, error) {
	var x [3]float64
	for i, c := range codes {
		x[i] = math.Float64frombits(uint64(c) << codeShift)
	}
	r := Range{x[0], x[1], x[2]}
	if !(r.Min <= r.Max && r.Least >= 0 && r.Least <= r.abs()) || math.IsInf(r.Min, 0) || math.IsInf(r.Max, 0) || r.Rounded().Codes() != codes {
		return r, fmt.Errorf("no range: %v", x)
	}
	return r, nil
}
