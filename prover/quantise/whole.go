package quantise

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/model"
)

// lowerWhole lowers Floor, Ceil, Round and Trunc: exactly, of the accumulator of
// the operand, unless that is a function of another value, whose table then has the
// whole numbers.
func lowerWhole(l *lowering, n *graph.Node, op graph.Scalar, v *value) {
	x := l.values[n.Inputs[0]]
	if x.curved() {
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
func (l *lowering) floor(name string, e *expr) (down *expr, rest []*expr) {
	down = e
	for left := e.frac; left > 0; {
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

// trunc is ⌊e + (2^f − 1)·[e < 0]⌋ for e with f bits of fraction.
func (l *lowering) trunc(name string, e *expr) *expr {
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
func (l *lowering) round2even(name string, e *expr) *expr {
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
	// The lowest bit of up.
	half := l.witness("half", e.shape, 0, up.min>>1, up.max>>1)
	bit := l.cut(up, 1, l.piecewiseOf(keep, -model.Bound, model.Bound, max(tableBits(up.min>>1, up.max>>1), formatTable)), half)
	l.inRange(bit, 1)
	odd := l.rowProduct(e.shape, hid, bit.acc.Linear[0].Src, 1)
	out := up.plus(odd.times(-1))
	out.min, out.max = up.min-1, up.max
	return out
}
