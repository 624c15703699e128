package quantise

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// parts are the two limbs of a wide tensor, which is 2^bits·high + low with
// 0 ≤ low < 2^bits. Look-ups force them.
type parts struct {
	high, low model.TensorID
	bits      int
}

// wideTable is the largest table that a wide value is rounded with; beyond it the
// value is rounded to limbs.
const wideTable = 17

// narrowTable is the largest table that is taken for a function whatever the number
// of entries. With limbs an entry takes three look-ups more, and each costs about as
// much as a row: larger tables are for 2^rowsPerEntry times fewer entries than rows.
const (
	narrowTable  = 16
	rowsPerEntry = 2
)

// formatTable is the least table of a value with a format of its own, so that
// values that differ little share one.
const formatTable = 12

// roundFormat is round for a value with a format of its own. The tables that it
// takes are the value's own, and of any size.
func (l *lowering) roundFormat(v *value, e *expr, rng Range, bits int, f piecewise) model.TensorID {
	frac := e.frac
	if rng.abs() > 0 {
		frac = l.fracFor(bits, rng)
	}
	if frac = max(min(frac, e.frac), e.frac-maxRounding); v.low > 0 && bits > narrowBits && f == wholeLine && tableBits(keys(e, frac)) > narrowBits {
		l.reported(e, frac, bits)
		return l.roundToLimbs(v.name, e, frac, bits, v.low, f)
	}
	if bits <= narrowBits && f == wholeLine && l.scored(v) {
		if table := max(tableBits(keys(e, frac)), formatTable); table <= model.MaxTableBits {
			l.reported(e, frac, bits)
			if frac <= leastKey {
				bits = max(bits, frac+sharedScores)
			}
			return l.roundOnce(v.name, e, frac, bits, table, f)
		}
	}
	return l.roundOn(v.name, e, frac, bits, f)
}

// roundAt rounds e, which stands for v, to a scale on which it may be wide. It is
// clamped at the next power of two beyond its calibrated range, head-room included,
// if the static bound is wider.
func (l *lowering) roundAt(v *value, e *expr, frac int) model.TensorID {
	if e.frac-frac > maxRounding || keysAreZero(e, frac) {
		return l.roundTo(v.name, e, frac)
	}
	frac = min(frac, e.frac)
	bits := formatBits
	if r := v.rng.abs() * l.opts.Headroom * pow2(frac); r > 0 {
		bits = min(max(floorLog2(r)+1, 4), bits)
	}
	return l.roundOn(v.name, e, frac, bits, wholeLine)
}

func keysAreZero(e *expr, frac int) bool {
	lo, hi := keys(e, frac)
	return lo == 0 && hi == 0
}

// roundOn adds the look-ups of out = clamp(f(round(e))) on a scale, or on e's own
// if that is coarser; out has at most the given bits. A table that would be too
// large is done without: by limbs where f is a clamp to those bits, by a coarser
// scale otherwise.
func (l *builder) roundOn(name string, e *expr, frac, bits int, f piecewise) model.TensorID {
	return l.roundOnLow(name, e, frac, bits, lowBits(bits), f)
}

// carryOn is roundOn for what only sums read, so that it may have any limbs: both look-ups
// have keys of about as many bits.
func (l *builder) carryOn(name string, e *expr, frac int) model.TensorID {
	shift := max(e.frac-frac, 0)
	low := (tableBits(keys(e, frac))+shift)/2 - shift
	if t := (restTable{shift + low, shift}); low < 1 || shift == 0 || t.bits > mostRest || !l.plan.paysRest(t) {
		low = lowBits(formatBits)
	}
	return l.roundOnLow(name, e, frac, formatBits, low, wholeLine)
}

// roundOnLow is roundOn with a low limb of k bits, if it comes to limbs.
func (l *builder) roundOnLow(name string, e *expr, frac, bits, k int, f piecewise) model.TensorID {
	frac = max(min(frac, e.frac), e.frac-maxRounding)
	line := f == wholeLine
	table := tableBits(keys(e, frac))
	few := table > narrowTable && l.entries(e.shape) < 1<<(table-rowsPerEntry) // for which such a table costs more than limbs do
	if !line && bits > narrowBits && (few || table > model.MaxTableBits) && f == rectifier {
		return l.rectified(name, e, frac, bits)
	}
	if over := bits - narrowBits; !line && table > model.MaxTableBits && over > 0 {
		frac, bits = frac-over, narrowBits
		table = max(table-over, tableBits(keys(e, frac))) // which rounds up
	}
	if !line && (table > model.MaxTableBits || few && table > bits+1) {
		e = l.tensorExpr(l.roundToParts(name+", rounded", e, frac, bits, f), nil, e.shape)
		table = tableBits(keys(e, frac))
	}
	// As far below zero as above: that products of two such values are 2^(a+b) at most.
	top := int64(1)<<bits - 1
	lo, hi := f.at(frac)
	lo, hi = max(lo, -top), min(hi, top)
	kmin, kmax := keys(e, frac)
	outMin, outMax := f.image(kmin, kmax, lo, hi)
	if e.frac == frac && f.kind == keep && outMin == kmin && outMax == kmax && e.linear() && e.acc.Const == 0 && len(e.acc.Linear) > 0 {
		return l.virtualOf(name, e)
	}
	l.reported(e, frac, bits)
	if line {
		table = min(max(table, formatTable), 30-(e.frac-frac))
		if table > wideTable || bits > leastLimbed && l.sparse(clampTable{lo, hi, table}, e.shape) {
			return l.roundToLimbs(name, e, frac, bits, k, f)
		}
	}
	return l.roundOnce(name, e, frac, bits, table, f)
}

