package fixed

import (
	"fmt"
	"math/big"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// DigitBits is the size of the digits of wide integers, in bits.
const DigitBits = 12

// wide is an integer that may be too large for an accumulator, one for each index of a shape: the
// sum of the terms and the constant.
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

// digits returns the digits of a wide integer, lowest first, as tensors of entries in [0, 2^12).
// The integer must lie in [0, most] for all values of its terms. The caller has to add the look-ups
// that keep the digits in their range.
//
// Each term is cut into pieces at the boundaries of the digits. For each digit, from the lowest
// on, its pieces and the carry from the digit below are summed: the sum's lowest 12 bits are the
// digit, and the bits above are the next carry. A term that may be negative gets a constant added,
// which is subtracted from the integer's constant. All of this is modulo 2^(12·n) for n digits, so
// pieces beyond the last digit and its carry are dropped.
func (b *Builder) digits(name string, w wide, most *big.Int) []model.TensorID {
	n := max(1, (most.BitLen()+DigitBits-1)/DigitBits)
	rest := new(big.Int).Set(w.constant)
	parts := make([][]WideTerm, n) // the pieces of each digit, with exponents below DigitBits
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

// digit returns e mod 2^12, for an e that is not negative, as a tensor, and the carry ⌊e/2^12⌋: nil
// if that is 0, or if it is not wanted.
func (b *Builder) digit(e *Int, wanted bool) (model.TensorID, *Int) {
	if t := e.Acc.Linear; e.Max < 1<<DigitBits && e.Views() && len(t) == 1 && t[0].Coef == 1 && t[0].View == nil {
		return t[0].Src, nil
	}
	// Most carries are small: those of up to 4 bits share a table.
	bits := max(4, model.Log2Ceil(int(e.Max>>DigitBits)+1))
	if !wanted {
		low := b.cut(e, DigitBits, b.RangeTable(bits), model.None)
		return low.Acc.Linear[0].Src, nil
	}
	carry, low := b.Cut("carry", e, DigitBits, b.ShiftedTable(bits, 0), 0, e.Max>>DigitBits)
	return low.Acc.Linear[0].Src, b.Of(carry)
}

// pieces cuts e, which is not negative, into its lowest bits, low of them, and digits above these,
// lowest first. The last piece may have up to two bits more than a digit. An e of up to low + 2 bits
// stays in one piece, as it is. Look-ups force the ranges of all pieces that are cut.
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

// leading finds the highest digit that is not 0 of a positive wide integer: first[i] is 1 if that is
// digit i and 0 otherwise; lead is that digit, and next the one below it, 0 if there is none.
func (b *Builder) leading(shape []int, digits []model.TensorID) (first []model.TensorID, lead, next *Int) {
	positive := b.steppedTable("not zero", DigitBits, []model.Piece{{End: 1}, {End: 1 << DigitBits, Offset: 1}})
	first = make([]model.TensorID, len(digits))
	lead, next = &Int{Shape: shape}, &Int{Shape: shape}
	var above *Int // the sum of first from digit i + 1 on: 1 if one of these digits is not 0
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
	lead.Max, next.Max = 1<<DigitBits-1, 1<<DigitBits-1 // one term of each sum is a digit, and the others are 0
	return first, lead, next
}

// leadingBits looks up the leading bits of a positive wide integer N in the column c. It returns
// first (leading), scale and the result out = c(key).
//
// Let i be the highest digit that is not 0. Digits i and i − 1 make x = 2^12·lead + next. The factor
// scale², a power of 4, brings x to [2^22, 2^24), and the upper leadBits of its 24 bits are the key,
// in [2^(leadBits−2), 2^leadBits). So
//
//	N = (key + rest)·2^(24 − leadBits)/scale² · 2^(12·(i − 1))   with rest in [0, 1).
//
// scale² is a square so that the caller has the root of this factor, too.
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
