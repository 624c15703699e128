package fixed

import (
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// look adds the look-up out = table(⌊e/2^shift⌋). low is the tensor of the remainder, None if shift
// is 0.
func (b *Builder) look(e *Int, shift int, low model.TensorID, table model.TableID, out model.TensorID) {
	step := b.step(model.StepLookup, e.Shape, e.Acc)
	step.Shift, step.Lo, step.Table, step.Out = shift, low, table, out
	b.addStep(step)
}

// Mapped adds the look-up of e in a table. It returns table(e), a tensor on the scale frac whose
// entries are in [lo, hi].
func (b *Builder) Mapped(name string, e *Int, table model.TableID, frac int, lo, hi int64) model.TensorID {
	out := b.Witness(name, e.Shape, frac, lo, hi)
	b.LookupDirect(e, table, out)
	return out
}

// LookupDirect adds the look-up out = table(e), without a shift.
func (b *Builder) LookupDirect(e *Int, table model.TableID, out model.TensorID) {
	b.fit(e, 0, table)
	b.look(e, 0, model.None, table, out)
}

// NarrowBits is the most bits of a narrow value, besides the sign. A value with more is wide. A table of
// all values of a wide format would be too large, and so would its product with weights of a useful size
// in one accumulator, so wide values are held in two limbs.
const NarrowBits = 16

// WideTable is the largest table, in bits, that a wide value is rounded with. A value that needs a
// larger one is rounded to limbs.
const WideTable = 17

// narrowTable is the size, in bits, up to which a function has one table of all keys for any number of
// entries. A larger table is taken if it has at most 2^rowsPerEntry rows for each entry: with
// limbs an entry takes three look-ups more, and each costs about as much as a row.
const (
	narrowTable  = 16
	rowsPerEntry = 2
)

// FormatTable is the size, in bits, of the smallest table of a value with a format of its own, so that
// values whose formats differ little share one.
const FormatTable = 12

// RoundOn adds the look-ups of out = clamp(f(round(e))) on the scale frac, or on e's own if that is
// coarser. out has at most the given bits besides the sign.
//
// Where one table of all keys would be too large, or has too few uses for its size, a value that is
// only clamped to its bits (f = WholeLine) is rounded to limbs, and so is max(x, 0) of a wide value.
// For other functions a wide value gets a coarser scale, with NarrowBits; if that is not enough, e is
// first rounded to limbs and clamped, and the function has a table of what is left.
func (b *Builder) RoundOn(name string, e *Int, frac, bits int, f Piecewise) model.TensorID {
	return b.roundOnLow(name, e, frac, bits, LowBits(bits), f)
}

// RoundCarry rounds off the lowest bits of e, and returns the carry: round(e/2^bits). Only sums may
// read the carry, so if it is rounded to limbs, these may have any sizes: such that the keys of both
// look-ups have about as many bits.
func (b *Builder) RoundCarry(name string, e *Int, bits int) *Int {
	frac, shift := e.Frac-bits, max(bits, 0)
	low := (TableBits(Keys(e, frac))+shift)/2 - shift
	if t := (ownTable{bits: shift + low, drop: shift}); low < 1 || shift == 0 || !t.may() || !b.Plan.pays(t) {
		low = LowBits(FormatBits)
	}
	return b.Of(b.roundOnLow(name, e, frac, FormatBits, low, WholeLine))
}

// roundOnLow is RoundOn with a low limb of k bits, if the value is rounded to limbs.
func (b *Builder) roundOnLow(name string, e *Int, frac, bits, k int, f Piecewise) model.TensorID {
	frac = max(min(frac, e.Frac), e.Frac-MaxRounding)
	line := f == WholeLine
	table := TableBits(Keys(e, frac))
	few := table > narrowTable && b.Entries(e.Shape) < 1<<(table-rowsPerEntry) // for which such a table costs more than limbs do
	if !line && bits > NarrowBits && (few || table > model.MaxTableBits) && f == rectifier {
		return b.rectified(name, e, frac, bits)
	}
	if over := bits - NarrowBits; !line && table > model.MaxTableBits && over > 0 {
		frac, bits = frac-over, NarrowBits
		table = max(table-over, TableBits(Keys(e, frac))) // rounding may take the greatest key one bit further
	}
	if !line && (table > model.MaxTableBits || few && table > bits+1) {
		e = b.View(b.RoundSplit(name+", rounded", e, frac, bits, LowBits(bits), f), nil, e.Shape)
		table = TableBits(Keys(e, frac))
	}
	lo, hi := f.within(frac, bits)
	if e.stays(frac, f, lo, hi) {
		return b.VirtualOf(name, e)
	}
	b.Reported(e, frac, bits)
	if line {
		table = min(max(table, FormatTable), 30-(e.Frac-frac))
		if table > WideTable || bits > leastLimbed && !b.pays(ownTable{clamps: true, lo: lo, hi: hi, bits: table}, e.Shape) {
			return b.RoundSplit(name, e, frac, bits, k, f)
		}
	}
	return b.RoundOnce(name, e, frac, bits, table, f)
}

// within is the clamp of f in integers on the scale frac, and to at most the given bits: as far below
// zero as above, so that products of values of a and b bits are 2^(a+b) at most.
func (f Piecewise) within(frac, bits int) (lo, hi int64) {
	top := int64(1)<<bits - 1
	lo, hi = f.At(frac)
	return max(lo, -top), min(hi, top)
}

// stays reports whether e is a sum of views on the scale frac, and neither f nor a clamp to
// [lo, hi] changes any of its values.
func (e *Int) stays(frac int, f Piecewise, lo, hi int64) bool {
	kmin, kmax := Keys(e, frac)
	outMin, outMax := f.image(kmin, kmax, lo, hi)
	return e.Frac == frac && f.Kind == Keep && outMin == kmin && outMax == kmax && e.Views() && len(e.Acc.Linear) > 0
}

// RoundOnce is RoundOn with one look-up, in a table of 2^table rows, or of 2^FormatTable if that is more.
func (b *Builder) RoundOnce(name string, e *Int, frac, bits, table int, f Piecewise) model.TensorID {
	lo, hi := f.within(frac, bits)
	return b.roundIn(name, e, frac, f, lo, hi, min(max(table, FormatTable), 30-(e.Frac-frac)))
}

// roundIn adds the look-up of out = f(round(e)), clamped to [lo, hi], in a table of 2^bits
// rows. Clamping counts as saturation where [lo, hi] is narrower than f's own clamp and e may be
// beyond it. An accumulator whose keys need a larger table is refused.
func (b *Builder) roundIn(name string, e *Int, frac int, f Piecewise, lo, hi int64, bits int) model.TensorID {
	flo, fhi := f.At(frac)
	table := b.PiecewiseOf(f.Kind, lo, hi, bits)
	kmin, kmax := b.keysIn(table, e, frac)
	outMin, outMax := f.image(kmin, kmax, lo, hi)
	out := b.Witness(name, e.Shape, frac, outMin, outMax)
	low, high := kmin < lo && lo > flo && f.Kind == Keep, kmax > hi && hi < fhi
	if f.Kind == Absolute {
		high = outMax == hi && max(-kmin, kmax) > hi && hi < fhi
	}
	b.Clamped(table, f.Kind, lo, hi, low, high)
	b.Lookup(e, frac, table, out)
	return out
}

// Reported adds the report of a step that has all the bits that it asks for.
func (b *Builder) Reported(e *Int, frac, bits int) {
	b.Report(StepReport{
		Entries: b.Entries(e.Shape), Bits: bits, Wanted: bits, Frac: frac, Shift: e.Frac - frac,
		TableBits: TableBits(Keys(e, frac)), NeedTable: 1,
	})
}

// Report adds a report of a step of the present node (StepName).
func (b *Builder) Report(step StepReport) {
	step.Node = b.StepName
	b.Steps = append(b.Steps, step)
}

// leastLimbed is the bits up to which a value is never rounded to limbs: a low limb alone has as many.
const leastLimbed = 10

// LowBits is the size of the low limb of a value with so many bits.
func LowBits(bits int) int {
	if bits <= NarrowBits {
		return 10
	}
	return min((bits+1)/2, mostLow)
}

// mostLow is the most bits of a low limb.
const mostLow = 13

// MaxRounding is the most bits that one look-up rounds off: an accumulator has
// no more.
const MaxRounding = 28

// Round adds the look-ups of out = clamp(f(round(e))), on the finest scale on which real values of
// magnitudes up to reach have the given number of bits, or on a coarser one if the keys that the static
// bound allows would need a larger table. If reach is 0, nothing is known of the magnitudes, and the
// scale is e's own. Round returns the result's tensor, of e's shape.
func (b *Builder) Round(name string, e *Int, reach float64, bits int, f Piecewise) model.TensorID {
	// A value that asks for more than the model's usual bits gets them as far
	// as the tables reach, but does not ask for larger ones.
	usual := min(bits, b.Plan.Bits)
	top := int64(1)<<bits - 1
	frac, want := e.Frac, e.Frac
	if reach > 0 {
		frac = FloorLog2(float64(top) / reach)
		want = FloorLog2(float64(int64(1)<<usual-1) / reach)
	}
	// A scale that is finer than the accumulator's own gains nothing.
	frac, want = min(frac, e.Frac), min(want, e.Frac)
	frac, want = max(frac, e.Frac-MaxRounding), max(want, e.Frac-MaxRounding)
	wide := frac // before the tables limit it
	for TableBits(Keys(e, frac)) > b.Plan.TableBits {
		frac--
	}
	needTable := TableBits(Keys(e, want)) // with which the wanted scale would fit
	if reach == 0 {
		needTable = 1 // nothing is known about the scale, so nothing is lost
	}
	if needTable > CheapTable && f == WholeLine && usual > leastLimbed {
		return b.RoundOn(name, e, wide, bits, f) // in limbs
	}
	b.Report(StepReport{
		Entries: b.Entries(e.Shape), Bits: usual - (want - frac), Wanted: usual, Frac: frac, Shift: e.Frac - frac, TableBits: b.Plan.TableBits,
		NeedTable: needTable,
	})
	lo, hi := f.At(frac)
	lo, hi = max(lo, -top-1), min(hi, top)
	if e.stays(frac, f, lo, hi) {
		return b.VirtualOf(name, e)
	}
	return b.roundIn(name, e, frac, f, lo, hi, b.TableFor(e, frac))
}

// TableFor returns the size of the piecewise table for keys of e on the given
// scale: the model's own, unless more bits than usual must be dropped. Then the
// keys are as many bits shorter, as e is within 2^29.
func (b *Builder) TableFor(e *Int, frac int) int {
	return min(b.Plan.TableBits, 30-(e.Frac-frac))
}

// RoundTo rounds e to the given frac, or a coarser one if the largest tables
// are too small, without a clamp. It is for the terms of sums, which have to be on one
// scale. If every value of e rounds to 0, the result is a constant.
func (b *Builder) RoundTo(name string, e *Int, frac int) model.TensorID {
	lo, hi := Keys(e, frac)
	if e.Frac-frac > MaxRounding || lo == 0 && hi == 0 {
		zero := b.Fixed(name, nil, frac, 0, 0, func([]int32, int) {})
		return b.Viewed(name, zero, LabelView(nil, e.Shape), e.Shape)
	}
	for ; TableBits(lo, hi) > b.Plan.TableBits; lo, hi = Keys(e, frac) {
		if b.OwnTables || b.Plan.TableBits >= CheapTable {
			return b.RoundOn(name, e, frac, FormatBits, WholeLine) // with a table of its own, or limbs
		}
		frac--
	}
	// The model's clamp table will do if it does not clamp these keys.
	top, bits := int64(1)<<b.Plan.Bits, b.TableFor(e, frac)
	if lo < -top || hi >= top {
		top, bits = 1<<(b.Plan.TableBits-1), TableBits(lo, hi)
	}
	table := b.PiecewiseOf(Keep, -top, top-1, bits)
	lo, hi = b.keysIn(table, e, frac)
	out := b.Witness(name, e.Shape, frac, lo, hi)
	b.Lookup(e, frac, table, out)
	return out
}

// Lookup adds the step out = table(round(e·2^(frac−e.Frac))) and the range
// steps of its remainder. out may be None for a range table.
func (b *Builder) Lookup(e *Int, frac int, table model.TableID, out model.TensorID) {
	shift := e.Frac - frac
	if shift == 0 {
		b.LookupDirect(e, table, out)
		return
	}
	// Scale up to the model's common shift where that is exact, so that all
	// remainders share one range table.
	if k := min(b.Plan.Shift(), 30-b.Circuit.Tables[table].Bits); shift < k {
		if s := k - shift; float64(e.Abs())*Pow2(s) < model.Bound-Pow2(k) && coefficients(e)*Pow2(s) < model.Bound {
			e = e.Times(1 << s)
			shift = k
		}
	}
	tooWide := shift > model.MaxShift || e.Abs()+1<<(shift-1) >= model.Bound || shift+b.Circuit.Tables[table].Bits > 30
	if tooWide && !b.Draft {
		refuse.With("an accumulator of up to %d cannot be rounded by %d bits", e.Abs(), shift)
	}
	b.InRange(b.cut(e.PlusConst(b.half(table, e, shift)), shift, table, out), shift)
}

// half is the constant that is added to e before its lowest shift bits are cut off, so that keys are
// rounded to the nearest: half a unit, 2^(shift−1), or less if with that the greatest e would have
// a key beyond the end of the table.
func (b *Builder) half(table model.TableID, e *Int, shift int) int64 {
	t, half := &b.Circuit.Tables[table], int64(1)<<(shift-1)
	if end := (t.Min + 1<<t.Bits) << shift; e.Max < end {
		half = min(half, end-1-e.Max)
	}
	return half
}

// keysIn bounds the keys that Lookup has in a table: as Keys does, but with the constant of half.
func (b *Builder) keysIn(table model.TableID, e *Int, frac int) (lo, hi int64) {
	shift := e.Frac - frac
	if shift < 1 || shift > MaxRounding {
		return Keys(e, frac)
	}
	half := b.half(table, e, shift)
	return (e.Min + half) >> shift, (e.Max + half) >> shift
}

// fit refuses a look-up whose table lacks keys that its accumulator may have: some inputs within
// their ranges would then have no proof.
func (b *Builder) fit(acc *Int, shift int, table model.TableID) {
	t := &b.Circuit.Tables[table]
	first, last := acc.Min>>shift, acc.Max>>shift
	switch {
	case b.Draft: // nobody runs it
	case acc.Abs() >= model.Bound:
		refuse.With("an accumulator of up to %d may not be within ±2^30", acc.Abs())
	case !t.Contains(first) || !t.Contains(last):
		refuse.With("keys from %d to %d do not fit in a table of 2^%d rows from %d", first, last, t.Bits, t.Min)
	}
}

// InRange adds the steps that force 0 ≤ e < 2^bits: one look-up, or two limbs
// when the model's range table is smaller and a larger one does not pay.
func (b *Builder) InRange(e *Int, bits int) {
	k := b.Plan.Shift()
	if bits <= k || b.oneRange(bits, e.Shape) {
		b.look(e, 0, model.None, b.RangeTable(bits), model.None)
		return
	}
	if bits > 30 {
		refuse.With("a range of %d bits", bits)
	}
	lo := b.Witness("low bits", e.Shape, 0, 0, 1<<k-1)
	b.look(e, k, lo, b.RangeTable(bits-k), model.None)
	b.look(b.View(lo, nil, e.Shape), 0, model.None, b.RangeTable(k), model.None)
}

// oneRange reports whether a range table of so many bits, more than usual, costs less than two limbs.
// That depends on the table's uses in the whole model. A Replay knows only a part of the model, so it
// does what the circuit does at this step: either way forces the range.
func (b *Builder) oneRange(bits int, shape []int) bool {
	if b.replay != nil {
		return bits <= MostRest && b.replay.oneRange(len(b.Circuit.Steps), bits)
	}
	return b.pays(ownTable{bits: bits}, shape)
}

// FormatBits is the most bits that a value has, sign excluded.
const FormatBits = 28
