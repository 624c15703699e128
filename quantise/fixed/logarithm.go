package fixed

import (
	"fmt"
	"math"
	"math/big"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// LogBits is the scale of the logarithms of wide integers: they are multiples of 2^−LogBits.
const LogBits = 20

// logError bounds the error of logOfDigits. The table has the logarithm of key + ½, with a key of at
// least 2^(leadBits−2), for numbers between key and key + 1; and three terms are rounded to multiples
// of 2^−LogBits.
const logError = 1.0/(1<<(leadBits-1)) + 1.0/(1<<(LogBits-1))

// logOfDigits is log(N·2^−unit) with LogBits bits of fraction, N ≥ 1 being the wide integer that has
// these digits. It looks up N's leading bits, so it is right to 2^−12 and a few roundings, however
// large N is. The caller sets the bounds of the result.
func (b *Builder) logOfDigits(shape []int, digits []model.TensorID, unit int) *Int {
	ln := func(x float64) int64 { return int64(math.Round(x * (1 << LogBits))) }
	c := b.Tabulated("logarithms", 1<<leadBits, LogBits, func(i int) float64 {
		return elementary.Log(float64(max(i, 1<<(leadBits-2)))+0.5) * (1 << LogBits)
	})
	first, scale, leadingLog := b.leadingBits(shape, digits, "logarithm", c)
	// The leading bits are those of N·scale² (leadingBits), so the logarithm of scale² is subtracted.
	var pieces []model.Piece
	for i := range DigitBits / 2 {
		pieces = append(pieces, model.Piece{End: 2 << i, Offset: ln(float64(2*i) * math.Ln2)})
	}
	scales := b.steppedTable("logarithm of the scale", DigitBits/2, pieces)
	front := b.Mapped("logarithm of the scale", b.View(scale, nil, shape), scales, 0, 0, pieces[len(pieces)-1].Offset)

	e := b.Of(leadingLog).Minus(b.Of(front))
	for i, f := range first {
		at := DigitBits*i + DigitBits - leadBits - unit // N·scale²·2^−unit is key + rest times 2^at
		e = e.Plus(b.Of(f).Times(ln(float64(at) * math.Ln2)))
	}
	return e.On(LogBits)
}

// LogPower returns log(Σx² + epsilon) for every row x of a tensor. If epsilon is 0, a small part of the
// square of the tensor's unit takes its place, so that a row of zeros has a logarithm.
func (b *Builder) LogPower(r Rows, id model.TensorID, epsilon float64) model.TensorID {
	t := b.Circuit.Tensors[id]
	// The sum is multiplied by 4^up, so that an epsilon keeps leadBits bits when it is rounded to an
	// integer, or the 1 in its place is small beside the square of a unit.
	up, most := 0, mostUp
	if epsilon == 0 {
		most = DigitBits / 2
	}
	for eps := float64(epsilon * Pow2(2*t.Frac)); eps*Pow2(2*up) < 1<<leadBits && up < most; {
		up += DigitBits / 2
	}
	unit := 2 * (t.Frac + up)
	p := b.powerOf("power", r, id, 2*up, epsilon*Pow2(unit))
	e := b.logOfDigits(r.Shape, p.digits, unit)
	bound := func(n *big.Int) int64 {
		x, _ := new(big.Float).SetInt(n).Float64()
		return int64(math.Round((elementary.Log(x) - float64(float64(unit)*math.Ln2)) * (1 << LogBits)))
	}
	return b.Exact("logarithm of the power", e.Within(bound(p.least)-logSlack, bound(p.most)+logSlack))
}

const (
	// mostUp bounds the factor of a power in LogPower, which is 4^mostUp at most.
	mostUp = 24
	// logSlack is more than the error of a logarithm of a wide integer, in units of 2^−LogBits.
	logSlack = 1 << (LogBits - 10)
)

// PowerDigits returns the digits of Σx² for every row x of a tensor, lowest first, with the look-ups
// that keep them in [0, 2^DigitBits). PowerExcess of the tensor must be 0.
func (b *Builder) PowerDigits(name string, r Rows, id model.TensorID) []model.TensorID {
	most := big.NewInt(b.Magnitude(id))
	most.Mul(most, most).Mul(most, big.NewInt(int64(r.Count)))
	p := b.SplitMoved(id)
	digits := b.digits(name, b.squares(r, []model.TensorID{p.Low, p.High}, p.Bits, 0, new(big.Int)), most)
	for _, d := range digits {
		b.InRange(b.View(d, nil, r.Shape), DigitBits)
	}
	return digits
}

// PowerExcess is how many bits coarser a tensor has to become for accumulators to hold the products of
// its two limbs, summed over rows of count entries; 0 if it can stay as it is.
func (b *Builder) PowerExcess(id model.TensorID, count int) (over int) {
	fits := func(most int64, bits int) bool {
		n, low, high := int64(count), int64(1)<<bits, most>>bits+1
		return n*low*low <= model.Bound/2 && n*high*high <= model.Bound/2 && n*low*high < model.Bound/2
	}
	most := b.Magnitude(id)
	if p, have := b.Splits[id]; have {
		if fits(most, p.Bits) {
			return 0
		}
		over = 1 // its limbs do not fit: it is rounded, and so cut into other limbs
	}
	for !fits(most>>over+1, model.Log2Ceil(int(most>>over)+2)/2) {
		over++
	}
	return over
}

// LogOfSum is log(N·2^−unit) with LogBits bits of fraction. N is the sum of the terms and of number·2^unit, none of
// them negative. Where N is 0, the result is log(least).
//
// It is the sum of two look-ups: the logarithm of the leading bits m and that of the octave 2^e
// (leadingOctave). So it is right to 2^−12 and a few roundings, however large N is, and intervals bound it.
func (b *Builder) LogOfSum(name string, shape []int, terms []WideTerm, number float64, unit int, least float64) *Int {
	constant := wholeOf(number * Pow2(unit))
	w, most := wide{shape, terms, constant}, new(big.Int).Set(constant)
	for _, t := range terms {
		most.Add(most, new(big.Int).Lsh(big.NewInt(t.E.Max), uint(t.Exp)))
	}
	m, octave := b.leadingOctave(name, shape, b.digits(name, w, most))
	look := func(what string, key *Int, c *Column) *Int {
		return b.View(b.LookUp(name+", "+what, what, key, key.Frac, 0, c), nil, shape)
	}
	beside := float64(unit) * math.Ln2 // what is subtracted in the end
	integers := fmt.Sprint("logarithms of integers, ", unit, least)
	e := look("logarithm", b.View(m, nil, shape), b.Tabulated(integers, 1<<(DigitBits+1), LogBits, func(i int) float64 {
		switch {
		case i == 0:
			return (elementary.Log(least) + beside) * (1 << LogBits)
		case i < octaveKeys:
			return elementary.Log(float64(i)) * (1 << LogBits)
		}
		return elementary.Log(float64(i)+0.5) * (1 << LogBits) // ½ is the mean of what m cuts off
	}))
	if octave != nil {
		octaves := fmt.Sprint("logarithms of octaves, ", octave.Max)
		e = e.Plus(look("logarithm of the octave", octave, b.Tabulated(octaves, octave.Max+1, LogBits, func(i int) float64 {
			return float64(float64(i)*math.Ln2) * (1 << LogBits)
		})))
	}
	return e.PlusConst(-int64(math.Round(beside * (1 << LogBits))))
}
