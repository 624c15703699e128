package fixed

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// SplitMoved is SplitOf, but if the entries of a tensor are those of another one, moved by a view that pads
// with zeros or not at all, it cuts the other tensor and moves the limbs.
func (b *Builder) SplitMoved(id model.TensorID) Split {
	t := b.Circuit.Tensors[id]
	moved := t.Kind == model.Virtual && len(t.Def) == 1 && t.Def[0].Coef == 1 && !t.Def[0].View.Sums() &&
		(t.Def[0].View == nil || t.Def[0].View.Fill == 0)
	if _, known := b.Splits[id]; known || !moved {
		return b.SplitOf(id)
	}
	p := b.SplitMoved(t.Def[0].Src)
	finer := t.Frac - b.Circuit.Tensors[t.Def[0].Src].Frac // not 0 where the same integers stand for other values (Int.On)
	for _, limb := range []*model.TensorID{&p.High, &p.Low} {
		e := b.View(*limb, t.Def[0].View, t.Shape)
		e.Frac += finer
		*limb = b.VirtualOf(b.Circuit.Tensors[*limb].Name, e.Within(min(e.Min, 0), max(e.Max, 0)))
	}
	b.Splits[id] = p
	return p
}

// limbs cuts the entries x of a tensor into limbs, lowest first, with
// x = Σ 2^(bits·i)·limb i, by one look-up for each limb and entry. Every limb but the
// last lies in [−2^(bits−1), 2^(bits−1)), and the last within ±2^top. There are as few limbs
// as x needs: one if x is within ±2^top. The limbs from i on make x/2^(bits·i), rounded with an error
// of at most ½ + 2^−bits.
//
// The constant h is the sum of half a unit of every limb but the first. A look-up of x + h gives the
// last limb, a look-up of its remainder the limb before, and so on; the last remainder is
// looked up in a range table. Each remainder is thereby kept in the range of its shift
// (model.rangeBits), so that each look-up forces its limb.
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

// Cut adds the look-up of table(⌊e/2^shift⌋). It returns that as a tensor of integers in [lo, hi], and
// the remainder. The caller adds the look-up that keeps the remainder in [0, 2^shift).
func (b *Builder) Cut(name string, e *Int, shift int, table model.TableID, lo, hi int64) (high model.TensorID, rest *Int) {
	high = b.Witness(name, e.Shape, 0, lo, hi)
	return high, b.cut(e, shift, table, high)
}

// Halve returns ⌊e/2^shift⌋ and the remainder, as Cut does. The table has all keys in [−2^(n−1), 2^(n−1)), where n is
// the smallest number of bits, but no less than least, with which it has the keys of e.
func (b *Builder) Halve(name string, e *Int, shift, least int) (high model.TensorID, rest *Int) {
	lo, hi := e.Min>>shift, e.Max>>shift
	return b.Cut(name, e, shift, b.allKeys(max(TableBits(lo, hi), least)), lo, hi)
}

// cut adds the look-up out = table(⌊e/2^shift⌋) and returns its remainder, which the caller keeps in
// its range, as for Cut.
func (b *Builder) cut(e *Int, shift int, table model.TableID, out model.TensorID) *Int {
	lo := b.Witness("low bits", e.Shape, 0, 0, 1<<shift-1)
	b.fit(e, shift, table)
	b.look(e, shift, lo, table, out)
	return b.View(lo, nil, e.Shape)
}

// Split has the two limbs of a wide tensor, which is 2^Bits·High + Low with
// 0 ≤ Low < 2^Bits. Look-ups force both limbs.
type Split struct {
	High, Low model.TensorID
	Bits      int
}

// RoundSplit rounds e to the scale frac, as two limbs, the low one of k bits. With s = e.Frac − frac,
//
//	e + 2^(s−1) = 2^(s+k)·high + rest,   rest = 2^s·low + remainder.
//
// The first look-up gives the high limb and the rest. A second one, of the rest in a table whose value
// is the key's upper k bits, forces the range of the rest and gives the low limb at once. If such a table
// would have too few uses, two look-ups take its place: of the low limb and of the remainder.
//
// The high limb alone is clamped to the given bits; the low limb of a clamped entry is that of
// the entry itself. f is the function that the value goes into: a clamped entry counts as
// saturated unless f is flat there, for any low limb.
func (b *Builder) RoundSplit(name string, e *Int, frac, bits, k int, f Piecewise) model.TensorID {
	shift := e.Frac - frac
	one := shift > 0 && b.pays(ownTable{bits: shift + k, drop: shift}, e.Shape)
	// If there is room, e is scaled up so that the remainder has k bits as the low limb has, and both share a range table.
	if up := k - shift; shift > 0 && !one && up > 0 && b.fits30(e.PlusConst(1<<(shift-1)), up) && b.fits30(e.PlusConst(-1<<(shift-1)), up) {
		e = e.Times(1 << up)
		shift = k
	}
	half := int64(0)
	if shift > 0 {
		half = 1 << (shift - 1)
	}
	// Where the static bound is far beyond the calibrated range, the low limb gets more bits, so that
	// the keys of the high one fit a table.
	for k < mostLow && TableBits((e.Min+half)>>(shift+k), (e.Max+half)>>(shift+k)) > model.MaxTableBits {
		k++
	}
	kmin, kmax := (e.Min+half)>>(shift+k), (e.Max+half)>>(shift+k)
	top := int64(1) << max(bits-k, 0)
	lo, hi := max(kmin, -top), min(kmax, top-1)
	if flo, fhi := f.At(frac); f.Kind == Keep { // where f's own clamp is within those of the high limb, clamped entries must all be beyond it
		if lo > kmin && flo >= lo<<k && flo < (lo+1)<<k-1 {
			lo--
		}
		if hi < kmax && fhi <= (hi+1)<<k-1 && fhi > hi<<k {
			hi++
		}
	}
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

// highTable is the table of a high limb: it clamps keys in [kmin, kmax] to [lo, hi]. It marks clamped
// rows as saturated, except where the function f is flat there.
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

// lowOf returns the low limb, the upper k bits of a rest, which has shift more bits below them. It
// takes one look-up, in a table of the upper bits, if one is set, and two otherwise.
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

// rectified is max(round(e), 0) on a scale, as two limbs. They are the limbs of e, clamped to the
// given bits, each times a bit that is 1 where the high limb is not negative and 0 elsewhere.
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

// joined returns a virtual tensor that has these limbs, and records them as its Split.
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
