package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerFloorDiv, always[graph.FloorDiv](Traits{jumps: true}))
	register(lowerFloorMod, always[graph.FloorMod](Traits{jumps: true}))
}

// IntegerDivision prepares the division that a node is. A divisor that is 0 in spite of
// the calibration counts as the least there is, of floats half of the least that was met.
func (l *lowering) integerDivision(n *graph.Node, v *value) fixed.IntegerDivision {
	operand := func(i int) *value {
		if x := l.values[n.Inputs[i]]; x != nil {
			return x
		}
		return l.exactConstant(n.Inputs[i])
	}
	a, b := operand(0), operand(1)
	var e *fixed.Int
	if p := a.acc; p != nil && a.id == model.None && a.uses == 1 && slices.Equal(a.shape, v.shape) && slices.Equal(p.Shape, v.shape) && p.Abs() < model.Bound/4 {
		e = p // as it is, before anything is rounded
	} else {
		e = l.broadcastOf(l.tensor(a), v.shape)
	}
	idb := l.tensor(b)
	if !l.integers(v.name) { // a divisor on a scale that leaves the other no room
		idb = l.coarser(b, idb, l.Circuit.Tensors[idb].Frac-(e.Frac+28-model.Log2Ceil(int(e.Abs())+1)))
	}
	frac := max(e.Frac, l.Circuit.Tensors[idb].Frac)
	e = e.Finer(frac - e.Frac)
	den := l.View(idb, nil, b.shape)
	den = den.Times(1 << (frac - den.Frac))
	if den.Max < 1 {
		refuse.With("its divisor is not positive")
	}
	least := int64(1)
	if !l.integers(v.name) { // what calibration has met says more of floats
		least = min(max(least, int64(b.rng.Least/l.opts.Headroom*fixed.Pow2(frac))), den.Max)
	}
	if den.Min < least {
		if bits := max(fixed.TableBits(den.Min, den.Max), fixed.FormatTable); bits > model.MaxTableBits {
			id := l.Exact("divisor", l.ClampWhole("divisor", den, least, den.Max))
			den = l.View(id, nil, b.shape)
		} else {
			den.Frac = frac
			den = l.Clamp("divisor", den, least, den.Max, bits)
		}
	}
	wid := den.Acc.Linear[0].Src
	if den.Acc.Linear[0].Coef != 1 {
		wid = l.Exact("divisor", den)
	}
	return fixed.IntegerDivision{Num: e, Den: wid, Most: den.Max}
}

// lowerFloorDiv lowers ⌊a/b⌋, b > 0.
func lowerFloorDiv(l *lowering, n *graph.Node, _ graph.FloorDiv, v *value) {
	quotient, _ := l.LongDivision(v.name, l.integerDivision(n, v))
	v.id = l.TensorOf(v.name, quotient)
}

// lowerFloorMod lowers a − b·⌊a/b⌋, b > 0: what the division leaves.
func lowerFloorMod(l *lowering, n *graph.Node, _ graph.FloorMod, v *value) {
	_, v.acc = l.LongDivision(v.name, l.integerDivision(n, v))
}

// exactConstant makes an operand of a constant whose entries are held as they are,
// if they are whole numbers or have few binary digits.
func (l *lowering) exactConstant(name string) *value {
	t := l.fg.Consts[name]
	values := t.Float64s()
	frac := 0
	for _, x := range values {
		for x *= fixed.Pow2(frac); frac < 12 && x != math.Trunc(x); x *= 2 {
			frac++
		}
	}
	id := l.Constant(name, t.Shape, values, frac)
	return &value{name: name, shape: t.Shape, rng: NewRange(values).plusNone(), id: id, shaped: id}
}
