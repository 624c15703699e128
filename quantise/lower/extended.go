package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerFinite, always[graph.Finite](Traits{}))
	register(lowerClass, always[graph.Class](Traits{}))
	register(lowerExtend, always[graph.Extend](Traits{}))
}

// classes are where an extended input has the codes of NaN, +∞ and −∞: tensors of 0 and 1,
// for the codes that it has.
type classes map[graph.Class]model.TensorID

// codes are those of numbers that are not finite, of integers from lo to hi: the greatest integer is NaN, the
// one before it +∞, the least one −∞.
func codes(lo, hi int64) map[graph.Class]int64 {
	return map[graph.Class]int64{graph.ClassNaN: hi, graph.ClassPosInf: hi - 1, graph.ClassNegInf: lo}
}

// classesOf tests an extended input for its codes, once.
func (l *lowering) classesOf(v *value) classes {
	return fixed.Remember(&l.classes, v.id, func() classes {
		t, x := l.Circuit.Tensors[v.id], l.Of(v.id)
		c := classes{graph.ClassNegInf: l.NotNegative(v.name+", -Inf", x.Times(-1).PlusConst(t.Min))}
		if t.Numbers == model.AllNumbers {
			nan := l.NotNegative(v.name+", NaN", x.PlusConst(-t.Max))
			pos := l.Of(l.NotNegative(v.name+", from +Inf on", x.PlusConst(1-t.Max)))
			c[graph.ClassNaN], c[graph.ClassPosInf] = nan, l.VirtualOf(v.name+", +Inf", pos.Minus(l.Of(nan)).Within(0, 1))
		}
		return c
	})
}

// lowerFinite takes the codes off an extended input: what is left of each is 0.
func lowerFinite(l *lowering, _ graph.Finite, v *value, in []*value) {
	x := in[0]
	t, c := l.Circuit.Tensors[x.id], l.classesOf(x)
	e := l.Of(x.id)
	for _, class := range []graph.Class{graph.ClassNaN, graph.ClassPosInf, graph.ClassNegInf} {
		if is, ok := c[class]; ok {
			e = e.Minus(l.Of(is).Times(codes(t.Min, t.Max)[class]))
		}
	}
	lo, hi := t.Finite()
	v.id = l.VirtualOf(v.name, e.Within(min(lo, 0), max(hi, 0)))
}

func lowerClass(l *lowering, op graph.Class, v *value, in []*value) {
	v.id = l.classesOf(in[0])[op]
	if v.output { // under its own name
		v.id = l.VirtualOf(v.name, l.Of(v.id))
	}
}

// lowerExtend makes an output with codes: they lie beyond all that the finite operand may
// be, which is 0 where they are.
func lowerExtend(l *lowering, op graph.Extend, v *value, in []*value) {
	var e *fixed.Int
	if x := in[0]; x != nil {
		if e = l.operand(x); e.Abs() >= 1<<fixed.FormatBits || x.nonlinear() {
			e = l.Of(l.tensor(x))
		}
	} else {
		e = l.Of(l.constantOutput(v.node.Inputs[0], v.node.Inputs[0]))
	}
	lo, hi := min(e.Min, 0)-1, max(e.Max, 0)+2
	for k, class := range op.Classes {
		var is model.TensorID
		if x := in[1+k]; x != nil {
			is = l.tensor(x)
		} else {
			name := v.node.Inputs[1+k]
			is = l.constantOf(name, v.shape, l.numbersOf(l.fg.Consts[name]), 0)
		}
		e = e.Plus(l.Of(is).Times(codes(lo, hi)[class]))
	}
	v.id = l.TensorOf(v.name, e.Within(lo, hi))
	l.Circuit.Tensors[v.id].Numbers = model.AllNumbers
	if len(op.Classes) == 1 && op.Classes[0] == graph.ClassNegInf {
		l.Circuit.Tensors[v.id].Numbers = model.MaskingNumbers
	}
}

// constantOutput is the tensor, of a name, of a constant that is an output.
func (l *lowering) constantOutput(of, name string) model.TensorID {
	t := l.fg.Consts[of]
	values := l.numbersOf(t)
	frac := 0
	if top := values.most(); top > 0 {
		frac = min(fixed.FloorLog2(fixed.Pow2(24)/top), 24)
	}
	return l.constantOf(name, t.Shape, values, frac)
}

// usefulReach is a magnitude beyond which nothing that reads an extended input tells its
// numbers apart; 0 if there is none.
func (l *lowering) usefulReach(name string) float64 {
	reach := 0.0
	for _, r := range l.uses.Readers[name] {
		if f, ok := r.Op.(graph.Finite); ok && f.Reach == 0 {
			return 0
		} else if ok {
			reach = math.Max(reach, f.Reach)
		}
	}
	return reach
}

// branches says whether thresholds are held against an extended input.
func (l *lowering) branches(name string) bool {
	return slices.ContainsFunc(l.uses.Readers[name], func(r *graph.Node) bool {
		_, finite := r.Op.(graph.Finite)
		return finite && slices.ContainsFunc(l.uses.Readers[r.Output], func(r *graph.Node) bool {
			_, exceeds := r.Op.(graph.Exceeds)
			return exceeds
		})
	})
}
