package fixed

import (
	"fmt"
	"math"
	"math/big"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// LongestText is the most entries of a row of free length: the sum of so many exponentials, of up to 16
// bits each, fits an accumulator.
const LongestText = 1 << 13

// In a text, masked scores may be lowered below all others, by a gap so large that their
// exponentials, of at most 16 bits, are exactly 0. Then a score is the sum of the rounded score and
// a multiple of the mask, and keys need no products with the mask. This is done where it does
// not make the tables of exponentials larger. Every row must have an entry that is not masked:
// in a row without one, the masked scores would have shares.

const loweredBy = 12 // the gap less the spread of all scores, as a real number: e^−12 is less than 2^−17

// Gap is the distance, on the scale of the scores, by which masked scores are lowered: in fact the
// others are raised by it.
func (b *Builder) Gap(m Scores) int64 {
	t := b.Circuit.Tensors[m.ID]
	return t.Max - t.Min + int64(loweredBy)<<t.Frac
}

// KeysOf is the size, in bits, of the table of exponentials that the scores would have if masked ones were
// not lowered; 16 if it would be larger.
func (b *Builder) KeysOf(m Scores) int {
	t := b.Circuit.Tensors[m.ID]
	return min(KeyBits(m, t.Max-t.Min, t.Frac, FinestKeys(m, t.Max-t.Min, t.Frac)), 16)
}

// loweredScores applies a mask of 0 and 1 to scores: it raises the scores where the mask is 1 by Gap.
func (b *Builder) loweredScores(m Scores, mask model.TensorID, labels []int) Scores {
	t := b.Circuit.Tensors[m.ID]
	if t.Frac < 0 || t.Frac > FinestKey {
		refuse.With("scores on a scale of %d bits are not lowered", t.Frac)
	}
	gap := b.Gap(m)
	m.Keys = b.KeysOf(m)
	e := b.Of(m.ID).Plus(b.View(mask, LabelView(labels, m.Shape), m.Shape).Times(gap))
	m.ID = b.VirtualOf("scores, masked", e.Within(t.Min, t.Max+gap)) // whatever the mask's range is said to be
	return m
}

// FinestKey is the finest scale that keys of a Softmax need: a key that is rounded to 2^−FinestKey gives a
// share with a relative error of about as much.
const FinestKey = 12

// LeastKey is the scale that keys of all scores must have at least. If they would be coarser than
// 2^−LeastKey, scores far below the maximum are clamped, so that the keys of the others are finer.
const LeastKey = 9

// SharesOf returns the shares of a Softmax, as integers of which 2^bits is 1. The exponentials that are
// summed have 2^summed for 1.
func (b *Builder) SharesOf(m Scores, name string, summed, bits int) model.TensorID {
	if c, ok := b.FineCut(m); ok {
		return b.fineShares(m, c, name, summed, bits)
	}
	return b.probabilities(b.Shares(m, summed), name, summed, bits)
}

// probabilities looks up the exponentials of keys: the shares, as integers of which 2^bits is 1. The
// exponentials that were summed have 2^summed for 1. It records a bound of the sum of a row of shares.
func (b *Builder) probabilities(s Shares, name string, summed, bits int) model.TensorID {
	id := b.LookUp(name, "exp", s.Key, s.Key.Frac, s.first, b.exponentials(s.Key.Frac, s.first, bits, 0))
	width := s.width
	// The logarithm is off by what logOfDigits is, and by one unit of keys, or by less where it
	// rounds to 0. An exponential that was summed is too small by half a unit at most, and their
	// sum is at least 1. A share is too large by half a unit at most.
	more := float64(width - 1) // how much more than 1 the shares of a row add up to
	if s.Key.Frac >= 0 {
		more = elementary.Expm1(logError + Pow2(-s.Key.Frac))
	}
	each := float64(float64(width) * Pow2(-summed-1))
	more += float64(each * (1 + more))
	b.RowSums[id] = 1<<bits + int64(math.Ceil(Pow2(bits)*more)) + int64(width+1)/2
	return id
}

// Shares is what a Softmax and a LogSoftmax have in common: the logarithms of the shares.
type Shares struct {
	// Key is x − max − log Σ exp(x − max) for each score x, or the table's first key where x is
	// masked. Scores far below the maximum may be clamped.
	Key   *Int
	first int64       // the first key of the table of exponentials
	width int         // the most entries of a row
	Log   func() *Int // Key without that clamp: the result of a LogSoftmax
}

// plusLog is 2^fine times a maximum, plus the terms of a logarithm, which is in [0, most].
func (b *Builder) plusLog(top model.TensorID, fine int, log []model.Linear, most int64) model.TensorID {
	e := b.Of(top).Finer(fine)
	e.Acc.Linear = append(e.Acc.Linear, log...)
	return b.VirtualOf("maximum and logarithm", e.Within(e.Min, e.Max+most))
}

// MostLog bounds the logarithm of a sum of width exponentials, each at most 1, in units of 2^−frac. It
// leaves room for the errors of logOfSum.
func MostLog(width, frac int) int64 {
	return max(8, int64(math.Ceil((elementary.Log(float64(width))+0.01)*Pow2(frac)))+2)
}

// Shares adds the steps of the keys of a Softmax: the maximum of each row, the exponentials of the scores
// less the maximum, of which 2^bits is 1, and the logarithm of their sum.
func (b *Builder) Shares(m Scores, bits int) Shares {
	t := b.Circuit.Tensors[m.ID]
	logMax := func(frac int) int64 { return MostLog(m.Width, frac) }
	top := b.rowMax(m)
	spread := t.Max - t.Min

	rows := func(fine int) int { return KeyBits(m, spread, t.Frac, fine) }
	fine := FinestKeys(m, spread, t.Frac)
	all, allTop, allSpread := m, top, spread
	if t.Frac+fine < LeastKey {
		// Most rows of the table would be for scores so far below the maximum that their share is 0.
		m, top, spread = b.nearMaximum(m, top)
		fine = FinestKeys(m, spread, t.Frac)
	}
	keyFrac := t.Frac + fine
	if rows(fine) > model.MaxTableBits {
		refuse.With("scores from %d to %d are too many to have a table of exponentials", t.Min, t.Max)
	}
	first := 1 - int64(1)<<rows(fine)
	exp := b.Witness("exponential", m.Shape, bits, 0, 1<<bits)
	key := m.less(b, b.scaled("maximum", top, 1<<fine), fine, keyFrac, first)
	b.Lookup(key, keyFrac, b.FuncTable("exp", first, b.exponentials(keyFrac, first, bits, 0)), exp)

	log := b.logOfSum(exp, m.Width, keyFrac, logMax(keyFrac))
	under := func(top model.TensorID) model.TensorID { return b.plusLog(top, fine, log, logMax(keyFrac)) }
	return Shares{m.less(b, under(top), fine, keyFrac, first), first, m.Width, func() *Int {
		return all.less(b, under(allTop), fine, keyFrac, -allSpread<<fine-logMax(keyFrac))
	}}
}

// KeyBits is the size, in bits, of the table of exponentials for scores on the scale frac with the given
// spread, if their keys are fine bits finer than the scores. Besides the keys of 1, 2, … units below 0
// there are key 0, and the first key, for masked scores.
func KeyBits(m Scores, spread int64, frac, fine int) int {
	return model.Log2Ceil(int(spread<<fine + MostLog(m.Width, frac+fine) + 2))
}

// FinestKeys is how many bits finer than the scores their keys are. Rounding the logarithm of the sum
// makes all shares of a row wrong by the same factor, so keys are as fine as a table of moderate size
// allows: finer than 2^−10 only in a table that is small for the number of scores.
func FinestKeys(m Scores, spread int64, frac int) (fine int) {
	small, most := 14, 16
	if m.Entries >= 1<<small {
		small = 16
	}
	if m.Keys > 0 {
		most = m.Keys
	}
	rows := func(fine int) int { return KeyBits(m, spread, frac, fine) }
	for rows(fine+1) <= most && (frac+fine < 10 || rows(fine+1) <= small && frac+fine < FinestKey) {
		fine++
	}
	return fine
}

// FarBelow is how far below the maximum a score is clamped, as its exponential is next to nothing.
const FarBelow = 24

// nearMaximum returns the scores less their row's maximum, on the same scale, clamped at −FarBelow
// and moved up so that the least is 1; masked ones are 0. It also returns the maximum and the spread
// of these.
func (b *Builder) nearMaximum(m Scores, top model.TensorID) (Scores, model.TensorID, int64) {
	of := &b.Circuit.Tensors[m.ID]
	frac, bits := of.Frac, model.Log2Ceil(int(of.Max-of.Min)+2)
	least := -int64(math.Ceil(FarBelow * Pow2(frac)))
	if rows := int64(1) << bits; rows+least < 2 && of.Max-of.Min == rows-2 {
		bits++ // the second row would be for a score that is not as far below as least
	}
	first := -int64(1) << bits
	rows := int64(1) << bits
	t := model.Table{Name: fmt.Sprintf("near the maximum, from %d, %d", least, bits), Kind: model.TablePiecewise, Bits: bits, Min: first + 1,
		Pieces: []model.Piece{{End: 1}, {End: max(2, rows+least), Offset: 1}, {End: rows, Slope: 1, Offset: 1 - least}}}
	id := b.Witness("near the maximum", m.Shape, frac, 0, 1-least)
	b.LookupDirect(m.less(b, top, 0, frac, first+1), b.addTable(t), id)
	shape := b.Circuit.Tensors[top].Shape
	top = b.Virtual("maximum", shape, []model.Linear{{Coef: 1, Src: b.Scalar("maximum", 1-least), View: LabelView(nil, shape)}}, frac)
	m.ID = id
	return m, top, 1 - least
}

// exponentials is the column of exp((key + above)·2^−frac), as integers of which 2^bits is 1, for the keys in
// [first, 0]. If above is 0 the first key stands for masked entries, and its value is 0.
func (b *Builder) exponentials(frac int, first int64, bits int, above float64) *Column {
	return b.Tabulated(fmt.Sprint("exp ", frac, first, bits, above), 1-first, bits, func(i int) float64 {
		if i == 0 && above == 0 {
			return 0
		}
		return Pow2(bits) * elementary.Exp((float64(first+int64(i))+above)*Pow2(-frac))
	})
}

// Scores are the scores of a Softmax. If Mask is set, the scores that count are moved to begin at 0, and
// masked ones are 0.
type Scores struct {
	ID     model.TensorID
	Shape  []int
	Mask   model.TensorID // a mask of 0 and 1; None if there is none, or if masked scores are lowered
	labels []int          // the mask's axes, by their axis in Shape

	Width   int  // the most entries of a row
	Open    bool // whether the length of rows is free
	Entries int  // Builder.Entries of the shape
	Keys    int  // the most bits of a table of exponentials that FinestKeys fills; 0: its usual limit
}

// Scores returns the scores of a block, with its mask applied, if it has one.
func (b *Builder) Scores(of *Block) Scores {
	shape := b.Circuit.Tensors[of.Of].Shape
	m := Scores{ID: of.Of, Shape: shape, Mask: model.None, Width: shape[len(shape)-1], Entries: of.Entries}
	if !of.ofText() {
		m.Entries = b.Entries(shape)
	}
	if of.Width > 0 {
		m.Open, m.Width = true, of.Width
	}
	switch {
	case of.Mask == model.None:
		return m
	case of.Kind == LoweredSoftmaxBlock:
		return b.loweredScores(m, of.Mask, of.Labels)
	}
	return b.maskedScores(m, of.Mask, of.Labels)
}

// maskedScores applies a mask of 0 and 1: mask·(x − the least score). labels are the axes of the scores
// that the mask has.
func (b *Builder) maskedScores(m Scores, mask model.TensorID, labels []int) Scores {
	t := b.Circuit.Tensors[m.ID]
	e := b.Product(m.Shape, m.ID, model.Axes(len(m.Shape)), mask, labels, 1)
	e = e.Minus(b.View(mask, LabelView(labels, m.Shape), m.Shape).Times(t.Min)).On(t.Frac).Within(0, t.Max-t.Min)
	m.ID, m.Mask, m.labels = b.Exact("scores, masked", e), mask, labels
	return m
}

// less is 2^fine·x − row for each score x, where row has one number for each row of scores, at least as
// large as 2^fine·x. The difference is known to be in [least, 0]. Where x is masked it is least.
func (s Scores) less(b *Builder, row model.TensorID, fine, frac int, least int64) *Int {
	e := b.View(s.ID, nil, s.Shape).Finer(fine)
	if s.Mask == model.None {
		e = e.Minus(b.View(row, BroadcastView(b.Circuit.Tensors[row].Shape, s.Shape), s.Shape))
	} else {
		row, labels := b.Squeezed(row, s.Shape)
		e = e.Minus(b.Product(s.Shape, row, labels, s.Mask, s.labels, 1)).PlusConst(least)
		e = e.Minus(b.View(s.Mask, LabelView(s.labels, s.Shape), s.Shape).Times(least))
	}
	return e.On(frac).Within(least, 0)
}

// logOfSum is the logarithm of the sum of each row of exponentials along the last axis, of which one
// is 1, as terms of a sum. The result keeps the axis, with dimension 1. It is rounded to multiples of
// 2^−frac, and lies in [0, most]. It is nil where the logarithm would round to 0.
func (b *Builder) logOfSum(exp model.TensorID, width, frac int, most int64) []model.Linear {
	t := b.Circuit.Tensors[exp]
	last := len(t.Shape) - 1
	if (elementary.Log(float64(width))+0.01)*Pow2(frac) < 0.49 {
		return nil // keys are so coarse that it rounds to 0
	}
	expBits := t.Frac
	w := wide{shape: append(append([]int(nil), t.Shape[:last]...), 1), constant: new(big.Int)}
	// Each term of the sum has as many exponentials as an accumulator holds.
	for from, size := 0, int((model.Bound-1)/t.Max); from < t.Shape[last]; from += size {
		n := min(size, t.Shape[last]-from)
		view := &model.View{Groups: append(model.SameIndexes(last).Groups, model.Group{
			Out: []int{last}, In: []int{last}, Base: from, Strides: []int{0}, Sum: []model.SumIndex{{Dim: n, Stride: 1}},
		})}
		e := b.View(exp, view, w.shape)
		e.Max *= int64(min(size, width-from))
		w.terms = append(w.terms, WideTerm{e, 0})
	}
	digits := b.digits("sum", w, big.NewInt(int64(width)*t.Max))
	// The logarithm is rounded from LogBits to frac bits of fraction: it is cut into pieces, and the lowest is left out.
	shift := LogBits - frac
	if shift < 0 {
		refuse.With("logarithms on a scale of %d bits", frac)
	}
	e := b.logOfDigits(w.shape, digits, expBits)
	if shift == 0 {
		return e.Acc.Linear
	}
	var log []model.Linear
	for i, p := range b.pieces("logarithm", e.PlusConst(1<<(shift-1)).Within(0, max(most, 8)<<shift), shift)[1:] {
		log = append(log, p.Times(1<<(DigitBits*i)).Acc.Linear...)
	}
	return log
}

// Scores with too many values for a table of exponentials are taken in limbs, x = 2^c·high + low. With
// 2^−F the unit of x, and u = 2^(c−F) that of the high limb,
//
//	exp(x + u/4) = exp((high + 3/4)·u)·(1 + grown(low)/2^F),   grown(low) = 2^F·(exp(low/2^F − u/2) − 1).
//
// Each factor is looked up, and their product is rounded. Where exponentials are so
// small that the low limb makes no difference, this is right in the mean. The maximum is that of
// the high limbs. The quarter of a unit makes the sum of exponentials at least 1; the logarithm of the
// sum contains it as well, so that it cancels in the key.
const (
	leastFineSpread = 18 // log2 of the least spread of scores that are taken in limbs; for fewer a table does
	fineRows        = 15 // log2 of the high limbs' spread
	// The unit of the high limbs is between 2^−mostFineUnit and 2^−leastFineUnit: the error of the
	// logarithm is less than a quarter of it.
	leastFineUnit, mostFineUnit = 7, 10
	FineShareBits               = 20 // the most bits of such shares, in short rows
)

// FineCut returns c, the bits of the low limb of scores that are taken in limbs; ok is false if these
// scores are not.
func (b *Builder) FineCut(m Scores) (c int, ok bool) {
	t := b.Circuit.Tensors[m.ID]
	if m.Mask != model.None || m.Open || t.Max-t.Min < 1<<leastFineSpread || t.Frac > LogBits {
		return 0, false
	}
	spread := model.Log2Ceil(int(t.Max-t.Min) + 1)
	c = max(spread-fineRows, t.Frac-mostFineUnit)
	c = min(c, t.Frac-leastFineUnit)
	if c < 1 || c > mostLow || spread-c > fineRows+1 {
		return c, false
	}
	return c, TableBits(t.Min>>c, t.Max>>c) <= model.MaxTableBits // more than spread − c if all scores are far from 0
}

// fineShares is SharesOf for scores that are taken in limbs, with c bits for the low one.
func (b *Builder) fineShares(m Scores, c int, name string, summed, bits int) model.TensorID {
	t := b.Circuit.Tensors[m.ID]
	high, low := b.Halve("scores, high", b.Of(m.ID), c, 0)
	keyFrac := t.Frac - c
	b.Circuit.Tensors[high].Frac = keyFrac

	m.ID = high
	m, top, spread := b.nearMaximum(m, b.rowMax(m))
	// Keys are as far below 0 as spread and logarithm, which is up to two units more than MostLog here (logMax); the rest is
	// room for rounding.
	first := 1 - int64(1)<<model.Log2Ceil(int(spread+MostLog(m.Width, keyFrac)+5))
	// times returns the exponential of a score, of which 2^bits is 1, as the product of two look-ups: of
	// the key ⌊e/2^shift⌋ and of the low limb, which is the remainder if shift is not 0.
	times := func(name string, e *Int, shift, bits int, low *Int) model.TensorID {
		column := b.exponentials(keyFrac, first, bits, 0.75)
		table := b.FuncTable("exp", first, column)
		exp := b.Witness(name+", high", t.Shape, bits, 0, column.Greatest)
		if shift == 0 {
			b.LookupDirect(e, table, exp)
		} else {
			low = b.cut(e, shift, table, exp)
		}
		product := b.EntryProduct(t.Shape, exp, b.grown(low, c, t.Frac)).On(bits + t.Frac)
		lo, hi := Keys(product, bits)
		rest := b.Witness(name+", low", t.Shape, bits, lo, hi)
		b.Lookup(product, bits, b.PiecewiseOf(Keep, lo, hi, TableBits(lo, hi)), rest)
		// Not negative, as the low limb makes the exponential smaller by a small part only.
		return b.VirtualOf(name, b.Of(exp).Plus(b.Of(rest)).Within(0, column.Greatest+hi))
	}
	exp := times("exponential", m.less(b, top, 0, keyFrac, first), 0, summed, low)

	logMax := MostLog(m.Width, t.Frac) + int64(2)<<c // exponentials may be more than 1, by up to two units of the high limb in the logarithm
	log := b.logOfSum(exp, m.Width, t.Frac, logMax)
	key := m.less(b, b.plusLog(top, c, log, logMax), c, t.Frac, -spread<<c-logMax).Plus(low)
	id := times(name, key.Within(key.Min, 1<<c-1), c, bits, nil)

	// The shares of a row add up to more than 1 by these relative errors: 2^−12 and one unit of the logarithm,
	// half a unit for each of the two look-ups of low limbs, and a little more than one unit of each
	// exponential that was summed, and of each share itself.
	each := float64(float64(m.Width) * 1.0625)
	more := elementary.Expm1(Pow2(-10) + float64(4*Pow2(-t.Frac)) + float64(each*Pow2(-summed)))
	b.RowSums[id] = 1<<bits + int64(math.Ceil(float64(Pow2(bits)*more)+each)) + 1
	return id
}

// grown looks up 2^frac·(exp((e − 2^(bits−1))/2^frac) − 1). The look-up keeps e in [0, 2^bits).
func (b *Builder) grown(e *Int, bits, frac int) model.TensorID {
	return b.LookUp("grown", "exp − 1", e, e.Frac, 0, b.Tabulated(fmt.Sprint("grown ", frac, bits), 1<<bits, frac, func(i int) float64 {
		return Pow2(frac) * elementary.Expm1(float64(i-1<<bits/2)*Pow2(-frac))
	}))
}
