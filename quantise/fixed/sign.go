package fixed

import (
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// directBits is the largest table, in bits, in which the sign of an accumulator is looked up at once. A
// wider accumulator is cut, and the sign of its upper bits is looked up.
const directBits = 14

// NotNegative is 1 where e ≥ 0 and 0 where e < 0: by a look-up of e in a table of
// two pieces, or of its upper bits ⌊e/2^s⌋, which have the same sign.
func (b *Builder) NotNegative(name string, e *Int) model.TensorID {
	bits := TableBits(e.Min, e.Max)
	if bits <= directBits {
		return b.Mapped(name, e, b.signTable(directBits), 0, 0, 1)
	}
	if bits > 30 && !b.Draft {
		refuse.With("the sign of an accumulator of up to %d, which is beyond ±2^29", e.Abs())
	}
	shift := max(min(b.Plan.Shift(), bits-1), bits-model.MaxTableBits)
	out, rest := b.Cut(name, e, shift, b.signTable(max(bits-shift, directBits)), 0, 1)
	b.InRange(rest, shift)
	return out
}

// IsZero is 1 where e = 0 and 0 elsewhere: by a table of three pieces, or as
// [e ≥ 0] − [e ≥ 1].
func (b *Builder) IsZero(name string, e *Int) *Int {
	if TableBits(e.Min, e.Max) <= directBits {
		return b.Of(b.Mapped(name, e, b.ZeroTable(directBits), 0, 0, 1))
	}
	least, beyond := b.NotNegative(name, e), b.NotNegative(name, e.PlusConst(-1))
	return b.Of(least).Minus(b.Of(beyond)).Within(0, 1)
}

// Clamp is min(max(e, lo), hi), by one look-up in a table of 2^bits rows. Entries beyond [lo, hi]
// count as saturated.
func (b *Builder) Clamp(name string, e *Int, lo, hi int64, bits int) *Int {
	table := b.PiecewiseOf(Keep, lo, hi, bits)
	b.Clamped(table, Keep, lo, hi, e.Min < lo, e.Max > hi)
	return b.Of(b.Mapped(name, e, table, e.Frac, lo, hi))
}

// ClampWhole is min(max(e, lo), hi) of whole numbers too wide for a table, as lo + max(e − lo, 0), and
// then likewise for hi. max(x, 0) is the product of x and NotNegative of x.
func (b *Builder) ClampWhole(name string, e *Int, lo, hi int64) *Int {
	above := func(e *Int) *Int { // max(e, 0)
		c := b.NotNegative(name+", within", e)
		return b.rowProduct(e.Shape, c, b.TensorOf(name+", by", e), max(e.Max, 0)).On(e.Frac)
	}
	if e.Min < lo {
		e = above(e.PlusConst(-lo)).PlusConst(lo)
	}
	if e.Max > hi {
		e = above(e.Times(-1).PlusConst(hi)).Times(-1).PlusConst(hi).Within(max(min(e.Min, hi), lo), hi)
	}
	return e
}
