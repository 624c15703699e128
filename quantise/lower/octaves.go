package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// RelativeBits is the format of values of which readers need a part of each entry's own size,
// not of the range: the argument of a logarithm, of a root, of a power, and what is divided.
// With so many bits the functions of a value are looked up by octaves where that is closer,
// and divisions are differences of logarithms.
const RelativeBits = fixed.FormatBits

// relative reports whether a value has that format.
func (l *lowering) relative(v *value) bool {
	return l.opts.Mode != modeW8A8 && l.formatted(v) >= RelativeBits && v.rng.Abs() > 0
}

// octaveFunction makes the tensor of a function of a value by a table with a key for each
// 2^−11 of an octave. It returns None if the value has no relative format, or if straight
// lines or a table of as many values as there may be are as close.
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
	if both { // the negative ones after the others
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
		if math.IsInf(values.at[0], 0) || !values.inside[0] { // 0 may be something that was rounded
			values.at[0], _ = v.fn.value(unit / 2)
		}
		if !both && t.Min < 0 { // what is below 0 has the key of 0
			values.inside[0] = false
		}
		return values.column(frac, top)
	})
	return l.LookUp(v.name, v.fn.name, key, key.Frac, 0, c)
}

// magnitudeOf is |x| of a tensor that holds a value, and where x is not negative: None if
// calibration met no negative ones, where what is below 0 counts as 0.
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

// octavesCloser reports whether a table by octaves is closer to a function than straight lines
// between 2^fineBits points, and than a table of as many values as fixed.NarrowBits have: in the
// worst of arguments of all magnitudes that calibration met, in units of the result where that
// is relative, too.
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

// worse is the larger of two magnitudes, infinite where one is not a number.
func worse(a, b float64) float64 {
	if b = math.Abs(b); math.IsNaN(b) {
		return math.Inf(1)
	}
	return max(a, b)
}

const (
	// logFrac is the scale of logarithms whose difference a quotient is.
	logFrac = 12
	// logBits are the bits of such a logarithm, where it is a function of another value.
	logBits = 18
	// logOfNothing is the logarithm of 0: far below that of any quotient that is not 0.
	logOfNothing = -1 << 18
)

// divRelative lowers a/b for a divisor whose entries count each by its own size: the exponential
// of the difference of the logarithms, and the sign. Below half a unit of the result it is 0.
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

// sameSign is 1 where two values have one sign, of which each is given by where it is not
// negative; None if neither is ever negative.
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

// logarithm is that of the magnitudes of a value, on the scale logFrac, and where the value is not
// negative: None if it never is. A divisor that is 0 counts as half a unit and as saturated.
//
// A positive function of another value need not be there itself, nor fit into any format: its
// logarithm is a function of that one, too.
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
