package fixed

import (
	"fmt"
	"math"
	"math/big"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Sums of so many exponentials, of up to 16 bits, fit an accumulator.
const LongestText = 1 << 13

// Masked scores of a text may be lowered below all others, by a gap so large that their
// exponentials, of at most 16 bits, are exactly 0. Then a score is a sum of the rounded score and
// a multiple of the mask, and keys need no products with the mask. This is done where it does
// not make the tables of exponentials larger. Every row must have an entry that is not masked:
// otherwise its masked scores would have shares.

const loweredBy = 12 // beyond all scores' spread

// Gap is how much the scores that are not masked are raised above the others.
func (b *Builder) Gap(m Scores) int64 {
	t := b.Circuit.Tensors[m.ID]
	return t.Max - t.Min + int64(loweredBy)<<t.Frac
}

// KeysOf is the size of the table of exponentials of scores that are not lowered, which is at
// most 2^16 unless there is no way.
func (b *Builder) KeysOf(m Scores) int {
	t := b.Circuit.Tensors[m.ID]
	return min(KeyBits(m, t.Max-t.Min, t.Frac, FinestKeys(m, t.Max-t.Min, t.Frac)), 16)
}

// loweredScores raises all scores that a mask of 0 and 1 leaves.
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

// FinestKey is the finest scale that keys of a Softmax need: rounding to 2^−FinestKey makes a
// relative error of as much.
const FinestKey = 12

// Keys that are coarser than 2^-LeastKey are those of scores near the maximum alone.
const LeastKey = 9

// SharesOf makes the shares themselves, 1 being 2^bits; what is summed is 2^summed.
func (b *Builder) SharesOf(m Scores, name string, summed, bits int) model.TensorID {
	if c, ok := b.FineCut(m); ok {
		return b.fineShares(m, c, name, summed, bits)
	}
	return b.probabilities(b.Shares(m, summed), name, summed, bits)
}

// probabilities adds the look-up of the shares themselves, 1 being 2^bits; what was summed is
// 2^summed.
func (b *Builder) probabilities(s Shares, name string, summed, bits int) model.TensorID {
	id := b.LookUp(name, "exp", s.Key, s.Key.Frac, s.first, b.exponentials(s.Key.Frac, s.first, bits, 0))
	width := s.width
	// The logarithm is off by what logOfDigits is, and by one unit of keys, or by less where it
	// rounds to 0. An exponential that was summed is too small by half a unit at most, and their
	// sum is at least 1. A share is too large by half a unit at most.
	more := float64(width - 1) // beside one, in units of that
	if s.Key.Frac >= 0 {
		more = elementary.Expm1(logError + Pow2(-s.Key.Frac))
	}
	each := float64(float64(width) * Pow2(-summed-1))
	more += float64(each * (1 + more))
	b.RowSums[id] = 1<<bits + int64(math.Ceil(Pow2(bits)*more)) + int64(width+1)/2
	return id
}

// Shares are what a Softmax and its logarithm have in common.
type Shares struct {
	// Key is x − max − log Σ exp(x − max), or the table's first key where x is
	// masked.
	Key   *Int
	first int64       // of the keys that have exponentials
	width int         // of a row
	Log   func() *Int // the key without a least value that far scores have: the logarithm of the shares
}

// plusLog is 2^fine times a maximum, plus the terms of a logarithm of at most most.
func (b *Builder) plusLog(top model.TensorID, fine int, log []model.Linear, most int64) model.TensorID {
	e := b.Of(top).Finer(fine)
	e.Acc.Linear = append(e.Acc.Linear, log...)
	return b.VirtualOf("maximum and logarithm", e.Within(e.Min, e.Max+most))
}

// MostLog is the largest logarithm of a sum of so many shares of at most 1, on a
// scale.
func MostLog(width, frac int) int64 {
	return max(8, int64(math.Ceil((elementary.Log(float64(width))+0.01)*Pow2(frac)))+2)
}

// Shares makes the keys. What is summed has that many bits.
func (b *Builder) Shares(m Scores, bits int) Shares {
	t := b.Circuit.Tensors[m.ID]
	logMax := func(frac int) int64 { return MostLog(m.Width, frac) }
	top := b.rowMax(m)
	spread := t.Max - t.Min

	rows := func(fine int) int { return KeyBits(m, spread, t.Frac, fine) }
	fine := FinestKeys(m, spread, t.Frac)
	all, allTop, allSpread := m, top, spread
	if t.Frac+fine < LeastKey {
		// Most of the table is for shares that are nothing.
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

// KeyBits is the size of the table of exponentials of scores on a scale, with that spread,
// whose keys are so many bits finer.
func KeyBits(m Scores, spread int64, frac, fine int) int {
	return model.Log2Ceil(int(spread<<fine + MostLog(m.Width, frac+fine) + 2))
}

// FinestKeys is how many bits finer than scores their keys are. The rounding of the logarithm is
// an error of all shares of a row, so keys are as fine as a table of moderate size allows.
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

// FarBelow is how far below the maximum a score's exponential is nothing.
const FarBelow = 24

// nearMaximum is the scores less their maximum, on the same scale, clamped at −FarBelow
// and moved up so that they begin at 1; masked ones are 0. It returns the new maximum and spread
// as well.
func (b *Builder) nearMaximum(m Scores, top model.TensorID) (Scores, model.TensorID, int64) {
	of := &b.Circuit.Tensors[m.ID]
	frac, bits := of.Frac, model.Log2Ceil(int(of.Max-of.Min)+2)
	least := -int64(math.Ceil(FarBelow * Pow2(frac)))
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

// exponentials are exp((key + above)·2^−frac), 1 being 2^bits, for keys in [first, 0]. If above is 0 the first key
// stands for masked entries, and has 0.
func (b *Builder) exponentials(frac int, first int64, bits int, above float64) *Column {
	return b.Tabulated(fmt.Sprint("exp ", frac, first, bits, above), 1-first, bits, func(i int) float64 {
		if i == 0 && above == 0 {
			return 0
		}
		return Pow2(bits) * elementary.Exp((float64(first+int64(i))+above)*Pow2(-frac))
	})
}

// Scores are those of a Softmax: all of them, or with a mask the ones that count,
// from 0 on, with 0 in place of the others.
type Scores struct {
	ID     model.TensorID
	Shape  []int
	Mask   model.TensorID // of 0 and 1; None without
	labels []int

	Width   int  // of a row, at most
	Open    bool // whether that is free
	Entries int  // Builder.Entries of the shape
	Keys    int  // most bits of the table of exponentials that keys are made finer for, if not 0
}

// Scores are those of a block, whose mask is applied, if it has one.
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

// maskedScores applies a mask of 0 and 1, with these labels as a factor of the scores.
func (b *Builder) maskedScores(m Scores, mask model.TensorID, labels []int) Scores {
	t := b.Circuit.Tensors[m.ID]
	e := b.Product(m.Shape, m.ID, model.Axes(len(m.Shape)), mask, labels, 1)
	e = e.Minus(b.View(mask, LabelView(labels, m.Shape), m.Shape).Times(t.Min)).On(t.Frac).Within(0, t.Max-t.Min)
	m.ID, m.Mask, m.labels = b.Exact("scores, masked", e), mask, labels
	return m
}

// less is 2^fine·x less a tensor of one number a row, which is at least as large: it
// is not below least, which it is where x is masked.
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

// logOfSum is the logarithm of the sums along the last axis, which they keep, of
// exponentials of which one is 1: rounded to frac bits, at least 0 and at most most.
func (b *Builder) logOfSum(exp model.TensorID, width, frac int, most int64) []model.Linear {
	t := b.Circuit.Tensors[exp]
	last := len(t.Shape) - 1
	if (elementary.Log(float64(width))+0.01)*Pow2(frac) < 0.49 {
		return nil // it rounds to nothing beside scores this coarse
	}
	expBits := t.Frac
	w := wide{shape: append(append([]int(nil), t.Shape[:last]...), 1), constant: new(big.Int)}
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
	// Rounded to the scale of keys.
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

// Scores too many for a table of all their exponentials are taken in limbs,
// x = 2^c·high + low: with the unit 2^−F of x and u = 2^(c−F) of the high limb,
//
//	exp(x + u/4) = exp((high + 3/4)·u)·(1 + grown(low)/2^F),   grown(low) = 2^F·(exp(low/2^F − u/2) − 1),
//
// with a look-up for each factor and their product, which is rounded. Where exponentials are so
// small that the low limb makes no difference, this is right in the mean. The maximum is that of
// the high limbs. The quarter of a unit makes what is summed at least 1; the logarithm of the sum
// has it as well, so that it cancels in the key.
const (
	leastFineSpread = 18 // bits of what lies between the least score and the greatest; tables do for fewer
	fineRows        = 15 // bits of the high limbs' spread
	// The high limbs' unit: the logarithm is wrong by less than a quarter of it.
	leastFineUnit, mostFineUnit = 7, 10
	FineShareBits               = 20
)

// FineCut returns the size of the low limb of scores that are taken in limbs.
func (b *Builder) FineCut(m Scores) (c int, ok bool) {
	t := b.Circuit.Tensors[m.ID]
	if m.Mask != model.None || m.Open || t.Max-t.Min < 1<<leastFineSpread || t.Frac > LogBits {
		return 0, false
	}
	spread := model.Log2Ceil(int(t.Max-t.Min) + 1)
	c = max(spread-fineRows, t.Frac-mostFineUnit)
	c = min(c, t.Frac-leastFineUnit)
	return c, c > 0 && c <= mostLow && spread-c <= fineRows+1
}

// fineShares makes the shares of a Softmax of scores in limbs, 1 being 2^bits, and what is
// summed 2^summed.
func (b *Builder) fineShares(m Scores, c int, name string, summed, bits int) model.TensorID {
	t := b.Circuit.Tensors[m.ID]
	high, low := b.Halve("scores, high", b.Of(m.ID), c, 0)
	keyFrac := t.Frac - c
	b.Circuit.Tensors[high].Frac = keyFrac

	m.ID = high
	m, top, spread := b.nearMaximum(m, b.rowMax(m))
	first := 1 - int64(1)<<model.Log2Ceil(int(spread+MostLog(m.Width, keyFrac)+5))
	// times adds the look-up of the exponential of e, of key and low limb, 1 being 2^bits.
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
		// Not negative, as what the low limb takes is a small part of the other.
		return b.VirtualOf(name, b.Of(exp).Plus(b.Of(rest)).Within(0, column.Greatest+hi))
	}
	exp := times("exponential", m.less(b, top, 0, keyFrac, first), 0, summed, low)

	logMax := MostLog(m.Width, t.Frac) + int64(2)<<c // what each has beyond 1
	log := b.logOfSum(exp, m.Width, t.Frac, logMax)
	key := m.less(b, b.plusLog(top, c, log, logMax), c, t.Frac, -spread<<c-logMax).Plus(low)
	id := times(name, key.Within(key.Min, 1<<c-1), c, bits, nil)

	// Relative errors: 2^−12 and one unit of the logarithm, half a unit for each of the two look-ups
	// of low limbs, and a little more than one unit of each share that was summed, and of the share
	// itself.
	each := float64(float64(m.Width) * 1.0625)
	more := elementary.Expm1(Pow2(-10) + float64(4*Pow2(-t.Frac)) + float64(each*Pow2(-summed)))
	b.RowSums[id] = 1<<bits + int64(math.Ceil(float64(Pow2(bits)*more)+each)) + 1
	return id
}

// grown looks up 2^frac·(exp((low − 2^(bits−1))/2^frac) − 1) for e in [0, 2^bits), which
// it forces.
func (b *Builder) grown(e *Int, bits, frac int) model.TensorID {
	return b.LookUp("grown", "exp − 1", e, e.Frac, 0, b.Tabulated(fmt.Sprint("grown ", frac, bits), 1<<bits, frac, func(i int) float64 {
		return Pow2(frac) * elementary.Expm1(float64(i-1<<bits/2)*Pow2(-frac))
	}))
}
