package quantise

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// leadBits is the size of tables for leading bits.
const leadBits = 13

// leading finds the first digit of a wide integer that is not 0, of which there is
// one: first[i], which is 0 or 1, says whether that is digit i; lead is the digit,
// next the one after it.
func (l *builder) leading(shape []int, digits []model.TensorID) (first []model.TensorID, lead, next *expr) {
	positive := l.steppedTable("not zero", digitBits, []model.Piece{{End: 1}, {End: 1 << digitBits, Offset: 1}})
	first = make([]model.TensorID, len(digits))
	lead, next = &expr{shape: shape}, &expr{shape: shape}
	var above []model.Linear
	for i := len(digits) - 1; i >= 0; i-- {
		// The look-up keeps the digit in its range as well.
		first[i] = l.witness("not zero", shape, 0, 0, 1)
		l.lookup(l.tensorExpr(digits[i], nil, shape), 0, positive, first[i])
		if len(above) > 0 {
			found := l.add(model.Tensor{Name: "found", Shape: shape, Kind: model.Virtual, Max: 1, Def: slices.Clone(above)})
			e := l.tensorExpr(first[i], nil, shape).plus(l.rowProduct(shape, found, first[i], 1).times(-1))
			e.min, e.max = 0, 1
			first[i] = l.exact(fmt.Sprintf("first is digit %d", i), e)
		}
		above = append(above, model.Linear{Coef: 1, Src: first[i]})
		lead = lead.plus(l.rowProduct(shape, first[i], digits[i], 0))
		if i > 0 {
			next = next.plus(l.rowProduct(shape, first[i], digits[i-1], 0))
		}
	}
	lead.max, next.max = 1<<digitBits-1, 1<<digitBits-1 // one of them counts
	return first, lead, next
}

// leadingBits looks up the leading bits of a wide integer, given by its first digit
// that is not 0 and the next one, in a table of keys in [2^(leadBits−2), 2^leadBits):
// so many of its highest bits, an even number of bits from the end. It returns the
// root of what brought them to the front as well: the integer is (key + rest)·2^(24 −
// leadBits)/scale² times 2^12 to the number of the next digit, rest being in [0, 1).
func (l *builder) leadingBits(shape []int, lead, next *expr, name string, values []int32) (scale, out model.TensorID) {
	scale = l.witness("scale", shape, 0, 1, 1<<(digitBits/2-1))
	var pieces []model.Piece
	for i := range digitBits / 2 {
		pieces = append(pieces, model.Piece{End: 4 << (2 * i), Offset: 1 << (digitBits/2 - 1 - i)})
	}
	l.lookup(lead, 0, l.steppedTable("scale", digitBits, pieces), scale)
	both := lead.times(1 << digitBits).plus(next)
	both.max = 1<<(2*digitBits) - 1
	once := l.exact("leading bits", both)
	once = l.exact("leading bits, scaled", l.rowProduct(shape, once, scale, both.max))
	shift := 2*digitBits - leadBits
	out = l.witness(name, shape, 0, int64(slices.Min(values)), int64(slices.Max(values)))
	l.inRange(l.cut(l.rowProduct(shape, once, scale, both.max), shift, l.funcTable(name, 0, values), out), shift)
	return scale, out
}
