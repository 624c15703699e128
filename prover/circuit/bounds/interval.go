package bounds

import "math/bits"

// Interval is [Min, Max], of integers. An empty one has Min > Max.
type Interval struct{ Min, Max int64 }

// limit is far beyond p: what would be further out counts as being there, which is
// further out than any check accepts.
const limit = 1 << 61

func clip(x int64) int64 { return max(-limit, min(limit, x)) }

// times is a product of integers within ±limit.
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

func abs(a int64) uint64 {
	if a < 0 {
		return uint64(-a)
	}
	return uint64(a)
}

func point(x int64) Interval { return Interval{x, x} }

// add is the interval of sums.
func (i Interval) add(o Interval) Interval { return Interval{clip(i.Min + o.Min), clip(i.Max + o.Max)} }

// scale is the interval of c times a number.
func (i Interval) scale(c int64) Interval {
	a, b := times(c, i.Min), times(c, i.Max)
	return Interval{min(a, b), max(a, b)}
}

// mul is the interval of products.
func (i Interval) mul(o Interval) Interval { return i.scale(o.Min).hull(i.scale(o.Max)) }

// hull is the least interval that holds both.
func (i Interval) hull(o Interval) Interval { return Interval{min(i.Min, o.Min), max(i.Max, o.Max)} }

// and is the interval of what is in both.
func (i Interval) and(o Interval) Interval { return Interval{max(i.Min, o.Min), min(i.Max, o.Max)} }

func (i Interval) empty() bool { return i.Min > i.Max }

// within says whether all of a non-empty interval lies in the other one.
func (i Interval) within(o Interval) bool { return i.Min >= o.Min && i.Max <= o.Max }
