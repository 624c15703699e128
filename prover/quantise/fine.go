package quantise

import (
	"math"

	"github.com/prove-model/prove-model/prover/model"
)

// fineBits are the bits beside the sign that the high limb of a function's argument has
// where its clamp table has at most two rows for an entry of the argument.
const fineBits = 13

// fineFunction makes the tensor of a function of a wide value x = 2^k·high + low, which
// no table of all values could be for. From one multiple of 2^k to the next the function
// is taken for straight,
//
//	f(x) ≈ start(high) + slope(high)·low,
//
// with two look-ups of high and one product, which is then rounded to the function's
// format. None where the argument is not wide, or where a table of narrowBits is closer
// to the function: it may have poles, or waves.
func (l *lowering) fineFunction(v *value) (model.TensorID, bool) {
	base := v.fn.base
	if l.opts.Mode == modeW8A8 || l.formatted(base) <= narrowBits || base.rng.abs() == 0 || v.rng.abs() == 0 {
		return model.None, false
	}
	frac := l.fracFor(l.formatted(base), base.rng)
	if base.id == model.None && base.pending != nil {
		base.low = l.fineLow(base, frac)
	}
	if base.low == 0 {
		base.low = lowBits(l.formatted(base))
	}
	if !straighter(v.fn.curve, base.rng.abs()*l.opts.Headroom, pow2(base.low-frac)) {
		base.low = 0
		return model.None, false
	}
	id := l.raw(base)
	if t := &l.g.Tensors[id]; t.Max < 1<<narrowBits && t.Min > -1<<narrowBits {
		return model.None, false // its accumulator had no more
	}
	p := l.partsOf(id)
	high := l.g.Tensors[p.high]
	from, to := keyDomain(high.Min, high.Max)
	if to-from >= 1<<narrowBits {
		return model.None, false
	}
	// The function where the high limbs begin, within what the result can be.
	most := 2 * float64(v.rng.abs()*l.opts.Headroom)
	start := make([]float64, to-from+2)
	var saturated []model.Rows
	largest := 0.0
	for i := range start {
		x := float64((from+int64(i))<<p.bits) * pow2(-l.g.Tensors[id].Frac)
		y := v.fn.at(x)
		if math.IsNaN(y) || math.Abs(y) > most || v.fn.inside != nil && !v.fn.inside(x) {
			saturated = append(saturated, model.Rows{From: max(int64(i)-1, 0), To: min(int64(i), to-from) + 1})
		}
		if y = math.Max(-most, math.Min(most, y)); math.IsNaN(y) {
			y = 0
		}
		start[i], largest = y, math.Max(largest, math.Abs(y))
	}
	out := l.fracFor(l.bitsOf(v), v.rng)
	steepest := 0.0
	for i := range start[1:] {
		steepest = math.Max(steepest, math.Abs(start[i+1]-start[i]))
	}
	// As many bits below the result's as the slope's rounding needs, if there is room.
	frac = out + p.bits + 2
	for float64((largest+steepest)*pow2(frac)) >= model.Bound/2-pow2(p.bits) {
		frac--
	}
	starts, slopes := make([]int32, len(start)-1), make([]int32, len(start)-1)
	for i := range starts {
		starts[i] = int32(math.Round(start[i] * pow2(frac)))
		slopes[i] = int32(math.Round((start[i+1] - start[i]) * pow2(frac-p.bits)))
	}
	key := l.tensorExpr(p.high, nil, high.Shape)
	column := func(name string, values []int32, rows []model.Rows) model.TensorID {
		least, greatest := values[0], values[0]
		for _, y := range values {
			least, greatest = min(least, y), max(greatest, y)
		}
		id := l.witness(v.name+", "+name, high.Shape, frac, int64(least), int64(greatest))
		l.saturates(united(rows))
		l.direct(key, l.funcTable(v.fn.name+", "+name, from, values), id)
		return id
	}
	a, b := column("start", starts, saturated), column("slope", slopes, nil)
	low := int64(1)<<p.bits - 1
	labels := allLabels(high.Shape)
	ta, tb := &l.g.Tensors[a], &l.g.Tensors[b]
	e := l.tensorExpr(a, nil, high.Shape).plus(&expr{
		acc: model.Acc{Products: []model.Product{{Coef: 1, A: b, B: p.low, LabelsA: labels, LabelsB: labels}}},
		min: min(tb.Min*low, 0), max: max(tb.Max*low, 0),
	})
	e.shape, e.frac = high.Shape, ta.Frac
	return l.roundFormat(v, e, v.rng, l.bitsOf(v), wholeLine), true
}

// fineLow is the size of the low limb of a function's argument on a scale: the least
// with which the clamp table of the high one has at most two rows for an entry.
func (l *lowering) fineLow(base *value, frac int) int {
	bits, e := l.formatted(base), base.pending
	frac = max(min(frac, e.frac), e.frac-maxRounding)
	k := max(bits-fineBits, 1)
	for ; k < lowBits(bits); k++ {
		if rows := tableBits(keys(e, frac-k)); 1<<rows <= 2*l.entries(e.shape) && rows <= wideTable+1 {
			break
		}
	}
	return k
}

// straighter reports whether f is closer to straight lines between multiples of width
// than to what a table of 2^narrowBits values on [−r, r] has, in the mean of squares.
func straighter(f curve, r, width float64) bool {
	const samples = 1 << 12
	half := float64(r * pow2(-narrowBits))
	var lines, table float64
	for i := range samples {
		// No scale has these numbers, so that neither side is met where it is exact.
		at := float64(r * (float64(float64(2*i+1)/samples) - 1) * 0.9990234)
		left := float64(math.Floor(at/width) * width)
		share := (at - left) / width
		a, b, y := f.at(left), f.at(left+width), f.at(at)
		off := a + float64(share*(b-a)) - y
		slope := (f.at(at+half) - f.at(at-half)) / math.Sqrt(12)
		if math.IsNaN(off+slope) || math.IsInf(off+slope, 0) || f.inside != nil && !f.inside(at) {
			return false
		}
		lines, table = lines+float64(off*off), table+float64(slope*slope)
	}
	return lines < table
}
