package lower

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerScalar, func(op graph.Scalar) Traits {
		return Traits{PerEntry: true, linear: op.Func == graph.Neg, jumps: wholes[op.Func.Single()] != nil}
	})
}

// wholes has the lowerings of functions that round to whole numbers. They are exact: they take the accumulator e as it
// is, before anything is rounded.
var wholes = map[*graph.Function]func(b *fixed.Builder, name string, e *fixed.Int) *fixed.Int{
	graph.Floor: floor,
	graph.Ceil: func(b *fixed.Builder, name string, e *fixed.Int) *fixed.Int {
		return floor(b, name, e.Times(-1)).Times(-1)
	},
	graph.Trunc: (*fixed.Builder).Trunc,
	graph.Round: (*fixed.Builder).Round2even,
}

func floor(b *fixed.Builder, name string, e *fixed.Int) *fixed.Int {
	down, _ := b.Floor(name, e)
	return down
}

// lowerScalar lowers the functions of one number.
func lowerScalar(l *lowering, op graph.Scalar, v *value, in []*value) {
	x, whole := in[0], wholes[op.Func.Single()]
	switch {
	case op.Func == graph.Neg && l.integers(v.name):
		v.acc = l.broadcast(x, v.shape).Times(-1)
	case op.Func == graph.Neg:
		l.mulScalar(v, x, -1)
	case l.integers(v.name) && op.Func.Clamp != nil:
		l.integerClamp(v, x, *boundsOf(op))
	case whole != nil && !x.nonlinear() && l.wholeQuotient(op, v, x):
	case whole != nil && !x.nonlinear():
		if v.acc = l.operandFlat(x); v.acc.Frac > 0 { // otherwise it is whole already
			v.acc = whole(l.Builder, v.name, v.acc)
		}
	case op.Func.Jumps && whole == nil:
		refuse.With("operator not supported")
	default: // also rounding of a function of another value, whose table then has whole numbers
		v.apply(x, graph.Kind(op), curveOf(op))
	}
}

// mostDivisor bounds the parts of a fraction by which wholeQuotient divides.
const mostDivisor = 1 << 12

// wholeQuotient lowers Floor, Ceil or Trunc of a value x = y·c, such as y/10, as a division, if c is the float32 nearest to a
// fraction n/d of small whole numbers: ⌊y·n/d⌋ is exact, where y times a rounded coefficient would be just below a whole number
// for every second c. It reports whether it did.
func (l *lowering) wholeQuotient(op graph.Scalar, v, x *value) bool {
	a, kind := x.affine, op.Func.Single()
	if a == nil || x.uses != 1 || x.id != model.None || a.add != 0 || a.mul == 0 || kind == graph.Round {
		return false
	}
	n, d := fraction(math.Abs(a.mul), mostDivisor, mostDivisor)
	if n == 0 || d&(d-1) == 0 || float32(float64(n)/float64(d)) != float32(math.Abs(a.mul)) { // a power of two divides exactly anyway
		return false
	}
	if a.mul < 0 {
		n = -n
	}
	e := l.operandFlat(a.of)
	num := float64(float64(e.Abs()) * math.Abs(float64(n)) * fixed.Pow2(max(-e.Frac, 0)))
	den := float64(float64(d) * fixed.Pow2(max(e.Frac, 0)))
	if num+den >= 1<<28 || den >= 1<<24 {
		return false
	}
	e = e.Times(n << max(-e.Frac, 0)).On(0)
	sign := int64(1)
	switch kind {
	case graph.Ceil: // −⌊−x⌋
		e, sign = e.Times(-1), -1
	case graph.Trunc: // rounded up if it is negative
		if e.Min < 0 {
			positive, up := l.Of(l.NotNegative("not negative", e)), int64(den)-1
			e = e.Plus(positive.Times(-up).PlusConst(up)).Within(e.Min, max(e.Max, up))
		}
	}
	down, _ := l.LongDivision(v.name, e, l.Scalar("divisor", int64(den)))
	v.acc = down.Times(sign).On(0)
	return true
}

// function says that a value is curve(base), entry by entry. A table needs a committed column, unless the
// function is piecewise (curve.piecewise).
type function struct {
	name string
	base *value
	curve
}

// affine says that a value is mul·of + add, entry by entry.
type affine struct {
	of       *value
	mul, add float64
}

