package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// RangeIn is NewRange of a value of g: of an input or output that may not be finite, of what is.
func RangeIn(g *graph.Graph, name string, values []float64) Range {
	if g.Extended(name) {
		values = slices.DeleteFunc(slices.Clone(values), func(x float64) bool { return x-x != 0 })
	}
	return NewRange(values)
}

// RangesOf is Ranges of runs of g, with RangeIn.
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

// Ranges returns the range of every tensor over the given runs of the float
// model (each: values by tensor name, inputs included).
func Ranges(runs ...map[string][]float64) map[string]Range {
	return RangesOf(&graph.Graph{}, runs...)
}

// plusNone has the range of no values be that of 0.
func (r Range) plusNone() Range {
	if r.Min > r.Max {
		return Range{}
	}
	return r
}

// NewRange returns the range of some values: not a number if one is none, which Quantise
// refuses.
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
	return r.plusNone().outwards(roundUp)
}

// outwards is the range with its bounds on the grid on which up gives the least number that is not below
// another one. Zero is positive, as a code tells the two apart.
func (r Range) outwards(up func(float64) float64) Range {
	return Range{-up(-r.Min) + 0, up(r.Max) + 0, -up(-r.Least) + 0}
}

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
	if !(r.Min <= r.Max && r.Least >= 0 && r.Least <= r.Abs()) || math.IsInf(r.Abs(), 0) || r.Rounded().Codes() != codes {
		return r, fmt.Errorf("no range: %v", x)
	}
	return r, nil
}
