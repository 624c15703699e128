package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// RelativeBits is the number of bits of the relative format. It is for values whose readers need each entry to a precision
// in proportion to the entry itself, not to the range: arguments of logarithms, roots and powers, and both operands of
// divisions. Functions of a value with this format are looked up by octaves where that is closer,
// and quotients by it are computed as differences of logarithms.
const RelativeBits = fixed.FormatBits

// relative reports whether a value has the relative format.
func (l *lowering) relative(v *value) bool {
	return l.opts.Mode != modeW8A8 && l.formatted(v) >= RelativeBits && v.rng.Abs() > 0
}

// octaveFunction makes the tensor of v, a function of another value, by a table with 2^11 keys for
// each octave of the argument (fixed.Builder.Octaves). It returns None if the argument does not have the relative format, or if
// straight lines or a table for arguments of NarrowBits are as close.
func (l *lowering) octaveFunction(v *value) model.TensorID {
	base := v.fn.base
	if !l.relative(base) || v.rng.Abs() == 0 || !l.octavesCloser(v) {
		return model.None
	}
	id := l.raw(base)
	t := l.Circuit.Tensors[id]
	size, positive := l.magnitudeOf(base, id)
	key := l.Octaves(v.name, size)
	rows := int64(1) << model.Log2Ceil(int(key.Max+1))
	both := positive != model.None
	if both { // the keys of negative arguments come after the others
		key = key.Plus(l.Of(positive).Times(-rows)).PlusConst(rows)
		key.Min, key.Max, key.Frac = 0, 2*rows-1, 0
	}
	frac, top, unit := l.fracFor(l.bitsOf(v), v.rng), int64(1)<<l.bitsOf(v)-1, fixed.Pow2(-t.Frac)
	what := fmt.Sprint("octaves of ", v.fn.key, " ", rows, key.Max, t.Frac, t.Min < 0, both, frac, top)
	c := l.Column(what, func() *fixed.Column {
		values := v.fn.sampled(key.Max+1, func(key int64) float64 {
			x := float64(fixed.OctaveAt(key%rows) * unit)
			if key >= rows && both {
				x = -x
			}
			return x
		})
		if math.IsInf(values.at[0], 0) || !values.inside[0] { // not defined at 0: an entry of 0 may have been rounded, and counts as half a unit
			values.at[0], _ = v.fn.value(unit / 2)
		}
		if !both && t.Min < 0 { // arguments below 0 have the key of 0
			values.inside[0] = false
		}
		return values.column(frac, top)
	})
	return l.LookUp(v.name, v.fn.name, key, key.Frac, 0, c)
}

// magnitudeOf returns a tensor of |x|, for a value x that tensor id holds, and a tensor that is 1 where x is not
// negative and 0 elsewhere. If calibration met no negative entry, positive is None, and entries below 0 count as 0.
func (l *lowering) magnitudeOf(x *value, id model.TensorID) (size, positive model.TensorID) {
	t := l.Circuit.Tensors[id]
	if t.Min >= 0 {
		return id, model.None
	}
	e := l.Of(id)
	positive = l.NotNegative(x.name+", not negative", e)
	kept := l.EntryProduct(t.Shape, positive, id)
	if x.rng.Min < 0 {
		return l.Exact(x.name+", magnitude", kept.Times(2).Minus(e).Within(0, max(-t.Min, t.Max))), positive
	}
	return l.Exact(x.name+", magnitude", kept.Within(0, max(t.Max, 0))), model.None
}

// octavesCloser reports whether a table by octaves is closer to the function v than straight lines
// between multiples of 2^−fineBits of twice the argument's reach, and than a table for arguments of NarrowBits. It compares the largest
// errors over arguments of all magnitudes that calibration met; relative errors, if v has the relative format, too.
func (l *lowering) octavesCloser(v *value) bool {
	r := l.reachOf(v.fn.base.rng)
	least := math.Max(v.fn.base.rng.Least, float64(r*fixed.Pow2(-RelativeBits+4)))
	step := float64(2 * r * fixed.Pow2(-fineBits))
	var octaves, lines, table float64
	for size := v.fn.base.rng.Abs(); size >= least; size *= 0.9 {
		for _, x := range []float64{size, -size} {
			if x < v.fn.base.rng.Min || x > v.fn.base.rng.Max {
				continue
			}
			y := v.fn.at(x)
			d := float64(math.Abs(x) * fixed.OctaveError)
			left := float64(math.Floor(x/step) * step)
			share := (x - left) / step
			a, b := v.fn.at(left), v.fn.at(left+step)
			unit := 1.0
			if l.relative(v) && y != 0 {
				unit = math.Abs(y)
			}
			octaves = worse(octaves, (v.fn.at(x+d)-y)/unit)
			lines = worse(lines, (a+float64(share*(b-a))-y)/unit)
			table = worse(table, (v.fn.at(x+float64(r*fixed.Pow2(-fixed.NarrowBits)))-y)/unit)
		}
	}
	return octaves < lines && octaves < table
}

