package fixed

import (
	"fmt"
	"math/big"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// DigitBits is the size of the digits of wide integers.
const DigitBits = 12

// wide is an integer that no accumulator holds, one for each entry of a shape: the
// sum of terms, and a constant.
type wide struct {
	shape    []int
	terms    []WideTerm
	constant *big.Int
}

// WideTerm is E·2^Exp.
type WideTerm struct {
	E   *Int
	Exp int
}

// digits returns the digits of a wide integer, lowest first, which must lie in
// [0, most] whatever the terms are: each digit is in [0, 2^12), and look-ups force
// it.
//
// Terms are cut at the digits' boundaries, and what belongs to a digit is summed,
// with the carry from below, and cut again. A term that may be negative has a
// constant added to it and taken from the sum. All that is modulo 2^12 to the number
// of digits; the carry out of the last one says nothing.
func (b *Builder) digits(name string, w wide, most *big.Int) []model.TensorID {
	n := max(1, (most.BitLen()+DigitBits-1)/DigitBits)
	rest := new(big.Int).Set(w.constant)
	parts := make([][]WideTerm, n) // with exponents below DigitBits
	for _, t := range w.terms {
		e := t.E
		if e.Min < 0 {
			offset := int64(1) << model.Log2Ceil(int(-e.Min))
			e = e.PlusConst(offset)
			rest.Sub(rest, new(big.Int).Lsh(big.NewInt(offset), uint(t.Exp)))
		}
		if e.Max >= model.Bound {
			refuse.With("%s: a sum of up to %d does not fit in 30 bits", name, e.Max)
		}
		at, exp := t.Exp/DigitBits, t.Exp%DigitBits
		for i, part := range b.pieces(name, e, DigitBits-exp) {
			if i > 0 {
				exp = 0
			}
			if at+i < n {
				parts[at+i] = append(parts[at+i], WideTerm{part, exp})
			}
		}
	}
	base := new(big.Int).Lsh(big.NewInt(1), DigitBits)
	rest.Mod(rest, new(big.Int).Exp(base, big.NewInt(int64(n)), nil))
	digits := make([]model.TensorID, n)
	var carry *Int
	for i := range digits {
		var digit big.Int
		rest.DivMod(rest, base, &digit)
		sum := &Int{Shape: w.shape, Acc: model.Acc{Const: digit.Int64()}, Min: digit.Int64(), Max: digit.Int64()}
		for _, p := range parts[i] {
			sum = sum.Plus(p.E.Times(1 << p.Exp))
		}
		if carry != nil {
			sum = sum.Plus(carry)
		}
		digits[i], carry = b.digit(sum, i+1 < n)
	}
	return digits
}

// digit returns e mod 2^12 of an e that is not negative, as a tensor, and the
// carry, nil if there is none or if it is not wanted.
func (b *Builder) digit(e *Int, wanted bool) (model.TensorID, *Int) {
	if t := e.Acc.Linear; e.Max < 1<<DigitBits && e.Views() && len(t) == 1 && t[0].Coef == 1 && t[0].View == nil {
		return t[0].Src, nil
	}
	// Most carries are small: they share a table.
	bits := max(4, model.Log2Ceil(int(e.Max>>DigitBits)+1))
	if !wanted {
		low := b.cut(e, DigitBits, b.RangeTable(bits), model.None)
		return low.Acc.Linear[0].Src, nil
	}
	carry, low := b.Cut("carry", e, DigitBits, b.ShiftedTable(bits, 0), 0, e.Max>>DigitBits)
	return low.Acc.Linear[0].Src, b.Of(carry)
}

// pieces cuts e, which is not negative, into its lowest bits and, from there on,
// digits. The last piece may be a little longer, the first is e itself if it is short.
// What keeps the first in its range is for the caller to add where it is not e.
func (b *Builder) pieces(name string, e *Int, low int) []*Int {
	width := model.Log2Ceil(int(e.Max + 1))
	if width <= low+2 {
		return []*Int{e}
	}
	n := 1
	for width > low+n*DigitBits+2 {
		n++
	}
	pieces := make([]*Int, n+1)
	for i := n; i > 0; i-- {
		shift := low + (i-1)*DigitBits
		last := e.Max >> shift
		bits := DigitBits
		if i == n {
			bits = model.Log2Ceil(int(last + 1))
		}
		out, rest := b.Cut(name+", piece", e, shift, b.ShiftedTable(bits, 0), 0, last)
		e, pieces[i] = rest, b.Of(out)
	}
	b.InRange(e, low)
	pieces[0] = e
	return pieces
}

// leadBits is the size of tables for leading bits.
const leadBits = 13

// leading finds the first digit of a wide integer that is not 0, of which there is
// one: first[i], which is 0 or 1, says whether that is digit i; lead is the digit,
// next the one after it.
func (b *Builder) leading(shape []int, digits []model.TensorID) (first []model.TensorID, lead, next *Int) {
	positive := b.steppedTable("not zero", DigitBits, []model.Piece{{End: 1}, {End: 1 << DigitBits, Offset: 1}})
	first = make([]model.TensorID, len(digits))
	lead, next = &Int{Shape: shape}, &Int{Shape: shape}
	var above *Int
	for i := len(digits) - 1; i >= 0; i-- {
		// The look-up keeps the digit in its range as well.
		first[i] = b.Mapped("not zero", b.View(digits[i], nil, shape), positive, 0, 0, 1)
		if above == nil {
			above = b.Of(first[i])
		} else {
			found := b.VirtualOf("found", above.Within(0, 1))
			e := b.Of(first[i]).Minus(b.rowProduct(shape, found, first[i], 1))
			first[i] = b.Exact(fmt.Sprintf("first is digit %d", i), e.Within(0, 1))
			above = above.Plus(b.Of(first[i]))
		}
		lead = lead.Plus(b.rowProduct(shape, first[i], digits[i], 0))
		if i > 0 {
			next = next.Plus(b.rowProduct(shape, first[i], digits[i-1], 0))
		}
	}
	lead.Max, next.Max = 1<<DigitBits-1, 1<<DigitBits-1 // one of them counts
	return first, lead, next
}

// leadingBits looks up the leading bits of a wide integer, from its first digit
// that is not 0 and the next one, in a table of keys in [2^(leadBits−2), 2^leadBits):
// so many of its highest bits, an even number of bits from the end. It returns which digit is
// the first (leading), and the root of what brought the bits to the front as well: the integer is (key + rest)·2^(24 −
// leadBits)/scale² times 2^12 to the number of the next digit, rest being in [0, 1).
func (b *Builder) leadingBits(
	shape []int, digits []model.TensorID, name string, c *Column,
) (first []model.TensorID, scale, out model.TensorID) {
	first, lead, next := b.leading(shape, digits)
	var pieces []model.Piece
	for i := range DigitBits / 2 {
		pieces = append(pieces, model.Piece{End: 4 << (2 * i), Offset: 1 << (DigitBits/2 - 1 - i)})
	}
	scale = b.Mapped("scale", lead, b.steppedTable("scale", DigitBits, pieces), 0, 1, 1<<(DigitBits/2-1))
	both := lead.Times(1 << DigitBits).Plus(next)
	both.Max = 1<<(2*DigitBits) - 1
	once := b.Exact("leading bits", both)
	once = b.Exact("leading bits, scaled", b.rowProduct(shape, once, scale, both.Max))
	shift := 2*DigitBits - leadBits
	out = b.Witness(name, shape, 0, c.Least, c.Greatest)
	b.InRange(b.cut(b.rowProduct(shape, once, scale, both.Max), shift, b.FuncTable(name, 0, c), out), shift)
	return first, scale, out
}
