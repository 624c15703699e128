package fixed

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// SplitMoved is SplitOf for a tensor whose entries may be those of another one, with zeros around
// them, which is cut instead.
func (b *Builder) SplitMoved(id model.TensorID) Split {
	t := b.Circuit.Tensors[id]
	moved := t.Kind == model.Virtual && len(t.Def) == 1 && t.Def[0].Coef == 1 && !t.Def[0].View.Sums() &&
		(t.Def[0].View == nil || t.Def[0].View.Fill == 0)
	if _, known := b.Splits[id]; known || !moved {
		return b.SplitOf(id)
	}
	p := b.SplitMoved(t.Def[0].Src)
	for _, limb := range []*model.TensorID{&p.High, &p.Low} {
		e := b.View(*limb, t.Def[0].View, t.Shape)
		*limb = b.VirtualOf(b.Circuit.Tensors[*limb].Name, e.Within(min(e.Min, 0), max(e.Max, 0)))
	}
	b.Splits[id] = p
	return p
}

// limbs cuts the entries x of a tensor into limbs, lowest first, with
// x = Σ 2^(bits·i)·limb i, in look-ups: one a limb and entry. Every limb but the
// last lies in [−2^(bits−1), 2^(bits−1)), and the last within ±2^top; of these
// there are as few as x needs, one if it fits by itself. From limb i on they make x/2^(bits·i), rounded to within a half and
// 2^−bits.
//
// A look-up of x + h, h half a unit of every limb that is cut off, has the last
// limb for its key; a look-up of the remainder the next, and so on; what is left
// in the end is looked up in a range. Every remainder is thereby kept below the
// shift that it is one of (model.rangeBits), so that each look-up forces its own.
func (b *Builder) limbs(id model.TensorID, bits, top int) []model.TensorID {
	t := b.Circuit.Tensors[id]
	n, h, lo, hi := 1, int64(0), t.Min, t.Max
	for ; lo < -1<<top || hi > 1<<top; n++ {
		h += 1 << (bits*n - 1)
		lo, hi = (t.Min+h)>>(bits*n), (t.Max+h)>>(bits*n)
	}
	if n == 1 {
		return []model.TensorID{id}
	}
	limbs := make([]model.TensorID, n)
	low := b.Of(id)
	rest := low.PlusConst(h).Within(t.Min, t.Max)
	for i := n - 1; i > 0; i-- {
		name := fmt.Sprintf("%s, limb %d", t.Name, i)
		if i == n-1 {
			limbs[i], rest = b.Cut(name, rest, bits*i, b.allKeys(TableBits(lo, hi)), lo, hi)
		} else {
			limbs[i], rest = b.Cut(name, rest, bits*i, b.ShiftedTable(bits, -1<<(bits-1)), -1<<(bits-1), 1<<(bits-1)-1)
		}
		low = low.Minus(b.Of(limbs[i]).Times(1 << (bits * i)))
	}
	b.InRange(rest, bits)
	limbs[0] = b.VirtualOf(t.Name+", low limb", low.Within(-1<<(bits-1), 1<<(bits-1)-1))
	return limbs
}

// Cut is table(⌊e/2^shift⌋), a tensor of integers in [lo, hi], and the remainder. What keeps
// the remainder in its range, a look-up of it alone, is the caller's to add.
func (b *Builder) Cut(name string, e *Int, shift int, table model.TableID, lo, hi int64) (high model.TensorID, rest *Int) {
	high = b.Witness(name, e.Shape, 0, lo, hi)
	return high, b.cut(e, shift, table, high)
}

// Halve is ⌊e/2^shift⌋ and the remainder, as Cut has them, by a table of all keys [−2^(n−1), 2^(n−1)) for the
// least n, but no less than least, for which these are enough.
func (b *Builder) Halve(name string, e *Int, shift, least int) (high model.TensorID, rest *Int) {
	lo, hi := e.Min>>shift, e.Max>>shift
	return b.Cut(name, e, shift, b.allKeys(max(TableBits(lo, hi), least)), lo, hi)
}

// cut adds the look-up out = table(⌊e/2^shift⌋) and returns its remainder.
func (b *Builder) cut(e *Int, shift int, table model.TableID, out model.TensorID) *Int {
	lo := b.Witness("low bits", e.Shape, 0, 0, 1<<shift-1)
	b.fit(e, shift, table)
	b.look(e, shift, lo, table, out)
	return b.View(lo, nil, e.Shape)
}

// Split are the two limbs of a wide tensor, which is 2^bits·high + low with
// 0 ≤ low < 2^bits. Look-ups force them.
type Split struct {
	High, Low model.TensorID
	Bits      int
}

