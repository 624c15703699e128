package bounds

import "math/bits"

// Interval is [Min, Max], of integers. An empty one has Min > Max.
//
// A Min of −limit means that no least value is known, a Max of limit that no greatest one is: whatever such an end
// enters has no such end either, so that two of them never cancel. Min = limit means "at least limit", and Max =
// −limit "at most −limit", which is true of what lies further out.
type Interval struct{ Min, Max int64 }

// limit is far beyond p: no check accepts an interval that reaches so far.
const limit = 1 << 61

// everything is the interval of a number of which nothing is known.
var everything = Interval{-limit, limit}

// nothing has no number.
var nothing = Interval{1, 0}

func clip(x int64) int64 { return max(-limit, min(limit, x)) }

// times is a product, clipped at ±limit. As an end of an interval that is right by what these mean; a number that
// something else is computed with needs exact.
func times(a, b int64) int64 {
	hi, lo := bits.Mul64(abs(a), abs(b))
	x := int64(limit)
	if hi == 0 && lo < limit {
		x = int64(lo)
	}
	if (a < 0) != (b < 0) {
		return -x
	}
	return x
}

// exact returns a + b·c, unless that or a step on the way to it is beyond the limit.
func exact(a, b, c int64) (x int64, ok bool) {
	x = times(b, c)
	ok = known(a) && known(x)
	x += a
	return x, ok && known(x)
}

// known reports whether a number is within the limit.
func known(x int64) bool { return -limit < x && x < limit }

func abs(a int64) uint64 {
	if a < 0 {
		return uint64(-a)
	}
	return uint64(a)
}

// point is the interval of one number.
func point(x int64) Interval {
	if !known(x) {
		return everything
	}
	return Interval{x, x}
}

// Add is the interval of sums.
func (i Interval) Add(o Interval) Interval {
	sum := Interval{clip(clip(i.Min) + clip(o.Min)), clip(clip(i.Max) + clip(o.Max))}
	if i.Min <= -limit || o.Min <= -limit {
		sum.Min = -limit
	}
	if i.Max >= limit || o.Max >= limit {
		sum.Max = limit
	}
	return sum
}

// Scale is the interval of c times a number.
func (i Interval) Scale(c int64) Interval {
	a, b := times(c, i.Min), times(c, i.Max)
	return Interval{min(a, b), max(a, b)}
}

// Mul is the interval of products.
func (i Interval) Mul(o Interval) Interval { return i.Scale(o.Min).hull(i.Scale(o.Max)) }

// hull is the least interval that holds both.
func (i Interval) hull(o Interval) Interval {
	if i.empty() {
		return o
	}
	return Interval{min(i.Min, o.Min), max(i.Max, o.Max)}
}

// and is the interval of what is in both.
func (i Interval) and(o Interval) Interval { return Interval{max(i.Min, o.Min), min(i.Max, o.Max)} }

func (i Interval) empty() bool { return i.Min > i.Max }

// within says whether all of a non-empty interval lies in the other one.
func (i Interval) within(o Interval) bool { return i.Min >= o.Min && i.Max <= o.Max }
