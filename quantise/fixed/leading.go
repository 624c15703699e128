package fixed

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// leadBits is the size of tables for leading bits.
const leadBits = 13

// leading finds the first digit of a wide integer that is not 0, of which there is
// one: first[i], which is 0 or 1, says whether that is digit i; lead is the digit,
// next the one after it.
func (b *Builder) leading(shape []int, digits []model.TensorID) (first []model.TensorID, lead, next *Int) {
	positive := b.steppedTable("not zero", digitBits, []model.Piece{{End: 1}, {End: 1 << digitBits, Offset: 1}})
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
	lead.Max, next.Max = 1<<digitBits-1, 1<<digitBits-1 // one of them counts
	return first, lead, next
}

// leadingBits looks up the leading bits of a wide integer, given by its first digit
// that is not 0 and the next one, in a table of keys in [2^(leadBits−2), 2^leadBits):
// so many of its highest bits, an even number of bits from the end. It returns the
// root of what brought them to the front as well: the integer is (key + rest)·2^(24 −
// leadBits)/scale² times 2^12 to the number of the next digit, rest being in [0, 1).
func (b *Builder) leadingBits(shape []int, lead, next *Int, name string, c *Column) (scale, out model.TensorID) {
	var pieces []model.Piece
	for i := range digitBits / 2 {
		pieces = append(pieces, model.Piece{End: 4 << (2 * i), Offset: 1 << (digitBits/2 - 1 - i)})
	}
	scale = b.Mapped("scale", lead, b.steppedTable("scale", digitBits, pieces), 0, 1, 1<<(digitBits/2-1))
	both := lead.Times(1 << digitBits).Plus(next)
	both.Max = 1<<(2*digitBits) - 1
	once := b.Exact("leading bits", both)
	once = b.Exact("leading bits, scaled", b.rowProduct(shape, once, scale, both.Max))
	shift := 2*digitBits - leadBits
	out = b.Witness(name, shape, 0, c.Least, c.Greatest)
	b.InRange(b.cut(b.rowProduct(shape, once, scale, both.Max), shift, b.FuncTable(name, 0, c), out), shift)
	return scale, out
}
