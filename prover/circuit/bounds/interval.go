package bounds

import "math/bits"

// Interval is the set of integers from Min to Max. It is empty if Min > Max.
//
// A Min of −limit means that no lower bound is known, and a Max of limit that no upper bound is. A sum in which such a bound enters
// has no such bound either, so that two unknown bounds never cancel. A Min of limit means "at least limit", and a Max of
// −limit "at most −limit", which remain true when larger numbers are clipped to ±limit.
type Interval struct{ Min, Max int64 }

// limit is far greater than p, so no check accepts an interval that reaches so far.
const limit = 1 << 61

// everything is the interval of a number of which nothing is known.
var everything = Interval{-limit, limit}

// nothing is the empty interval.
var nothing = Interval{1, 0}

// clip returns x, or the nearer one of ±limit if x is beyond these.
func clip(x int64) int64 { return max(-limit, min(limit, x)) }

// times returns a·b, clipped to ±limit. The result may be used as an end of an interval, where ±limit stands for everything beyond.
// A coefficient or a constant must be computed by exact.
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

// exact returns a + b·c. ok is false if a, b·c or the result is not within ±limit.
func exact(a, b, c int64) (x int64, ok bool) {
	x = times(b, c)
	ok = known(a) && known(x)
	x += a
	return x, ok && known(x)
}

// known reports whether a number is strictly between ±limit, so that it has not been clipped.
func known(x int64) bool { return -limit < x && x < limit }

func abs(a int64) uint64 {
	if a < 0 {
		return uint64(-a)
	}
	return uint64(a)
}

// point returns the interval that has only x, or everything if x may have been clipped.
func point(x int64) Interval {
	if !known(x) {
		return everything
	}
	return Interval{x, x}
}

// Add returns the interval of the sums of a number in i and one in o.
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

// Scale returns an interval of c times a number in i.
func (i Interval) Scale(c int64) Interval {
	a, b := times(c, i.Min), times(c, i.Max)
	return Interval{min(a, b), max(a, b)}
}

// Mul returns an interval of the products of a number in i and one in o.
func (i Interval) Mul(o Interval) Interval { return i.Scale(o.Min).hull(i.Scale(o.Max)) }

// hull returns the smallest interval that contains both. o must not be empty.
func (i Interval) hull(o Interval) Interval {
	if i.empty() {
		return o
	}
	return Interval{min(i.Min, o.Min), max(i.Max, o.Max)}
}

// and returns the intersection of both, which may be empty.
func (i Interval) and(o Interval) Interval { return Interval{max(i.Min, o.Min), min(i.Max, o.Max)} }

func (i Interval) empty() bool { return i.Min > i.Max }

// within reports whether i, which must not be empty, is a part of o.
func (i Interval) within(o Interval) bool { return i.Min >= o.Min && i.Max <= o.Max }
