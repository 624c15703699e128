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

// classes has, for each code that an extended input may have (NaN, +∞, −∞), a tensor of the input's shape: 1 where
// the entry is that code, and 0 elsewhere.
type classes map[graph.Class]model.TensorID

// codes returns the integers that stand for numbers that are not finite, in a tensor with entries from lo to hi: hi
// stands for NaN, hi − 1 for +∞, and lo for −∞.
func codes(lo, hi int64) map[graph.Class]int64 {
	return map[graph.Class]int64{graph.ClassNaN: hi, graph.ClassPosInf: hi - 1, graph.ClassNegInf: lo}
}

// classesOf returns the classes of an extended input. It makes them once.
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

// lowerFinite replaces the codes of an extended input by 0: it subtracts each code times its class.
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

// lowerClass lowers the test which entries of an extended input are of a class.
func lowerClass(l *lowering, op graph.Class, v *value, in []*value) {
	v.id = l.classesOf(in[0])[op]
	if v.output { // an output needs a tensor with its own name
		v.id = l.VirtualOf(v.name, l.Of(v.id))
	}
}

// lowerExtend makes an output with codes for numbers that are not finite: the sum of the finite operand, which is 0 where a
// class is 1, and of each code times its class. The codes lie beyond the finite operand's static bounds.
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

// constantOutput returns a tensor, with the given name, of the constant `of`, which is an output of the model. It has
// 24 bits, and at most 24 of them after the point.
func (l *lowering) constantOutput(of, name string) model.TensorID {
	t := l.fg.Consts[of]
	values := l.numbersOf(t)
	frac := 0
	if top := values.most(); top > 0 {
		frac = min(fixed.FloorLog2(fixed.Pow2(24)/top), 24)
	}
	return l.constantOf(name, t.Shape, values, frac)
}

// usefulReach is the magnitude beyond which no node that reads an extended input tells its
// numbers apart (graph.Finite.Reach); 0 if there is none.
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

// branches reports whether the finite part of an extended input is compared with thresholds.
func (l *lowering) branches(name string) bool {
	return slices.ContainsFunc(l.uses.Readers[name], func(r *graph.Node) bool {
		_, finite := r.Op.(graph.Finite)
		return finite && slices.ContainsFunc(l.uses.Readers[r.Output], func(r *graph.Node) bool {
			_, exceeds := r.Op.(graph.Exceeds)
			return exceeds
		})
	})
}
