package quantise

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/model"
)

// lowerFloorDiv lowers ⌊a/b⌋, b > 0: both on one scale, a division with remainder of
// the integers that they are there. A divisor that is 0 in spite of the calibration
// counts as the least there is.
func lowerFloorDiv(l *lowering, n *graph.Node, v *value) {
	operand := func(i int) *value {
		if x := l.values[n.Inputs[i]]; x != nil {
			return x
		}
		return l.exactConstant(n.Inputs[i])
	}
	a, b := operand(0), operand(1)
	ida, idb := l.tensor(a), l.tensor(b)
	frac := max(l.g.Tensors[ida].Frac, l.g.Tensors[idb].Frac)
	e := l.tensorExpr(ida, broadcastView(a.shape, v.shape), v.shape)
	e = e.times(1 << (frac - e.frac))
	den := l.tensorExpr(idb, nil, b.shape)
	den = den.times(1 << (frac - den.frac))
	if den.max < 1 {
		refuse("its divisor is not positive")
	}
	if den.min < 1 {
		id := l.witness("divisor", b.shape, frac, 1, den.max)
		bits := max(tableBits(den.min, den.max), formatTable)
		if bits > model.MaxTableBits {
			refuse("a divisor of up to %d is too wide", den.max)
		}
		l.direct(den, l.piecewiseOf(keep, 1, den.max, bits), id)
		den = l.tensorExpr(id, nil, b.shape)
	}
	most := den.max
	wid := den.acc.Linear[0].Src
	if den.acc.Linear[0].Coef != 1 {
		wid = l.exact("divisor", den)
	}
	v.id = l.quotientOf(v.name, e, wid, most)
	v.shaped = v.id
}

// exactConstant makes an operand of a constant whose entries are held as they are,
// if they are whole numbers or have few binary digits.
func (l *lowering) exactConstant(name string) *value {
	t := l.fg.Consts[name]
	values := t.Float64s()
	frac := 0
	for _, x := range values {
		for x *= pow2(frac); frac < 12 && x != math.Trunc(x); x *= 2 {
			frac++
		}
	}
	id := l.constant(name, t.Shape, values, frac)
	return &value{name: name, shape: t.Shape, rng: Ranges(map[string][]float64{name: values})[name], id: id, shaped: id}
}
