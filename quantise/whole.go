package quantise

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// lowerWhole lowers Floor, Ceil, Round and Trunc: exactly, of the accumulator of
// the operand, unless that is a function of another value, whose table then has the
// whole numbers.
func lowerWhole(l *lowering, n *graph.Node, op graph.Scalar, v *value) {
	x := l.values[n.Inputs[0]]
	if x.nonlinear() {
		lowerFunction(l, n, op, v)
		return
	}
	e := l.takeFlat(x)
	if e.frac <= 0 { // whole already
		v.pending = e
		return
	}
	switch op.Func {
	case graph.Floor:
		v.pending, _ = l.floor(v.name, e)
	case graph.Ceil:
		down, _ := l.floor(v.name, e.times(-1))
		v.pending = down.times(-1)
	case graph.Trunc:
		v.pending = l.trunc(v.name, e)
	case graph.Round:
		v.pending = l.round2even(v.name, e)
	default:
		refuse("%s is no way to round to whole numbers", op.Func.Name)
	}
}

// floor is ⌊e⌋ by look-ups with the identity for their table, and what they leave,
// in units of e: e − ⌊e⌋ as parts whose look-ups keep them not negative.
func (l *builder) floor(name string, e *expr) (down *expr, rest []*expr) {
	down = e
	for left := e.frac; left > 0; {
		if bits := tableBits(down.min>>left, down.max>>left); bits > wideTable {
			high, low, last := l.floorParts(name, down, left, bits-wideTable+3)
			return high.plus(low), append(rest, last)
		}
		// As many bits as give keys for the largest table, if there are more.
		shift := min(left, max(l.plan.shift(), tableBits(down.min, down.max)-model.MaxTableBits))
		lo, hi := down.min>>shift, down.max>>shift
		bits := max(tableBits(lo, hi), formatTable)
		if bits > model.MaxTableBits || bits+shift > 30 {
			refuse("values of up to %d cannot be rounded to whole numbers", down.abs())
		}
		out := l.witness(name, e.shape, 0, lo, hi)
		low := l.cut(down, shift, l.piecewiseOf(keep, -model.Bound, model.Bound, bits), out)
		l.inRange(low, shift)
		down, rest = l.tensorExpr(out, nil, e.shape), append(rest, low)
		left -= shift
	}
	return down, rest
}

// floorParts is ⌊e/2^shift⌋, too wide for a table, as a multiple of 2^k and k bits
// below that, and what is left of e.
func (l *builder) floorParts(name string, e *expr, shift, k int) (high, low, rest *expr) {
	if e.abs() >= model.Bound {
		refuse("values of up to %d cannot be rounded to whole numbers", e.abs())
	}
	lo, hi := e.min>>(shift+k), e.max>>(shift+k)
	id := l.witness(name+", high", e.shape, 0, lo, hi)
	below := l.cut(e, shift+k, l.piecewiseOf(keep, -model.Bound, model.Bound, max(tableBits(lo, hi), formatTable)), id)
	lid := l.witness(name+", low", e.shape, 0, 0, 1<<k-1)
	rest = l.cut(below, shift, l.shiftedTable(k, 0), lid)
	l.inRange(rest, shift)
	high, low = l.tensorExpr(id, nil, e.shape).times(1<<k), l.tensorExpr(lid, nil, e.shape)
	high.frac = 0
	return high, low, rest
}

// clampWhole is min(max(e, lo), hi) of whole numbers too wide for a table: lo plus
// what e is above it, where it is, and likewise below hi.
func (l *builder) clampWhole(name string, e *expr, lo, hi int64) *expr {
	above := func(e *expr) *expr { // max(e, 0)
		c := l.notNegative(name+", within", e)
		var id model.TensorID
		if e.linear() && e.acc.Const == 0 {
			id = l.virtualOf(name+", by", e)
		} else {
			id = l.exact(name+", by", e)
		}
		out := l.rowProduct(e.shape, c, id, max(e.max, 0))
		out.frac = e.frac
		return out
	}
	if e.min < lo {
		e = above(e.plusConst(-lo)).plusConst(lo)
	}
	if e.max > hi {
		y := above(e.times(-1).plusConst(hi)).times(-1).plusConst(hi)
		y.min, y.max = max(min(e.min, hi), lo), hi
		e = y
	}
	return e
}

// trunc is ⌊e + (2^f − 1)·[e < 0]⌋ for e with f bits of fraction.
func (l *builder) trunc(name string, e *expr) *expr {
	if e.min >= 0 {
		down, _ := l.floor(name, e)
		return down
	}
	if e.frac >= 30 || e.abs() < 1<<e.frac {
		return &expr{shape: e.shape} // nothing but 0
	}
	id := l.notNegative("not negative", e)
	c := int64(1)<<e.frac - 1
	up := l.tensorExpr(id, nil, e.shape).times(-c)
	up.frac = e.frac
	up = up.plusConst(c)
	sum := e.plus(up)
	sum.min, sum.max = e.min, max(e.max, c)
	if sum.max >= model.Bound-c {
		refuse("values of up to %d cannot be rounded to whole numbers", e.abs())
	}
	down, _ := l.floor(name, sum)
	return down
}

// round2even is ⌊e + ½⌋, less 1 where e is half-way between whole numbers and that
// is odd.
func (l *builder) round2even(name string, e *expr) *expr {
	if e.frac > 30 || e.abs() <= 1<<(e.frac-1) {
		return &expr{shape: e.shape} // nothing but 0
	}
	if e.abs()+1<<(e.frac-1) >= model.Bound {
		refuse("values of up to %d cannot be rounded to whole numbers", e.abs())
	}
	up, rest := l.floor(name, e.plusConst(int64(1)<<(e.frac-1)))
	// The parts are not negative, so their sum is 0 where each of them is.
	sum := rest[0]
	for _, r := range rest[1:] {
		sum = sum.plus(r)
	}
	halfway := l.isZero("half-way", sum)
	hid := halfway.acc.Linear[0].Src
	if len(halfway.acc.Linear) > 1 {
		hid = l.virtualOf("half-way", halfway)
	}
	var bit *expr // the lowest of up
	if bits := tableBits(up.min>>1, up.max>>1); bits > wideTable {
		_, _, bit = l.floorParts("half", up, 1, bits-wideTable+3)
	} else {
		half := l.witness("half", e.shape, 0, up.min>>1, up.max>>1)
		bit = l.cut(up, 1, l.piecewiseOf(keep, -model.Bound, model.Bound, max(bits, formatTable)), half)
		l.inRange(bit, 1)
	}
	odd := l.rowProduct(e.shape, hid, bit.acc.Linear[0].Src, 1)
	out := up.plus(odd.times(-1))
	out.min, out.max = up.min-1, up.max
	return out
}
