package quantise

import (
	"math"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// logBits is the scale of the logarithms of wide integers, before they are rounded.
const logBits = 20

// logError is what logOfDigits is wrong by at most: half of one of 2^(leadBits−2) leading bits,
// and three roundings.
const logError = 1.0/(1<<(leadBits-1)) + 1.0/(1<<(logBits-1))

// logOfDigits is log(N·2^−unit) with logBits bits of fraction, N being the wide integer,
// at least 1, that has these digits: from its leading bits, so right to 2^−12 and a few
// roundings for N of any size. The caller knows its bounds.
func (l *builder) logOfDigits(shape []int, digits []model.TensorID, unit int) *expr {
	first, lead, next := l.leading(shape, digits)
	ln := func(x float64) int64 { return int64(math.Round(x * (1 << logBits))) }
	values := l.column("logarithms", func() []int32 {
		values := make([]int32, 1<<leadBits)
		for i := range values {
			values[i] = int32(ln(elementary.Log(float64(max(i, 1<<(leadBits-2))) + 0.5)))
		}
		return values
	})
	scale, leadingLog := l.leadingBits(shape, lead, next, "logarithm", values)
	// What brought the leading bits to the front, squared, is in it too much.
	var pieces []model.Piece
	for i := range digitBits / 2 {
		pieces = append(pieces, model.Piece{End: 2 << i, Offset: ln(float64(2*i) * math.Ln2)})
	}
	front := l.witness("logarithm of the scale", shape, 0, 0, pieces[len(pieces)-1].Offset)
	l.lookup(l.tensorExpr(scale, nil, shape), 0, l.steppedTable("logarithm of the scale", digitBits/2, pieces), front)

	e := &expr{shape: shape, frac: logBits}
	e.acc.Linear = []model.Linear{{Coef: 1, Src: leadingLog}, {Coef: -1, Src: front}}
	for i, f := range first {
		at := digitBits*i + digitBits - leadBits - unit
		e.acc.Linear = append(e.acc.Linear, model.Linear{Coef: ln(float64(at) * math.Ln2), Src: f})
	}
	return e
}
