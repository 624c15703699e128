package fixed

import (
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Floor returns ⌊e⌋ as whole numbers, by look-ups whose tables are the identity, and the fraction
// e − ⌊e⌋ as parts. Look-ups keep every part from being negative, so e is whole where all are 0.
func (b *Builder) Floor(name string, e *Int) (down *Int, rest []*Int) {
	down = e
	for left := e.Frac; left > 0; {
		if bits := TableBits(down.Min>>left, down.Max>>left); bits > WideTable {
			high, low, last := b.floorParts(name, down, left, bits-WideTable+3)
			return high.Plus(low), append(rest, last)
		}
		// The usual shift, or more if the keys would otherwise not fit the largest table.
		shift := min(left, max(b.Plan.Shift(), TableBits(down.Min, down.Max)-model.MaxTableBits))
		bits := max(TableBits(down.Min>>shift, down.Max>>shift), FormatTable)
		if bits > model.MaxTableBits || bits+shift > 30 {
			refuse.With("values of up to %d cannot be rounded to whole numbers", down.Abs())
		}
		out, low := b.Halve(name, down, shift, FormatTable)
		b.InRange(low, shift)
		down, rest = b.Of(out), append(rest, low)
		left -= shift
	}
	return down, rest
}

// floorParts returns ⌊e/2^shift⌋, which is too wide for a table, as high + low, a multiple of 2^k and
// the k bits below it; rest is the remainder of e.
func (b *Builder) floorParts(name string, e *Int, shift, k int) (high, low, rest *Int) {
	if e.Abs() >= model.Bound {
		refuse.With("values of up to %d cannot be rounded to whole numbers", e.Abs())
	}
	above, below := b.Halve(name+", high", e, shift+k, FormatTable)
	middle, rest := b.Cut(name+", low", below, shift, b.ShiftedTable(k, 0), 0, 1<<k-1)
	b.InRange(rest, shift)
	return b.Of(above).Times(1 << k), b.Of(middle), rest
}

// Trunc rounds e towards zero: ⌊e + (1 − 2^−f)·[e < 0]⌋ for e with f bits of fraction.
func (b *Builder) Trunc(name string, e *Int) *Int {
	if e.Min >= 0 {
		down, _ := b.Floor(name, e)
		return down
	}
	if e.Frac >= 30 || e.Abs() < 1<<e.Frac {
		return &Int{Shape: e.Shape} // nothing but 0
	}
	id := b.NotNegative("not negative", e)
	c := int64(1)<<e.Frac - 1
	sum := e.Plus(b.Of(id).Times(-c).PlusConst(c)).Within(e.Min, max(e.Max, c))
	if sum.Max >= model.Bound-c {
		refuse.With("values of up to %d cannot be rounded to whole numbers", e.Abs())
	}
	down, _ := b.Floor(name, sum)
	return down
}

// Round2even rounds e to the nearest whole number, and to the even one half-way between two: it is
// ⌊e + ½⌋, less 1 where e is half-way and ⌊e + ½⌋ is odd.
func (b *Builder) Round2even(name string, e *Int) *Int {
	if e.Frac > 30 || e.Abs() <= 1<<(e.Frac-1) {
		return &Int{Shape: e.Shape} // nothing but 0
	}
	if e.Abs()+1<<(e.Frac-1) >= model.Bound {
		refuse.With("values of up to %d cannot be rounded to whole numbers", e.Abs())
	}
	up, rest := b.Floor(name, e.PlusConst(int64(1)<<(e.Frac-1)))
	// The parts are not negative, so their sum is 0 where each of them is.
	sum := rest[0]
	for _, r := range rest[1:] {
		sum = sum.Plus(r)
	}
	halfway := b.IsZero("half-way", sum)
	hid := halfway.Acc.Linear[0].Src
	if len(halfway.Acc.Linear) > 1 {
		hid = b.VirtualOf("half-way", halfway)
	}
	var bit *Int // the lowest of up
	if bits := TableBits(up.Min>>1, up.Max>>1); bits > WideTable {
		_, _, bit = b.floorParts("half", up, 1, bits-WideTable+3)
	} else {
		_, bit = b.Halve("half", up, 1, FormatTable)
		b.InRange(bit, 1)
	}
	odd := b.rowProduct(e.Shape, hid, bit.Acc.Linear[0].Src, 1)
	return up.Minus(odd).Within(up.Min-1, up.Max)
}