// roundOnce is roundOn with one look-up, in a table of that size or a little larger.
func (l *builder) roundOnce(name string, e *expr, frac, bits, table int, f piecewise) model.TensorID {
	top := int64(1)<<bits - 1
	flo, fhi := f.at(frac)
	lo, hi := max(flo, -top), min(fhi, top)
	kmin, kmax := keys(e, frac)
	outMin, outMax := f.image(kmin, kmax, lo, hi)
	out := l.witness(name, e.shape, frac, outMin, outMax)
	low, high := kmin < lo && lo > flo && f.kind == keep, kmax > hi && hi < fhi
	if f.kind == absolute {
		high = outMax == hi && max(-kmin, kmax) > hi && hi < fhi
	}
	// An accumulator whose keys take a larger table is refused with the look-up.
	rows := l.piecewiseOf(f.kind, lo, hi, min(max(table, formatTable), 30-(e.frac-frac)))
	l.clamped(rows, f.kind, lo, hi, low, high)
	l.lookup(e, frac, rows, out)
	return out
}

// reported notes the precision of a step that has what it asks for.
func (l *builder) reported(e *expr, frac, bits int) {
	l.steps = append(l.steps, stepReport{StepReport{
		Node: l.name, Entries: l.entries(e.shape), Bits: bits, Wanted: bits, Frac: frac, Shift: e.frac - frac, TableBits: tableBits(keys(e, frac)),
	}, 1})
}

// leastLimbed is the least size of a value that limbs hold: a low limb's.
const leastLimbed = 10

// tableBits is the size of the least table [−2^(n−1), 2^(n−1)) with these keys.
func tableBits(lo, hi int64) int {
	n := 1
	for lo < -(1<<(n-1)) || hi >= 1<<(n-1) {
		n++
	}
	return n
}

// lowBits is the size of the low limb of a value.
func lowBits(bits int) int {
	if bits <= narrowBits {
		return 10
	}
	return min((bits+1)/2, mostLow)
}

// mostLow is the most that a low limb has.
const mostLow = 13

// roundToParts rounds e to a scale, as two limbs: with s = e.frac − frac and low
// limbs of k bits
//
//	e + 2^(s−1) = 2^(s+k)·high + rest,   rest = 2^s·low + remainder.
//
// A second look-up, of the rest in a table of its upper bits, forces the rest's range and
// gives the low limb at once; where such a table has too few uses two look-ups do, of the
// low limb and of the remainder.
//
// The clamp to the given bits is that of the high limb: beyond it, the low limb
// is what it would be without. Of what is clamped that counts as saturated which f, the
// function that is made of the value, is not flat beyond.
func (l *builder) roundToParts(name string, e *expr, frac, bits int, f piecewise) model.TensorID {
	return l.roundToLimbs(name, e, frac, bits, lowBits(bits), f)
}

