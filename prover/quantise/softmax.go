package quantise

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
)

// lowerSoftmax lowers Softmax over the last axis: the row's maximum by
// look-ups, the exponentials of the differences from a table, their sum, and
// a proved division by it.
func lowerSoftmax(l *lowering, n *graph.Node, v *value) {
	x := l.values[n.Inputs[0]]
	id := l.comparable(x)
	t := l.g.Tensors[id]
	last := len(v.shape) - 1
	k := v.shape[last]
	if k == 1 {
		v.pending = &expr{shape: v.shape, min: 1, max: 1, acc: model.Acc{Const: 1}}
		return
	}
	top := l.lastAxisMax("maximum", id)
	spread := t.Max - t.Min
	diff := &expr{shape: v.shape, frac: t.Frac, min: -spread, max: 0}
	back := &model.View{Groups: identityGroups(len(v.shape))}
	back.Groups[last].Strides = []int{0}
	diff.acc.Linear = []model.Linear{{Coef: 1, Src: id}, {Coef: -1, Src: top, View: back}}

	// Bits of an exponential and of the result. Short rows divide in one step,
	// with twice the sum in the model's range table; in longer ones that would
	// leave the exponentials too few bits for their sum to be right.
	logK := model.Log2Ceil(k)
	outBits := min(12, l.opts.ActBits-1)
	expBits := min(max(l.plan.shift(), 13)-1-logK, 29-2-logK-outBits, 14)
	long := expBits < logK+6
	if long {
		outBits, expBits = 12, min(16, 27-logK)
		if expBits < logK {
			refuse("rows of %d entries are too long", k)
		}
	}
	one := int64(1) << expBits
	rows := int64(1) << model.Log2Ceil(int(spread)+1) // the last is for 0
	first := 1 - rows
	values := make([]int32, rows)
	for i := range values {
		values[i] = int32(math.Round(float64(one) * math.Exp(float64(first+int64(i))*pow2(-t.Frac))))
	}
	exp := l.witness("exponential", v.shape, expBits, 0, one)
	l.lookup(diff, t.Frac, l.funcTable("exp", first, values), exp)

	// The sum is at least the maximum's own exponential.
	reduce := &model.View{Groups: identityGroups(len(v.shape) - 1)}
	reduce.Groups = append(reduce.Groups, model.Group{In: []int{last}, Sum: []model.SumIndex{{Dim: k, Stride: 1}}})
	sum := l.add(model.Tensor{
		Name: "sum", Shape: v.shape[:last], Kind: model.Virtual, Frac: expBits, Min: one, Max: one * int64(k),
		Def: []model.Linear{{Coef: 1, Src: exp, View: reduce}},
	})
	spreadBack := &model.View{Groups: identityGroups(last)}
	spreadBack.Groups = append(spreadBack.Groups, model.Group{Out: []int{last}, Strides: []int{0}})
	labels := make([]int, last)
	for i := range labels {
		labels[i] = i
	}
	d := quotient{
		name: v.name, shape: v.shape, num: l.tensorExpr(exp, nil, v.shape), shift: outBits,
		den: sum, labels: labels, view: spreadBack, out: model.None,
	}
	var q model.TensorID
	if long {
		q = l.divideLong(d)
	} else {
		// A quotient is at most 1, so one look-up in a range table bounds it.
		d.bits = l.rangeFor(outBits+1, one*int64(k))
		d.keys = l.rangeTable(d.bits)
		q = l.divide(d)
	}
	qt := &l.g.Tensors[q]
	qt.Frac, qt.Min, qt.Max = outBits, 0, int64(1)<<outBits
	v.id, v.shaped = q, q
	// Each quotient is at most half above its share of 2^outBits.
	l.rowSums[q] = int64(1)<<outBits + int64(k+1)/2
}

// rangeFor returns the size of the range table that bounds a quotient of at
// least the given bits: the model's own if 2·den·q still fits.
func (l *lowering) rangeFor(bits int, den int64) int {
	if k := l.plan.shift(); k >= bits && 2*float64(den)*pow2(k) < model.Bound {
		return k
	}
	return bits
}

// limb is the number of bits of the low part of a long divisor.
const limb = 13

// divideLong is divide for num ≤ den, shift = limb − 1 and a divisor that may
// have 27 bits, whose product with the quotient would wrap. The divisor is cut
// in two, den = 2^limb·high + low, and with it the product: high·q is small
// enough to be held in a range, and 2^(limb+1)·high·q + 2·low·q does not wrap
// (model.Division).
func (l *lowering) divideLong(d quotient) model.TensorID {
	den := l.g.Tensors[d.den]
	// high and low by a look-up, as for rounding but without the half.
	highMax := den.Max >> limb
	high := l.witness("divisor, high", den.Shape, 0, 0, highMax)
	low := l.witness("divisor, low", den.Shape, 0, 0, 1<<limb-1)
	cut := l.tensorExpr(d.den, nil, den.Shape)
	l.g.Steps = append(l.g.Steps, model.Step{
		Kind: model.StepLookup, Name: l.node.Name, Shape: den.Shape, Acc: cut.acc, Shift: limb, Lo: low,
		Table: l.piecewiseOf(keep, 0, highMax, model.Log2Ceil(int(highMax+1))+1), Out: high, Den: model.None,
	})
	l.inRange(l.tensorExpr(low, nil, den.Shape), limb)
	l.inRange(l.tensorExpr(high, nil, den.Shape), model.Log2Ceil(int(highMax)+1))

	num := d.num.times(1 << limb)
	most := num.max + den.Max
	partial := most >> (limb + 1)
	// What the ranges admit, by model.Division: high·q and the two sides.
	if highBits := model.Log2Ceil(int(highMax) + 1); most >= model.Bound || 2*den.Max >= model.Bound || highBits+limb > 30 ||
		pow2(limb+1+highBits)+pow2(1+limb) >= field.P ||
		pow2(limb+1+model.Log2Ceil(int(partial)+1))+pow2(1+2*limb)+pow2(model.Log2Ceil(int(2*den.Max))) >= field.P {
		refuse("a division of up to %d by up to %d does not fit in 30 bits", num.max, den.Max)
	}
	parts := l.virtual("divisor", den.Shape, []model.Linear{{Coef: 2 << limb, Src: high}, {Coef: 2, Src: low}}, den.Frac)
	double := l.virtual("divisor", d.shape, []model.Linear{{Coef: 1, Src: parts, View: d.view}}, den.Frac)
	q := l.witness(d.name, d.shape, 0, 0, 1<<limb-1)
	acc := model.Acc{Linear: append([]model.Linear{{Coef: 1, Src: d.den, View: d.view}}, num.acc.Linear...)}
	l.division(acc, double, q, 2*den.Max-1, partial)
	l.inRange(l.tensorExpr(q, nil, d.shape), limb)
	return q
}
