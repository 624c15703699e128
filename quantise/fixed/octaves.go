package fixed

import (
	"fmt"
	"math/big"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// octaveKeys is how many keys an octave [2^n, 2^(n+1)) of integers has: a key tells their DigitBits
// leading bits, of which the first is 1.
const octaveKeys = 1 << (DigitBits - 1)

// OctaveError bounds the relative error of an integer that is replaced by the middle of the integers
// with the same key (OctaveAt).
const OctaveError = 1.0 / (2 * octaveKeys)

// Octaves returns keys of the entries of a tensor, which are in [0, 2^28], for tables of functions
// that need their argument with a relative precision. An integer below 2^12 is its own key. A
// larger one, x, has the key m + 2^11·e with
//
//	m = ⌊x/2^e⌋ in [2^11, 2^12),
//
// so that keys rise with x. A key tells the twelve leading bits of x and their place. OctaveAt is
// the inverse.
func (b *Builder) Octaves(name string, id model.TensorID) *Int {
	t := &b.Circuit.Tensors[id]
	w := wide{shape: t.Shape, terms: []WideTerm{{b.Of(id), 0}}, constant: new(big.Int)}
	digits := b.digits(name, w, big.NewInt(t.Max))
	m, octave := b.leadingOctave(name, t.Shape, digits)
	key := b.View(m, nil, t.Shape)
	if octave != nil {
		key = key.Plus(octave.Times(octaveKeys))
	}
	key.Frac, key.Min = 0, 0
	key.Max = 1<<(DigitBits+1) - 1 + octaveKeys*DigitBits*int64(len(digits)-1)
	return key
}

// leadingOctave returns m and e of Octaves for an integer given by its digits. An integer of one digit
// is m, and e is nil.
//
// Let h be the highest digit that is not 0 and l the digit below it; if at most the lowest digit is not
// 0, h is the second one, and 0. Then m = ⌊(2^12·h + l)/2^e'⌋, e' being the number of bits of h, so that
// 2^12·m + rest = h·2^(12−e')·2^12 + l·2^(12−e'). A look-up of h gives h·2^(12−e'), another one
// 2^(12−e'), and a look-up of the sum gives m. Each of these has a key in its table for all values of the
// digits, so that intervals show that nothing wraps. If h is digit i, e is e' + 12·(i − 1).
func (b *Builder) leadingOctave(name string, shape []int, digits []model.TensorID) (m model.TensorID, octave *Int) {
	for _, d := range digits[:min(len(digits), 2)] {
		b.InRange(b.View(d, nil, shape), DigitBits)
	}
	if len(digits) == 1 {
		return digits[0], nil
	}
	h, l, above := b.leadingPair(name, shape, digits)

	var normal, scales, bits []model.Piece
	add := func(end int, slope, scale, e int64) {
		normal = append(normal, model.Piece{End: int64(end), Slope: slope})
		scales = append(scales, model.Piece{End: int64(end), Offset: scale})
		bits = append(bits, model.Piece{End: int64(end), Offset: e})
	}
	add(1, 0, 1<<DigitBits, 0)
	for i := range DigitBits {
		up := int64(1) << (DigitBits - 1 - i)
		add(2<<i, up, up, int64(i+1))
	}
	column := func(what string, most int64, pieces []model.Piece) model.TensorID {
		return b.Mapped(name+", "+what, b.View(h, nil, shape), b.steppedTable("octave, "+what, DigitBits, pieces), 0, 0, most)
	}
	high := column("normalised", 1<<DigitBits-1, normal)
	scale := column("scale", 1<<DigitBits, scales)
	of := column("octave", DigitBits, bits)

	e := b.View(high, nil, shape).Times(1 << DigitBits).Plus(b.rowProduct(shape, l, scale, (1<<DigitBits-1)<<DigitBits))
	m, rest := b.Cut(name+", leading bits", e, DigitBits, b.ShiftedTable(DigitBits+1, 0), 0, 1<<(DigitBits+1)-1)
	b.InRange(rest, DigitBits)

	octave = b.View(of, nil, shape)
	for i, d := range above { // each is 0 or 1, and one at most is 1
		if d != model.None {
			octave = octave.Plus(b.View(d, nil, shape).Times(DigitBits * int64(i-1)))
		}
	}
	return m, octave
}

// leadingPair returns h and l of leadingOctave, and for each digit from the third on a tensor that is 1
// where this digit is h, the highest that is not 0, and 0 elsewhere; None for the two lowest.
func (b *Builder) leadingPair(name string, shape []int, digits []model.TensorID) (h, l model.TensorID, first []model.TensorID) {
	first = make([]model.TensorID, len(digits))
	first[0], first[1] = model.None, model.None
	if len(digits) == 2 {
		return digits[1], digits[0], first
	}
	isZero := b.steppedTable("octave, zero", DigitBits, []model.Piece{{End: 1, Offset: 1}, {End: 1 << DigitBits}})
	high, low := &Int{Shape: shape}, &Int{Shape: shape}
	add := func(by model.TensorID, i int) {
		high, low = high.Plus(b.EntryProduct(shape, by, digits[i])), low.Plus(b.EntryProduct(shape, by, digits[i-1]))
	}
	none := model.TensorID(model.None) // whether this and all digits above are 0
	for i := len(digits) - 1; i >= 2; i-- {
		// This look-up keeps the digit in its range, too.
		zero := b.Mapped(fmt.Sprintf("%s, digit %d is zero", name, i), b.View(digits[i], nil, shape), isZero, 0, 0, 1)
		var before *Int
		if none == model.None {
			before, none = b.View(b.Scalar("one", 1), LabelView(nil, shape), shape), zero
		} else {
			before = b.Of(none)
			none = b.Exact(fmt.Sprintf("%s, zero from digit %d on", name, i), b.rowProduct(shape, none, zero, 1))
		}
		first[i] = b.VirtualOf("first digit", before.Minus(b.Of(none)).Within(0, 1))
		add(first[i], i)
	}
	add(none, 1)
	h = b.Exact(name+", first digit", high.Within(0, 1<<DigitBits-1))
	return h, b.Exact(name+", next digit", low.Within(0, 1<<DigitBits-1)), first
}

// OctaveAt is the middle of the integers that have a key.
func OctaveAt(key int64) float64 {
	e := max(key/octaveKeys-1, 0)
	return float64(float64(key-octaveKeys*e)*Pow2(int(e))) + float64((Pow2(int(e))-1)/2)
}
