package quantise

import (
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// maxRounding is the most bits that one look-up rounds off: an accumulator has
// no more.
const maxRounding = 28

// round adds the look-ups of out = clamp(f(round(e))) on a scale that gives
// magnitudes up to reach, 0 if nothing is known of them, the given number of bits, or
// fewer if the static bound would need a larger table. It returns the
// result's tensor, of e's shape.
func (l *builder) round(name string, e *expr, reach float64, bits int, f piecewise) model.TensorID {
	// A value that asks for more than the model's usual bits gets them as far
	// as the tables reach, but does not ask for larger ones.
	usual := min(bits, l.plan.bits)
	top := int64(1)<<bits - 1
	frac, want := e.frac, e.frac
	if reach > 0 {
		frac = floorLog2(float64(top) / reach)
		want = floorLog2(float64(int64(1)<<usual-1) / reach)
	}
	// Finer than the accumulator itself means nothing.
	frac, want = min(frac, e.frac), min(want, e.frac)
	half := int64(1) << (l.plan.tableBits - 1)
	fits := func(frac int) bool {
		lo, hi := keys(e, frac)
		return lo >= -half && hi < half
	}
	frac, want = max(frac, e.frac-maxRounding), max(want, e.frac-maxRounding)
	wide := frac
	for !fits(frac) {
		frac--
	}
	needTable := 1 // with which the wanted scale would fit
	for klo, khi := keys(e, want); klo < -(1<<(needTable-1)) || khi >= 1<<(needTable-1); {
		needTable++
	}
	if reach == 0 {
		needTable = 1 // nothing is known about the scale, so nothing is lost
	}
	if needTable > cheapTable && f == wholeLine && usual > leastLimbed {
		return l.roundOn(name, e, wide, bits, f) // in limbs
	}
	l.steps = append(l.steps, stepReport{StepReport{
		Node: l.name, Entries: l.entries(e.shape), Bits: usual - (want - frac), Wanted: usual,
		Frac: frac, Shift: e.frac - frac, TableBits: l.plan.tableBits,
	}, needTable})
	lo, hi := f.at(frac)
	lo, hi = max(lo, -top-1), min(hi, top)
	kmin, kmax := keys(e, frac)
	outMin, outMax := f.image(kmin, kmax, lo, hi)
	if e.frac == frac && f.kind == keep && outMin == kmin && outMax == kmax && e.linear() && e.acc.Const == 0 && len(e.acc.Linear) > 0 {
		return l.virtualOf(name, e) // nothing to round, nothing to clamp
	}
	out := l.witness(name, e.shape, frac, outMin, outMax)
	flo, fhi := f.at(frac)
	low, high := kmin < lo && lo > flo && f.kind == keep, kmax > hi && hi < fhi
	if f.kind == absolute {
		high = outMax == hi && max(-kmin, kmax) > hi && hi < fhi
	}
	table := l.piecewiseOf(f.kind, lo, hi, l.tableFor(e, frac))
	l.clamped(table, f.kind, lo, hi, low, high)
	l.lookup(e, frac, table, out)
	return out
}

// tableFor returns the size of the piecewise table for keys of e on the given
// scale: the model's own, unless more bits than usual must be dropped. Then the
// keys are as many bits shorter, as e is within 2^29.
func (l *builder) tableFor(e *expr, frac int) int {
	return min(l.plan.tableBits, 30-(e.frac-frac))
}

// roundTo rounds e to the given frac, or a coarser one if the largest tables
// are too small, without a clamp; for operands of sums, where what matters is
// the scale. What rounds to nothing on that scale becomes a constant.
func (l *builder) roundTo(name string, e *expr, frac int) model.TensorID {
	half := int64(1) << (l.plan.tableBits - 1)
	lo, hi := keys(e, frac)
	if e.frac-frac > maxRounding || lo == 0 && hi == 0 {
		zero := l.fixed(name, nil, frac, 0, 0, func([]int32, int) {})
		return l.virtual(name, e.shape, []model.Linear{{Coef: 1, Src: zero, View: labelView(nil, e.shape)}}, frac)
	}
	if own := l.ownTables || l.plan.tableBits >= cheapTable; own && (lo < -half || hi >= half) {
		return l.roundOn(name, e, frac, formatBits, wholeLine) // with a table of its own, or limbs
	}
	for lo < -half || hi >= half {
		frac--
		lo, hi = keys(e, frac)
	}
	out := l.witness(name, e.shape, frac, lo, hi)
	// The model's clamp table will do if it does not clamp these keys.
	top, bits := int64(1)<<l.plan.bits, l.tableFor(e, frac)
	if lo < -top || hi >= top {
		top, bits = half, model.Log2Ceil(int(max(-lo, hi+1)))+1
	}
	l.lookup(e, frac, l.piecewiseOf(keep, -top, top-1, bits), out)
	return out
}

// keys bounds round(e·2^(frac−e.frac)).
func keys(e *expr, frac int) (lo, hi int64) {
	shift := e.frac - frac
	switch {
	case shift <= 0:
		return e.min, e.max
	case shift > 40:
		return -1, 1
	}
	h := int64(1) << (shift - 1)
	return (e.min + h) >> shift, (e.max + h) >> shift
}

// lookup adds the step out = table(round(e·2^(frac−e.frac))) and the range
// steps of its remainder. out may be None for a range table.
func (l *builder) lookup(e *expr, frac int, table model.TableID, out model.TensorID) {
	shift := e.frac - frac
	step := model.Step{
		Kind: model.StepLookup, Name: l.name, Shape: e.shape,
		Lo: model.None, Table: table, Out: out, Den: model.None,
	}
	if shift == 0 {
		step.Acc = e.acc
		l.fit(&step, e)
		l.g.Steps = append(l.g.Steps, step)
		return
	}
	// Scale up to the model's common shift where that is exact, so that all
	// remainders share one range table.
	if k := min(l.plan.shift(), 30-l.g.Tables[table].Bits); shift < k {
		if s := k - shift; float64(e.abs())*pow2(s) < model.Bound-pow2(k) && coefficients(e)*pow2(s) < model.Bound {
			e = e.times(1 << s)
			shift = k
		}
	}
	tooWide := shift > model.MaxShift || e.abs()+1<<(shift-1) >= model.Bound || shift+l.g.Tables[table].Bits > 30
	if tooWide && !l.draft {
		refuse("an accumulator of up to %d cannot be rounded by %d bits", e.abs(), shift)
	}
	lo := l.witness("low bits", e.shape, 0, 0, 1<<shift-1)
	// Half a unit is added, so that keys are rounded; less where the greatest accumulator
	// would leave the table for that, which rounds down a little more.
	half := int64(1) << (shift - 1)
	if t := &l.g.Tables[table]; e.max < (t.Min+1<<t.Bits)<<shift {
		half = min(half, (t.Min+1<<t.Bits)<<shift-1-e.max)
	}
	step.Acc = e.acc
	step.Acc.Const += half
	step.Shift, step.Lo = shift, lo
	l.fit(&step, e.plusConst(half))
	l.g.Steps = append(l.g.Steps, step)
	l.inRange(l.tensorExpr(lo, nil, e.shape), shift)
}

// fit refuses a look-up whose table has not all keys of its accumulator: inputs within
// their ranges would have no proof.
func (l *builder) fit(s *model.Step, acc *expr) {
	t := &l.g.Tables[s.Table]
	first, last := acc.min>>s.Shift, acc.max>>s.Shift
	switch {
	case l.draft: // which nobody runs
	case acc.abs() >= model.Bound:
		refuse("an accumulator of up to %d may not be within ±2^30", acc.abs())
	case !t.Contains(first) || !t.Contains(last):
		refuse("keys from %d to %d do not fit in a table of 2^%d rows from %d", first, last, t.Bits, t.Min)
	}
}

// coefficients is the largest coefficient of an accumulator.
func coefficients(e *expr) float64 {
	c := math.Abs(float64(e.acc.Const))
	for i := range e.acc.Linear {
		c = math.Max(c, math.Abs(float64(e.acc.Linear[i].Coef)))
	}
	for i := range e.acc.Products {
		c = math.Max(c, math.Abs(float64(e.acc.Products[i].Coef)))
	}
	return c
}

// inRange adds the steps that force 0 ≤ e < 2^bits: one look-up, or two limbs
// when the model's range table is smaller and a larger one does not pay.
func (l *builder) inRange(e *expr, bits int) {
	k := l.plan.shift()
	step := model.Step{
		Kind: model.StepLookup, Name: l.name, Shape: e.shape, Acc: e.acc,
		Lo: model.None, Out: model.None, Den: model.None,
	}
	if bits <= k || l.paysRest(restTable{bits: bits}, e.shape) {
		step.Table = l.rangeTable(bits)
		l.g.Steps = append(l.g.Steps, step)
		return
	}
	if bits > 30 {
		refuse("a range of %d bits", bits)
	}
	lo := l.witness("low bits", e.shape, 0, 0, 1<<k-1)
	step.Shift, step.Lo, step.Table = k, lo, l.rangeTable(bits-k)
	l.g.Steps = append(l.g.Steps, step)
	low := l.tensorExpr(lo, nil, e.shape)
	l.g.Steps = append(l.g.Steps, model.Step{
		Kind: model.StepLookup, Name: l.name, Shape: e.shape, Acc: low.acc,
		Lo: model.None, Table: l.rangeTable(k), Out: model.None, Den: model.None,
	})
}
