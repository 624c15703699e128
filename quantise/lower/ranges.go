package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// RangeIn is NewRange for the entries of a value of g. If the value is an input or output that may have numbers that are
// not finite (graph.Graph.Extended), these are left out.
func RangeIn(g *graph.Graph, name string, values []float64) Range {
	if g.Extended(name) {
		values = slices.DeleteFunc(slices.Clone(values), func(x float64) bool { return x-x != 0 })
	}
	return NewRange(values)
}

// RangesOf returns the range of every value of g over the given runs (each: values by name, inputs included), as RangeIn
// finds them.
func RangesOf(g *graph.Graph, runs ...map[string][]float64) map[string]Range {
	ranges := map[string]Range{}
	for _, run := range runs {
		for name, values := range run {
			r := RangeIn(g, name, values)
			if old, ok := ranges[name]; ok {
				r = r.Union(old)
			}
			ranges[name] = r
		}
	}
	for name, r := range ranges {
		ranges[name] = r.plusNone()
	}
	return ranges
}

// Range tells which real values calibration met: their interval, and the
// smallest magnitude among them.
type Range struct{ Min, Max, Least float64 }

// Abs returns the largest magnitude in the range.
func (r Range) Abs() float64 { return math.Max(math.Abs(r.Min), math.Abs(r.Max)) }

// Union returns the range of the values of both.
func (r Range) Union(o Range) Range {
	return Range{math.Min(r.Min, o.Min), math.Max(r.Max, o.Max), math.Min(r.Least, o.Least)}
}

// Ranges returns the range of every value over the given runs of a float
// model (each: entries by the value's name, inputs included), all of whose numbers should be finite.
func Ranges(runs ...map[string][]float64) map[string]Range {
	return RangesOf(&graph.Graph{}, runs...)
}

// plusNone returns r, or the range of 0 if r is that of no values.
func (r Range) plusNone() Range {
	if r.Min > r.Max {
		return Range{}
	}
	return r
}

// NewRange returns the range of some values. If one is NaN, so are the bounds, and Quantise refuses
// them. The range of no values is from +∞ to −∞.
func NewRange(values []float64) Range {
	r := Range{math.Inf(1), math.Inf(-1), math.Inf(1)}
	for _, v := range values {
		if math.IsNaN(v) {
			return Range{v, v, v}
		}
		r = Range{min(r.Min, v), max(r.Max, v), min(r.Least, math.Abs(v))}
	}
	return r
}

// The numbers of a rounded range are the first codeBits bits of a float64: its sign, its exponent and 16
// binary digits. So a key can record them, and others can repeat the quantisation.
const (
	codeBits  = 28
	codeShift = 64 - codeBits
)

// Rounded returns r with each bound rounded outwards to such a number, which changes it by at most
// 2^−16 of itself. Numbers that are not finite stay as they are; the range of no
// values becomes that of 0.
func (r Range) Rounded() Range {
	return r.plusNone().outwards(roundUp)
}

// outwards is the range with its bounds rounded outwards, and the least magnitude rounded down, to a grid; up(x) is the
// least number of the grid that is not below x. "+ 0" makes a negative zero positive, which would have another code.
func (r Range) outwards(up func(float64) float64) Range {
	return Range{-up(-r.Min) + 0, up(r.Max) + 0, -up(-r.Least) + 0}
}

// roundUp returns the least number that has a code (Codes) and is not below x.
func roundUp(x float64) float64 {
	bits := math.Float64bits(x)
	code := bits >> codeShift << codeShift
	if code != bits && x > 0 {
		code += 1 << codeShift // away from 0; a carry goes into the exponent
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
	if !(r.Min <= r.Max && r.Least >= 0 && r.Least <= r.Abs()) || math.IsInf(r.Abs(), 0) || r.Rounded().Codes() != codes {
		return r, fmt.Errorf("no range: %v", x)
	}
	return r, nil
}
