package quantise

import (
	"math"

	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/model"
)

// lowerSoftmax lowers Softmax over the last axis: the row's maximum by
// look-ups, the exponentials of the differences from a table, their sum, and
// a proved division by it.
func lowerSoftmax(l *lowering, n *onnx.Node, v *value) {
	x := l.values[n.Inputs[0]]
	if n.Int("axis") != len(v.shape)-1 {
		refuse("the axis must be the last")
	}
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

	// Bits of an exponential and of the result. Twice the sum should be in the
	// model's range table; the products of sum and quotient must fit.
	logK := model.Log2Ceil(k)
	expBits := min(max(l.plan.shift()-1-logK, 8), 14)
	outBits := min(12, l.opts.ActBits-1)
	for logK+expBits+1+outBits+1 > 29 {
		if expBits > outBits {
			expBits--
		} else {
			outBits--
		}
		if outBits < 4 {
			refuse("rows of %d entries are too long", k)
		}
	}
	// Differences so large that the exponential rounds to 0 need no rows.
	one := int64(1) << expBits
	first := -spread
	values := make([]int32, spread+1)
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
	// A quotient is at most 1, so one look-up in a range table bounds it.
	num := l.tensorExpr(exp, nil, v.shape)
	bits := outBits + 1
	q := l.divide(quotient{
		name: v.name, shape: v.shape, num: num, shift: outBits, den: sum, labels: labels, view: spreadBack,
		keys: l.rangeTable(l.rangeFor(bits, one*int64(k))), bits: l.rangeFor(bits, one*int64(k)), out: model.None,
	})
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
