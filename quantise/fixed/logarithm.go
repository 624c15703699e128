package fixed

import (
	"math"
	"math/big"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// LogBits is the scale of the logarithms of wide integers, before they are rounded.
const LogBits = 20

// logError is what logOfDigits is wrong by at most: half of one of 2^(leadBits−2) leading bits,
// and three roundings.
const logError = 1.0/(1<<(leadBits-1)) + 1.0/(1<<(LogBits-1))

// logOfDigits is log(N·2^−unit) with LogBits bits of fraction, N being the wide integer,
// at least 1, that has these digits: from its leading bits, so right to 2^−12 and a few
// roundings for N of any size. The caller knows its bounds.
func (b *Builder) logOfDigits(shape []int, digits []model.TensorID, unit int) *Int {
	first, lead, next := b.leading(shape, digits)
	ln := func(x float64) int64 { return int64(math.Round(x * (1 << LogBits))) }
	values := b.Column("logarithms", func() []int32 {
		values := make([]int32, 1<<leadBits)
		for i := range values {
			values[i] = int32(ln(elementary.Log(float64(max(i, 1<<(leadBits-2))) + 0.5)))
		}
		return values
	})
	scale, leadingLog := b.leadingBits(shape, lead, next, "logarithm", values)
	// What brought the leading bits to the front, squared, is in it too much.
	var pieces []model.Piece
	for i := range digitBits / 2 {
		pieces = append(pieces, model.Piece{End: 2 << i, Offset: ln(float64(2*i) * math.Ln2)})
	}
	front := b.Witness("logarithm of the scale", shape, 0, 0, pieces[len(pieces)-1].Offset)
	b.Lookup(b.View(scale, nil, shape), 0, b.steppedTable("logarithm of the scale", digitBits/2, pieces), front)

	e := &Int{Shape: shape, Frac: LogBits}
	e.Acc.Linear = []model.Linear{{Coef: 1, Src: leadingLog}, {Coef: -1, Src: front}}
	for i, f := range first {
		at := digitBits*i + digitBits - leadBits - unit
		e.Acc.Linear = append(e.Acc.Linear, model.Linear{Coef: ln(float64(at) * math.Ln2), Src: f})
	}
	return e
}

// LogPower is the logarithm of the sum of the squares of the rows of a tensor, and
// epsilon; of a sum that is 0 that of a small part of a unit's square.
func (b *Builder) LogPower(r Rows, id model.TensorID, epsilon float64) model.TensorID {
	t := b.Circuit.Tensors[id]
	// N is taken times 4^up, so that the epsilon keeps its leading bits, or the 1 in its
	// place is nothing beside a unit's square.
	up, most := 0, mostUp
	if epsilon == 0 {
		most = digitBits / 2
	}
	for eps := float64(epsilon * Pow2(2*t.Frac)); eps*Pow2(2*up) < 1<<leadBits && up < most; {
		up += digitBits / 2
	}
	unit := 2 * (t.Frac + up)
	least, _ := new(big.Float).SetFloat64(math.Round(epsilon * Pow2(unit))).Int(nil)
	if least.Sign() == 0 {
		least.SetInt64(1)
	}
	greatest := big.NewInt(b.Magnitude(id))
	greatest.Mul(greatest, greatest).Mul(greatest, big.NewInt(int64(r.Count))).Lsh(greatest, uint(2*up)).Add(greatest, least)

	top := (29 - model.Log2Ceil(r.Count)) / 2
	bits := limbBits(model.Log2Ceil(int(b.Magnitude(id))), top)
	digits := b.digits("power", b.squares(r, b.limbs(id, bits, top, 1), bits, 2*up, least), greatest)
	e := b.logOfDigits(r.Shape, digits, unit)
	bound := func(n *big.Int) int64 {
		x, _ := new(big.Float).SetInt(n).Float64()
		return int64(math.Round((elementary.Log(x) - float64(float64(unit)*math.Ln2)) * (1 << LogBits)))
	}
	e.Min, e.Max = bound(least)-logSlack, bound(greatest)+logSlack
	return b.Exact("logarithm of the power", e)
}

const (
	// mostUp bounds what a power is multiplied by for its epsilon, 4^mostUp.
	mostUp = 24
	// logSlack is more than a logarithm of a wide integer is off, in units of its scale.
	logSlack = 1 << (LogBits - 10)
)