// root returns the earlier value that x is a function of, and that function, if x has one use and no tensor
// yet. Otherwise it returns x and the identity.
func (x *value) root() (*value, curve) {
	if x.uses == 1 && x.id == model.None {
		if x.fn != nil {
			return x.fn.base, x.fn.curve
		}
		if a := x.affine; a != nil {
			return a.of, curve{at: func(t float64) float64 { return float64(a.mul*t) + a.add }, key: keyOf("affine", a.mul, a.add)}
		}
	}
	return x, curve{at: func(t float64) float64 { return t }, key: "x"}
}

// nonlinear reports whether x is known as a function of an earlier value (fn), has one use, and no tensor yet.
func (x *value) nonlinear() bool { return x.fn != nil && x.id == model.None && x.uses == 1 }

// apply makes v the function f of x. name is for its table.
func (v *value) apply(x *value, name string, f curve) {
	base, inner := x.root()
	// f is composed with x's own function. But if f is piecewise and x is affine, f is applied to x itself, whose
	// accumulator it clamps: the composition would not be piecewise.
	if base != x && (f.piecewise == nil || x.fn != nil) {
		f = inner.then(f)
	} else {
		base = x
	}
	v.fn = &function{name, base, f}
}

// clampFunction makes the tensor of a piecewise function: one look-up that
// rounds the base's accumulator as well.
func (l *lowering) clampFunction(v *value) model.TensorID {
	base, b := v.fn.base, *v.fn.piecewise
	e := l.operandFlat(base)
	if e.Frac == 0 { // whole numbers; the bounds may not be whole, and then need a finer scale
		ends := slices.DeleteFunc([]float64{b.Lo, b.Hi}, func(x float64) bool { return math.IsInf(x, 0) })
		e = l.refine(v, e, numbers{shown: ends}, magnitudeOf(ends), v.rng)
	}
	// Bounds that the argument's scale cannot express need a table.
	if limit := math.Max(math.Abs(b.Lo), math.Abs(b.Hi)); limit > 0 && limit*fixed.Pow2(e.Frac) < 32 {
		return l.tableFunction(v, l.narrowBitsOf(v))
	}
	if e.Frac <= 0 { // whole numbers are not rounded
		if fixed.TableBits(e.Min, e.Max) <= fixed.WideTable {
			return l.RoundOn(v.name, e, e.Frac, fixed.FormatBits, b)
		}
		if lo, hi := b.At(e.Frac); b.Kind == fixed.Keep && lo > -model.Bound/2 && hi < model.Bound/2 && e.Abs() < model.Bound/2 {
			return l.Exact(v.name, l.ClampWhole(v.name, e, lo, hi))
		}
	}
	r := l.piecewiseRange(v.rng, base.rng, b)
	rng := Range{Min: -r, Max: r}
	return l.roundValue(v, e, rng, l.formatted(v), l.Plan.Bits, b)
}

// piecewiseRange is the magnitude that sets the scale of a piecewise function's
// result, from the calibrated ranges of result and argument.
func (l *lowering) piecewiseRange(result, argument Range, b fixed.Piecewise) float64 {
	// Calibration may have missed larger results, so that a quarter of the argument's range counts as well.
	r := math.Max(result.Abs(), argument.Abs()/4)
	if limit := math.Max(math.Abs(b.Lo), math.Abs(b.Hi)); limit <= 2*r*l.opts.Headroom {
		r = limit / l.opts.Headroom // results beyond the bounds cannot occur
	}
	return r
}

// fusedEntries is the number of entries from which on a function is looked up with the argument's accumulator:
// then a table of all its keys, 2^16 rows at most, costs less than rounding and clamping the argument first.
const fusedEntries = 1 << 14

// tableFunction makes the tensor of v, a function of another value, by one look-up in a table with a committed
// column, with results of at most the given bits.
func (l *lowering) tableFunction(v *value, bits int) model.TensorID {
	// An argument that nothing else reads may be clamped where the function is flat (usefulRange).
	if base := v.fn.base; base.uses == 1 && base.id == model.None {
		r, most := l.reachOf(base.rng), l.reachOf(v.rng)
		flat := l.memory.useful.Of(keyOf(v.fn.key, r, most), func() float64 { return flatBeyond(v.fn.at, r, most) })
		base.useful = flat / l.opts.Headroom
	}
	e, frac := l.tableInput(v.fn.base)
	lo, hi := keyDomain(fixed.Keys(e, frac))
	return l.LookUp(v.name, v.fn.name, e, frac, lo, l.functionColumn(v, lo, hi, frac, bits))
}

