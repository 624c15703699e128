package fixed

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Scores too many for a table of all their exponentials are taken in limbs,
// x = 2^c·high + low: with the unit 2^−F of x and u = 2^(c−F) of the high limb,
//
//	exp(x + u/4) = exp((high + 3/4)·u)·(1 + grown(low)/2^F),   grown(low) = 2^F·(exp(low/2^F − u/2) − 1),
//
// a look-up for each factor, and their product, which is rounded. Of numbers so small that
// nothing is left of what the low limb makes of them, this is right in the mean. The
// maximum is that of the high limbs: what is summed is at least 1 with the quarter of a
// unit, which the logarithm of the sum has as well, so that it falls out.
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
	kmin, kmax := t.Min>>c, t.Max>>c
	high := b.Witness("scores, high", t.Shape, t.Frac-c, kmin, kmax)
	low := b.Cut(b.View(m.ID, nil, t.Shape), c, b.PiecewiseOf(Keep, -model.Bound, model.Bound, TableBits(kmin, kmax)), high)
	keyFrac := t.Frac - c

	m.ID = high
	top, spread := b.rowMax(m), kmax-kmin
	m, top, spread = b.nearMaximum(m, top, spread, -keyFrac)
	first := -int64(1) << model.Log2Ceil(int(spread+MostLog(m.Width, keyFrac)+5))
	// times adds the look-up of the exponential of e, of key and low limb, 1 being 2^bits.
	times := func(name string, e *Int, shift, bits int, low *Int) model.TensorID {
		table, greatest := b.fineExpTable(keyFrac, first, bits)
		exp := b.Witness(name+", high", t.Shape, bits, 0, greatest)
		if shift == 0 {
			b.LookupDirect(e, table, exp)
		} else {
			low = b.Cut(e, shift, table, exp)
		}
		product := b.Product(t.Shape, exp, AllLabels(t.Shape), b.grown(low, c, t.Frac), AllLabels(t.Shape), 1)
		product.Frac = bits + t.Frac
		lo, hi := Keys(product, bits)
		rest := b.Witness(name+", low", t.Shape, bits, lo, hi)
		b.Lookup(product, bits, b.PiecewiseOf(Keep, lo, hi, TableBits(lo, hi)), rest)
		// Not negative, as what the low limb takes is a small part of the other.
		return b.Add(model.Tensor{
			Name: name, Shape: t.Shape, Kind: model.Virtual, Frac: bits, Max: greatest + hi,
			Def: []model.Linear{{Coef: 1, Src: exp}, {Coef: 1, Src: rest}},
		})
	}
	exp := times("exponential", m.Less(b, top, 0, keyFrac, first+1), 0, summed, low)

	logMax := MostLog(m.Width, t.Frac) + int64(2)<<c // what each has beyond 1
	log := b.logOfSum(exp, m.Width, t.Frac, logMax)
	tt := b.Circuit.Tensors[top]
	under := b.Add(model.Tensor{
		Name: "maximum and logarithm", Shape: tt.Shape, Kind: model.Virtual, Frac: t.Frac, Min: tt.Min << c, Max: tt.Max<<c + logMax,
		Def: append([]model.Linear{{Coef: 1 << c, Src: top}}, log...),
	})
	key := m.Less(b, under, c, t.Frac, -spread<<c-logMax)
	key = key.Plus(low)
	key.Max = 1<<c - 1
	id := times(name, key, c, bits, nil)

	// What is wrong in proportion: the logarithm by 2^−12 and a unit, what low limbs make by
	// half a unit twice, and in what was summed each share by one unit and a bit; and each
	// share itself by as much.
	each := float64(float64(m.Width) * 1.0625)
	more := elementary.Expm1(Pow2(-10) + float64(4*Pow2(-t.Frac)) + float64(each*Pow2(-summed)))
	b.RowSums[id] = 1<<bits + int64(math.Ceil(float64(Pow2(bits)*more)+each)) + 1
	return id
}

// fineExpTable is the table of exp((key + 3/4)·2^−frac), 1 being 2^bits, for keys in
// [first, 0], with its greatest value.
func (b *Builder) fineExpTable(frac int, first int64, bits int) (model.TableID, int64) {
	values := b.column(fmt.Sprint("fine exp ", frac, first, bits), func() []int32 {
		values := make([]int32, -first)
		for i := range values {
			values[i] = int32(math.Round(Pow2(bits) * elementary.Exp((float64(first+1+int64(i))+0.75)*Pow2(-frac))))
		}
		return values
	})
	return b.FuncTable("exp", first+1, values), int64(values[len(values)-1])
}

// grown looks up 2^frac·(exp((low − 2^(bits−1))/2^frac) − 1) for e in [0, 2^bits), which
// it forces.
func (b *Builder) grown(e *Int, bits, frac int) model.TensorID {
	values := b.column(fmt.Sprint("grown ", frac, bits), func() []int32 {
		values := make([]int32, 1<<bits)
		for i := range values {
			values[i] = int32(math.Round(Pow2(frac) * elementary.Expm1(float64(i-len(values)/2)*Pow2(-frac))))
		}
		return values
	})
	id := b.Witness("grown", e.Shape, frac, int64(slices.Min(values)), int64(slices.Max(values)))
	b.LookupDirect(e, b.FuncTable("exp − 1", 0, values), id)
	return id
}
