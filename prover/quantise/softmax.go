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
// in two, den = 2^limb·high + low, and so is the equation:
//
//	2^limb·num + den = 2·den·q + r   ⇔   2^limb·c = 2·low·q + r − low
//	                                      with c = num + high − 2·high·q.
//
// c is a sum of products small enough not to wrap; a range look-up bounds it,
// so that 2^limb·c does not either. Then the zero step holds over the integers.
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

	all := make([]int, len(d.shape))
	for i := range all {
		all[i] = i
	}
	of := func(c int64, id model.TensorID) model.Linear { return model.Linear{Coef: c, Src: id, View: d.view} }
	step := func(k model.StepKind, acc model.Acc) model.Step {
		return model.Step{Kind: k, Name: l.node.Name, Shape: d.shape, Acc: acc, Lo: model.None, Table: model.None, Out: model.None, Den: model.None}
	}
	num := d.num.times(1 << limb)
	if num.max+den.Max >= model.Bound || 2*den.Max >= model.Bound {
		refuse("a division of up to %d by up to %d does not fit in 30 bits", num.max, den.Max)
	}
	double := l.virtual("divisor", d.shape, []model.Linear{of(2, d.den)}, den.Frac)
	q := l.witness(d.name, d.shape, 0, 0, 1<<limb-1)
	r := l.witness("remainder", d.shape, 0, 0, 2*den.Max-1)
	div := step(model.StepDivide, model.Acc{Linear: append([]model.Linear{of(1, d.den)}, num.acc.Linear...)})
	div.Den, div.Out, div.Lo = double, q, r
	l.g.Steps = append(l.g.Steps, div)

	bits := model.Log2Ceil(int(2 * den.Max))
	l.inRange(l.tensorExpr(q, nil, d.shape), limb)
	l.inRange(l.tensorExpr(r, nil, d.shape), bits)
	over := &expr{shape: d.shape, max: 2*den.Max - 1}
	over.acc = model.Acc{Const: -1, Linear: []model.Linear{of(2, d.den), {Coef: -1, Src: r}}}
	l.inRange(over, bits)

	// c ≥ −1, since r ≥ 0 and low < 2^limb.
	cMax := (int64(1)<<(2*limb+1) + 2*den.Max) >> limb
	cBits := model.Log2Ceil(int(cMax + 2))
	c := model.Acc{Linear: append([]model.Linear{of(1, high)}, d.num.acc.Linear...)}
	c.Products = []model.Product{{Coef: -2, A: high, B: q, LabelsA: d.labels, LabelsB: all}}
	// Whatever q, r and c their look-ups admit, nothing wraps.
	if float64(d.num.max)+float64(highMax)*pow2(limb+1) >= model.Bound ||
		pow2(cBits+limb)+pow2(2*limb+1)+pow2(bits)+pow2(limb) >= field.P {
		refuse("a division by up to %d does not fit in 30 bits", den.Max)
	}
	shifted := &expr{shape: d.shape, max: cMax + 1, acc: c}
	shifted.acc.Const = 1
	l.inRange(shifted, cBits)

	zero := (&expr{acc: c}).times(1 << limb).acc
	zero.Linear = append(zero.Linear, of(1, low), model.Linear{Coef: -1, Src: r})
	zero.Products = append(zero.Products, model.Product{Coef: -2, A: low, B: q, LabelsA: d.labels, LabelsB: all})
	l.g.Steps = append(l.g.Steps, step(model.StepZero, zero))
	return q
}