// worse is the larger of a and |b|; infinite if b is not a number.
func worse(a, b float64) float64 {
	if b = math.Abs(b); math.IsNaN(b) {
		return math.Inf(1)
	}
	return max(a, b)
}

const (
	// logFrac is the scale of the logarithms whose difference gives a quotient.
	logFrac = 12
	// logBits is the number of bits of such a logarithm, if it is computed as a function of an earlier value.
	logBits = 18
	// logOfNothing stands for the logarithm of 0, on the scale logFrac: far below that of any quotient that is not rounded to 0.
	logOfNothing = -1 << 18
)

// divRelative lowers v = a/b for a divisor b with the relative format, as ±exp(log |a| − log |b|). Quotients of less than
// half a unit of v's scale are 0.
func (l *lowering) divRelative(v, a, b *value) {
	la, pa := l.logarithm(a, false)
	lb, pb := l.logarithm(b, true)
	bits := l.bitsOf(v)
	frac := l.fracFor(bits, v.rng)
	top := int64(1)<<bits - 1
	key := func(y float64) int64 { return int64(math.Floor(elementary.Log(y*fixed.Pow2(-frac)) * (1 << logFrac))) }
	lo, hi := key(0.25), key(float64(top)+0.5)+1
	e := l.broadcastOf(la, v.shape).Minus(l.broadcastOf(lb, v.shape)).On(0)
	e = l.ClampWhole(v.name+", logarithm", e, lo, hi)
	c := l.Column(fmt.Sprint("quotient ", frac, top, lo, hi), func() *fixed.Column {
		values := curve{at: elementary.Exp}.sampled(hi-lo+1, func(key int64) float64 { return float64(lo+key) * fixed.Pow2(-logFrac) })
		values.at[0] = 0
		return values.column(frac, top)
	})
	id := l.LookUp(v.name+", magnitude", "quotient", e, e.Frac, lo, c)
	v.acc = l.Of(id)
	if p := l.sameSign(v, pa, pb); p != model.None {
		v.acc = l.EntryProduct(v.shape, p, id).Times(2).Minus(v.acc).Within(-top, top)
	}
}

// sameSign is a tensor of v's shape that is 1 where two values have the same sign, and 0 elsewhere. a and b are 1 where
// the values are not negative, or None for a value that never is. The result is None if both are None.
func (l *lowering) sameSign(v *value, a, b model.TensorID) model.TensorID {
	var have []model.TensorID
	for _, id := range slices.DeleteFunc([]model.TensorID{a, b}, func(id model.TensorID) bool { return id == model.None }) {
		have = append(have, l.VirtualOf("not negative", l.broadcastOf(id, v.shape)))
	}
	switch len(have) {
	case 0:
		return model.None
	case 1:
		return have[0]
	}
	e := l.EntryProduct(v.shape, have[0], have[1]).Times(2).Minus(l.Of(have[0])).Minus(l.Of(have[1]))
	return l.Exact(v.name+", same sign", e.PlusConst(1).Within(0, 1))
}

// logarithm returns a tensor of log |x| on the scale logFrac, and one that is 1 where x is not
// negative, or None if x never is. A divisor that is 0 counts as half a unit, and as saturated.
//
// If x is a positive function of an earlier value, the logarithm is computed as a function of that value. Then no tensor
// needs to hold x, which need not fit into any format.
func (l *lowering) logarithm(x *value, divisor bool) (id, positive model.TensorID) {
	const wide = 1 << (RelativeBits - 12)
	if r := x.rng; x.fn != nil && x.fn.piecewise == nil && r.Min > 0 && (x.nonlinear() || l.reachOf(r) > wide*r.Least) {
		most := math.Max(math.Abs(elementary.Log(r.Min)), math.Abs(elementary.Log(r.Max)))
		y := pending(value{
			name: x.name + ", logarithm", node: x.node, shape: x.shape, rng: Range{Min: -most, Max: most}, uses: 1, own: logBits,
			fn: &function{name: "logarithm of " + x.fn.name, base: x.fn.base, curve: x.fn.then(curve{at: elementary.Log, key: "log"})},
		})
		e := l.Of(l.tensor(y))
		if up := logFrac - e.Frac; up >= 0 {
			return l.VirtualOf(y.name, e.Finer(up)), model.None
		}
		return l.RoundTo(y.name, e, logFrac), model.None
	}
	size, positive := l.magnitudeOf(x, l.tensor(x))
	t := l.Circuit.Tensors[size]
	key := l.Octaves(x.name+", octaves", size)
	var saturated []model.Rows
	if divisor {
		saturated = []model.Rows{{From: 0, To: 1}}
	}
	c := l.Tabulated(fmt.Sprint("logarithm by octaves ", t.Frac, key.Max, divisor), key.Max+1, logFrac, func(i int) float64 {
		if i == 0 && !divisor {
			return logOfNothing
		}
		at := math.Max(fixed.OctaveAt(int64(i)), 0.5)
		return (elementary.Log(at) - float64(float64(t.Frac)*math.Ln2)) * (1 << logFrac)
	}, saturated...)
	return l.LookUp(x.name+", logarithm", "logarithm by octaves", key, key.Frac, 0, c), positive
}