// roundToLimbs is roundToParts with a low limb of k bits.
func (l *builder) roundToLimbs(name string, e *expr, frac, bits, k int, f piecewise) model.TensorID {
	shift := e.frac - frac
	one := shift > 0 && l.paysRest(restTable{shift + k, shift}, e.shape)
	// The remainder's range is as large as low's, if that is exact.
	if up := k - shift; shift > 0 && !one && up > 0 && l.fits30(e.plusConst(1<<(shift-1)), up) && l.fits30(e.plusConst(-1<<(shift-1)), up) {
		e = e.times(1 << up)
		shift = k
	}
	half := int64(0)
	if shift > 0 {
		half = 1 << (shift - 1)
	}
	// Where the static bound is far beyond the calibrated range the low limb gives the
	// high one room.
	for k < mostLow && tableBits((e.min+half)>>(shift+k), (e.max+half)>>(shift+k)) > model.MaxTableBits {
		k++
	}
	kmin, kmax := (e.min+half)>>(shift+k), (e.max+half)>>(shift+k)
	top := int64(1) << max(bits-k, 0)
	lo, hi := max(kmin, -top), min(kmax, top-1)
	high := l.witness(name+", high", e.shape, frac-k, lo, hi)
	table := tableBits(kmin, kmax)
	if table > model.MaxTableBits || e.abs()+half >= model.Bound || shift+k+table > 30 || shift+k > model.MaxShift {
		refuse("an accumulator of up to %d cannot be rounded to limbs", e.abs())
	}
	rest := l.witness("low bits", e.shape, 0, 0, int64(1)<<(shift+k)-1)
	cut := model.Step{
		Kind: model.StepLookup, Name: l.name, Shape: e.shape, Acc: e.acc, Shift: shift + k, Lo: rest, Out: high, Den: model.None,
	}
	if lo == kmin && hi == kmax { // nothing is clamped: one table of that size for all
		cut.Table = l.piecewiseOf(keep, -model.Bound, model.Bound, table)
	} else {
		cut.Table = l.piecewiseOf(keep, lo, hi, table)
		flo, fhi := f.at(frac)
		l.clamped(cut.Table, keep, lo, hi, lo > kmin && (f.kind != keep || flo < lo<<k), hi < kmax && (f.kind != keep || fhi > (hi+1)<<k-1))
	}
	cut.Acc.Const += half
	l.g.Steps = append(l.g.Steps, cut)
	low := rest
	if shift > 0 {
		low = l.witness(name+", low", e.shape, frac, 0, int64(1)<<k-1)
	}
	switch {
	case one:
		l.direct(l.tensorExpr(rest, nil, e.shape), l.stretchedTable(k, shift), low)
	case shift > 0:
		remainder := l.witness("low bits", e.shape, 0, 0, int64(1)<<shift-1)
		l.g.Steps = append(l.g.Steps, model.Step{
			Kind: model.StepLookup, Name: l.name, Shape: e.shape, Acc: l.tensorExpr(rest, nil, e.shape).acc,
			Shift: shift, Lo: remainder, Table: l.shiftedTable(k, 0), Out: low, Den: model.None,
		})
		l.inRange(l.tensorExpr(remainder, nil, e.shape), shift)
	default:
		l.inRange(l.tensorExpr(low, nil, e.shape), k)
		l.g.Tensors[low].Frac = frac
	}
	return l.joined(name, parts{high, low, k})
}

// rectified is max(round(e), 0) on a scale, as two limbs: those of e, clamped to the
// given bits, times 1 where the high one is not negative, and 0 elsewhere.
func (l *builder) rectified(name string, e *expr, frac, bits int) model.TensorID {
	id := l.roundToParts(name+", rounded", e, frac, bits, rectifier)
	p := l.partsOf(id)
	positive := l.notNegative(name+", sign", l.tensorExpr(p.high, nil, e.shape))
	times := func(what string, limb model.TensorID) model.TensorID {
		t := &l.g.Tensors[limb]
		product := l.rowProduct(e.shape, positive, limb, max(t.Max, 0))
		product.frac = t.Frac
		return l.exact(name+what, product)
	}
	return l.joined(name, parts{times(", high", p.high), times(", low", p.low), p.bits})
}

// joined returns the tensor that has these limbs.
func (l *builder) joined(name string, p parts) model.TensorID {
	high, low := l.g.Tensors[p.high], l.g.Tensors[p.low]
	id := l.add(model.Tensor{
		Name: name, Shape: high.Shape, Kind: model.Virtual, Frac: low.Frac,
		Min: high.Min<<p.bits + low.Min, Max: high.Max<<p.bits + low.Max,
		Def: []model.Linear{{Coef: 1 << p.bits, Src: p.high}, {Coef: 1, Src: p.low}},
	})
	l.parts[id] = p
	return id
}

// partsOf returns the limbs of a tensor, by look-ups unless it was rounded to
// limbs in the first place.
func (l *builder) partsOf(id model.TensorID) parts {
	if p, ok := l.parts[id]; ok {
		return p
	}
	t := l.g.Tensors[id]
	p := parts{bits: model.Log2Ceil(int(l.magnitude(id))+1) / 2}
	kmin, kmax := t.Min>>p.bits, t.Max>>p.bits
	p.high = l.witness(t.Name+", high", t.Shape, t.Frac-p.bits, kmin, kmax)
	p.low = l.witness(t.Name+", low", t.Shape, t.Frac, 0, int64(1)<<p.bits-1)
	table := tableBits(kmin, kmax)
	l.g.Steps = append(l.g.Steps, model.Step{
		Kind: model.StepLookup, Name: l.name, Shape: t.Shape, Acc: l.tensorExpr(id, nil, t.Shape).acc,
		Shift: p.bits, Lo: p.low, Table: l.piecewiseOf(keep, kmin, kmax, table), Out: p.high, Den: model.None,
	})
	l.inRange(l.tensorExpr(p.low, nil, t.Shape), p.bits)
	l.parts[id] = p
	return p
}

// fits30 reports whether e scaled up by 2^s can still be looked up.
func (l *builder) fits30(e *expr, s int) bool {
	return float64(e.abs())*pow2(s) < model.Bound/2 && coefficients(e)*pow2(s) < model.Bound
}
