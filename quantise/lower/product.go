package lower

import (
	"math"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// A product with a wide tensor x = 2^k·high + low takes two accumulators with the same
// weights or the same computed factor w: A_high = Σ w·high and A_low = Σ w·low. A look-up rounds
// the second one to a carry,
//
//	A_low + 2^(m−1) = 2^m·carry + rest,
//
// and the product is A_high + 2^(m−k)·carry, in units of 2^k of x's. It is off by at most
// 2^(m−k−1) units, a small part of what rounding it drops.

// productOf is the sum of products v of two values, which sum makes for two tensors: in limbs where
// that is of use, and rounded until one accumulator holds it elsewhere.
func (l *lowering) productOf(v, a, b *value, c contraction, sum func(a, b model.TensorID) *fixed.Int) *fixed.Int {
	if e := l.productLimbs(v, a, b, c, sum); e != nil {
		return e
	}
	return sum(l.fitProduct(v, a, b, c))
}

// productLimbs is productOf in limbs of the second, for values whose
// formats one accumulator does not hold. It is nil if one does, or if limbs are of no use.
func (l *lowering) productLimbs(v, a, b *value, c contraction, sum func(a, b model.TensorID) *fixed.Int) *fixed.Int {
	one := c.count == 1 && l.formatted(v) > fixed.NarrowBits
	if l.opts.Formats[v.name].Weights == 0 && !one {
		return nil
	}
	ida, idb, limit := l.tightened(a), l.tightened(b), l.limitOf(v)
	if l.reach(ida, idb, c) <= float64(limit) || l.Magnitude(idb) < 1<<8 {
		return nil
	}
	bits := (model.Log2Ceil(int(l.Magnitude(idb))+1) + 1) / 2
	if room := limit / int64(2*c.count); l.rowSum(ida, c.count, c.lastA)<<bits > limit/2 {
		var e *fixed.Int
		both := l.wide(a) && l.wide(b)
		if both && one && l.finestOf(v) {
			e = l.entryLimbs(v, ida, idb, sum)
		}
		if both && e == nil && l.opts.Formats[v.name].Weights > 0 {
			e = l.bothLimbs(v, ida, idb, c, sum)
		}
		if e != nil || !one {
			return e
		}
		ida = l.narrowed(a, fixed.FloorLog2(float64(room))-bits)
	}
	return l.inLimbs(v, l.SplitMoved(idb), func(limb model.TensorID) *fixed.Int { return sum(ida, limb) })
}

// inLimbs is what a tensor in limbs is multiplied to, given that for a limb.
func (l *lowering) inLimbs(v *value, p fixed.Split, product func(limb model.TensorID) *fixed.Int) *fixed.Int {
	low, high := product(p.Low), product(p.High)
	drop := max(l.carryShift(v, low.Frac, p.Bits), p.Bits)
	return high.Plus(l.RoundCarry(v.name+", carry", low, drop).Times(1 << (drop - p.Bits)))
}

// rowSum bounds the sum of the magnitudes of what a sum of so many products takes from a
// factor, along its last axis or not.
func (l *lowering) rowSum(id model.TensorID, count int, last bool) int64 {
	most := l.Magnitude(id) * int64(count)
	if s, ok := l.RowSums[id]; ok && last {
		return min(most, s)
	}
	return most
}

// bothLimbs is a sum of products of two wide values in limbs of both,
//
//	a·b = 2^(i+j)·Σ ah·bh + 2^j·Σ al·bh + 2^i·Σ ah·bl + Σ al·bl,
//
// in units of 2^(i+j). The second and the third sum are rounded to carries. A product in the last
// sum is below one unit, and a quarter is taken for it. The result is nil if the sum of the
// high limbs does not fit an accumulator.
func (l *lowering) bothLimbs(v *value, ida, idb model.TensorID, c contraction, sum func(a, b model.TensorID) *fixed.Int) *fixed.Int {
	pa, pb := l.SplitMoved(ida), l.SplitMoved(idb)
	reach := float64(c.count) * float64(l.Magnitude(pa.High)) * float64(l.Magnitude(pb.High))
	if reach > float64(l.limitOf(v))/2 {
		return nil
	}
	e := sum(pa.High, pb.High)
	e = e.Plus(l.RoundCarry(v.name+", carry", sum(pa.Low, pb.High), pa.Bits))
	e = e.Plus(l.RoundCarry(v.name+", other carry", sum(pa.High, pb.Low), pb.Bits))
	return e.PlusConst(int64(c.count) / 4)
}

// entryLimbs is a product of two wide values entry by entry, in limbs of both,
//
//	a·b = 2^(i+j)·ah·bh + 2^i·ah·bl + 2^j·al·bh + al·bl,
//
// The last product is rounded to a carry to the two in the middle, and their sum to a carry to
// the first. The result is as many bits finer than the first product as the value has use for,
// and nil if it does not fit an accumulator.
func (l *lowering) entryLimbs(v *value, ida, idb model.TensorID, sum func(a, b model.TensorID) *fixed.Int) *fixed.Int {
	pa, pb := l.SplitMoved(ida), l.SplitMoved(idb)
	less, more := min(pa.Bits, pb.Bits), max(pa.Bits, pb.Bits)
	high, middle := sum(pa.High, pb.High), sum(pa.High, pb.Low).Finer(pa.Bits-less).Plus(sum(pa.Low, pb.High).Finer(pb.Bits-less))
	if float64(high.Abs()) > float64(l.limitOf(v))/2 || middle.Abs() > model.Bound/4 {
		return nil
	}
	finer := 0
	if frac, ok := l.roundedFrac(v); ok {
		finer = min(max(frac+2-high.Frac, 0), more-1)
	}
	for finer > 0 && float64(high.Abs())*fixed.Pow2(finer) > float64(l.limitOf(v))/2 {
		finer--
	}
	middle = middle.Plus(l.RoundCarry(v.name+", low carry", sum(pa.Low, pb.Low), less))
	return high.Finer(finer).Plus(l.RoundCarry(v.name+", carry", middle, more-finer))
}

// wide reports whether a value has more than NarrowBits.
func (l *lowering) wide(v *value) bool {
	_, stream := l.stream[v.name]
	return stream || l.formatted(v) > fixed.NarrowBits
}

// elementwise is the product v of two computed values, with broadcasting: in limbs of
// one if v is wide and they are.
func (l *lowering) elementwise(v, a, b *value) *fixed.Int {
	product := func(ida, idb model.TensorID) *fixed.Int { return l.EntryProduct(v.shape, ida, idb) }
	return l.productOf(v, a, b, contraction{count: 1}, product)
}

// contraction tells what a product sums over: count entries, which are the
// last axis of A or B if so marked.
type contraction struct {
	count        int
	lastA, lastB bool
}

// reach bounds a sum of products.
func (l *lowering) reach(a, b model.TensorID, c contraction) float64 {
	sumA, sumB := l.rowSum(a, c.count, c.lastA), l.rowSum(b, c.count, c.lastB)
	return math.Min(float64(sumA)*float64(l.Magnitude(b)), float64(sumB)*float64(l.Magnitude(a)))
}

// fitProduct returns tensors of a and b so that a sum of products fits the
// accumulator, rounding the wider one as often as that takes.
func (l *lowering) fitProduct(v, a, b *value, c contraction) (model.TensorID, model.TensorID) {
	ida, idb := l.tightened(a), l.tightened(b)
	for {
		over := l.reach(ida, idb, c) / float64(l.limitOf(v))
		if over <= 1 {
			return ida, idb
		}
		wide, of := &ida, a
		if l.Magnitude(idb) > l.Magnitude(ida) {
			wide, of = &idb, b
		}
		// Share the loss between the two.
		loss := 1
		for over > fixed.Pow2(2*loss) {
			loss++
		}
		bits := model.Log2Ceil(int(l.Magnitude(*wide))) - loss
		if bits < 4 {
			refuse.With("a sum of %d products does not fit in 30 bits with at least 4 bits a factor", c.count)
		}
		*wide = l.narrowed(of, bits)
	}
}