// RoundSplit rounds e to a scale, as two limbs: with s = e.Frac − frac and low limbs of k
// bits
//
//	e + 2^(s−1) = 2^(s+k)·high + rest,   rest = 2^s·low + remainder.
//
// A second look-up, of the rest in a table of its upper bits, forces the rest's range and
// gives the low limb at once; where such a table has too few uses two look-ups do, of the
// low limb and of the remainder.
//
// The high limb alone is clamped to the given bits; the low limb of a clamped entry is that of
// the entry itself. f is the function that is made of the value: a clamped entry counts as
// saturated unless f is flat there.
func (b *Builder) RoundSplit(name string, e *Int, frac, bits, k int, f Piecewise) model.TensorID {
	shift := e.Frac - frac
	one := shift > 0 && b.pays(ownTable{bits: shift + k, drop: shift}, e.Shape)
	// The remainder's range is as large as low's, if that is exact.
	if up := k - shift; shift > 0 && !one && up > 0 && b.fits30(e.PlusConst(1<<(shift-1)), up) && b.fits30(e.PlusConst(-1<<(shift-1)), up) {
		e = e.Times(1 << up)
		shift = k
	}
	half := int64(0)
	if shift > 0 {
		half = 1 << (shift - 1)
	}
	// Where the static bound is far beyond the calibrated range the low limb gives the
	// high one room.
	for k < mostLow && TableBits((e.Min+half)>>(shift+k), (e.Max+half)>>(shift+k)) > model.MaxTableBits {
		k++
	}
	kmin, kmax := (e.Min+half)>>(shift+k), (e.Max+half)>>(shift+k)
	top := int64(1) << max(bits-k, 0)
	lo, hi := max(kmin, -top), min(kmax, top-1)
	high := b.Witness(name+", high", e.Shape, frac-k, lo, hi)
	table := TableBits(kmin, kmax)
	if table > model.MaxTableBits || e.Abs()+half >= model.Bound || shift+k+table > 30 || shift+k > model.MaxShift {
		refuse.With("an accumulator of up to %d cannot be rounded to limbs", e.Abs())
	}
	rest := b.Witness("low bits", e.Shape, 0, 0, int64(1)<<(shift+k)-1)
	clamp := b.highTable(f, frac, k, lo, hi, kmin, kmax)
	b.look(e.PlusConst(half), shift+k, rest, clamp, high)
	if shift > 0 {
		return b.joined(name, Split{high, b.lowOf(name, rest, e.Shape, frac, k, shift, one), k})
	}
	b.InRange(b.View(rest, nil, e.Shape), k)
	b.Circuit.Tensors[rest].Frac = frac
	return b.joined(name, Split{high, rest, k})
}

// highTable is the table of a high limb of keys in [kmin, kmax], which it clamps to [lo, hi].
func (b *Builder) highTable(f Piecewise, frac, k int, lo, hi, kmin, kmax int64) model.TableID {
	bits := TableBits(kmin, kmax)
	if lo == kmin && hi == kmax { // nothing is clamped: one table of that size for all
		return b.allKeys(bits)
	}
	clamp := b.PiecewiseOf(Keep, lo, hi, bits)
	flo, fhi := f.At(frac)
	b.Clamped(clamp, Keep, lo, hi, lo > kmin && (f.Kind != Keep || flo < lo<<k), hi < kmax && (f.Kind != Keep || fhi > (hi+1)<<k-1))
	return clamp
}

// lowOf returns the low limb of k bits of a rest, which has shift bits more below it: by one
// look-up in a table of the rest's upper bits, or by two.
func (b *Builder) lowOf(name string, rest model.TensorID, shape []int, frac, k, shift int, one bool) model.TensorID {
	e := b.View(rest, nil, shape)
	if one {
		return b.Mapped(name+", low", e, b.highBitsTable(k, shift), frac, 0, 1<<k-1)
	}
	low, below := b.Cut(name+", low", e, shift, b.ShiftedTable(k, 0), 0, 1<<k-1)
	b.Circuit.Tensors[low].Frac = frac
	b.InRange(below, shift)
	return low
}

// rectified is max(round(e), 0) on a scale, as two limbs: those of e, clamped to the
// given bits, times 1 where the high one is not negative, and 0 elsewhere.
func (b *Builder) rectified(name string, e *Int, frac, bits int) model.TensorID {
	id := b.RoundSplit(name+", rounded", e, frac, bits, LowBits(bits), rectifier)
	p := b.SplitOf(id)
	positive := b.NotNegative(name+", sign", b.View(p.High, nil, e.Shape))
	times := func(what string, limb model.TensorID) model.TensorID {
		t := &b.Circuit.Tensors[limb]
		return b.Exact(name+what, b.rowProduct(e.Shape, positive, limb, max(t.Max, 0)).On(t.Frac))
	}
	return b.joined(name, Split{times(", high", p.High), times(", low", p.Low), p.Bits})
}

// joined returns the tensor that has these limbs.
func (b *Builder) joined(name string, p Split) model.TensorID {
	id := b.VirtualOf(name, b.Of(p.High).Finer(p.Bits).Plus(b.Of(p.Low)))
	b.Splits[id] = p
	return id
}

// SplitOf returns the limbs of a tensor, by look-ups unless it was rounded to
// limbs in the first place.
func (b *Builder) SplitOf(id model.TensorID) Split {
	return Remember(&b.Splits, id, func() Split {
		t := b.Circuit.Tensors[id]
		p := Split{Bits: max(1, model.Log2Ceil(int(b.Magnitude(id))+1)/2)}
		kmin, kmax := t.Min>>p.Bits, t.Max>>p.Bits
		p.High = b.Witness(t.Name+", high", t.Shape, t.Frac-p.Bits, kmin, kmax)
		p.Low = b.Witness(t.Name+", low", t.Shape, t.Frac, 0, int64(1)<<p.Bits-1)
		b.look(b.View(id, nil, t.Shape), p.Bits, p.Low, b.PiecewiseOf(Keep, kmin, kmax, TableBits(kmin, kmax)), p.High)
		b.InRange(b.View(p.Low, nil, t.Shape), p.Bits)
		return p
	})
}