// functionColumn is the column of the function v for keys from lo to hi, in units of 2^−frac, with
// results of at most the given bits. Its scale is set by the function's largest value, or by v's reach if the
// function has values beyond twice that. Nodes with the same column share it: the key under which it is
// remembered has all that it depends on.
func (l *lowering) functionColumn(v *value, lo, hi int64, frac, bits int) *fixed.Column {
	reach, whole, unit := l.reachOf(v.rng), l.integers(v.name), fixed.Pow2(-frac)
	values := sync.OnceValue(func() samples {
		return v.fn.sampled(hi-lo+1, func(key int64) float64 { return float64(lo+key) * unit })
	})
	key := fmt.Sprint("table of ", v.fn.key, " ", lo, hi, frac, bits, whole)
	key = l.keyWithin(key, 2*reach, func() float64 { return magnitudeOf(values().at) })
	return l.Column(key, func() *fixed.Column {
		values, most, top := values(), reach, int64(1)<<bits-1
		if largest := magnitudeOf(values.at); reach == 0 {
			most = magnitudeOf(slices.DeleteFunc(slices.Clone(values.at), func(y float64) bool { return math.IsInf(y, 0) }))
			if most > model.Bound {
				refuse.With("the function has values of up to %g, and calibration gives it no range", most)
			}
		} else if largest <= 2*reach {
			most = largest
		}
		switch {
		case whole: // integers are not scaled
			return values.column(0, model.Bound-1)
		case most > 0:
			return values.column(min(fixed.FloorLog2(float64(top)/most), 100), top)
		}
		return values.column(0, top)
	})
}

// keyDomain widens an interval of keys to [−2^n, 2^n) or [0, 2^n), so that
// steps with the same scales share a table although their bounds differ.
func keyDomain(lo, hi int64) (int64, int64) {
	n := int64(1)
	for hi >= n || -lo > n {
		n *= 2
	}
	if lo >= 0 {
		return 0, n - 1
	}
	return -n, n - 1
}

// flatBeyond returns the smallest t = r/2^i, down to about r/2^10, such that f hardly changes on [t, r] and on
// [−r, −t]: by less than 2^−14 of what it changes on [−r, r]. It returns 0 if f is constant, or changes by more than four
// times the magnitude of its results, most, as between poles, where samples tell nothing.
func flatBeyond(f func(float64) float64, r, most float64) float64 {
	samples := 64
	spread := func(from, to float64) float64 {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := range samples + 1 {
			y := f(from + float64((to-from)*float64(i))/float64(samples))
			lo, hi = math.Min(lo, y), math.Max(hi, y)
		}
		return hi - lo
	}
	whole := spread(-r, r)
	if !(whole > 0) || whole > 4*most {
		return 0
	}
	t := r
	for t > r/1024 && spread(t/2, r) < whole/(1<<14) && spread(-r, -t/2) < whole/(1<<14) {
		t /= 2
	}
	// A function that goes up and down may do so between the samples: look again with more of them.
	samples = 1 << 12
	if t < r && max(spread(t, r), spread(-r, -t)) > whole/(1<<12) {
		return r
	}
	return t
}

// tableInput returns the accumulator that a function's table is looked up
// with, and the scale of the keys, of which there are at most 2^16.
func (l *lowering) tableInput(base *value) (*fixed.Int, int) {
	if base.id == model.None && base.acc != nil && base.uses == 1 &&
		l.Entries(base.shape) >= fusedEntries && base.rng.Abs() > 0 {
		e := base.acc
		frac := min(e.Frac, l.fracFor(l.narrowBitsOf(base), base.rng))
		bits := min(16, 30-l.Plan.Shift())
		if l.formatted(base) > 0 {
			bits = 16
		}
		for loss := range 2 {
			if lo, hi := keyDomain(fixed.Keys(e, frac-loss)); hi-lo < 1<<bits {
				return e, frac - loss
			}
		}
	}
	id := l.raw(base)
	t := l.Circuit.Tensors[id]
	if lo, hi := keyDomain(t.Min, t.Max); hi-lo >= 1<<16 {
		e := l.Of(id)
		id = l.roundValue(base, e, base.rng, 15, l.Plan.Bits, fixed.WholeLine)
	}
	return l.Of(id), l.Circuit.Tensors[id].Frac
}

// boundsOf returns the piecewise function (a clamp, maybe of the magnitude) that an operator is, or nil if it is none.
func boundsOf(op graph.Op) *fixed.Piecewise {
	s, ok := op.(graph.Scalar)
	if !ok || s.Func.Clamp == nil {
		return nil
	}
	c := s.Func.Clamp(s.Params)
	b := &fixed.Piecewise{Kind: fixed.Keep, Lo: c.Lo, Hi: c.Hi}
	if c.Abs {
		b.Kind = fixed.Absolute
	}
	return b
}
