package quantise

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

func init() {
	register(lowerFinite, always[graph.Finite](traits{}))
	register(lowerClass, always[graph.Class](traits{}))
	register(lowerExtend, always[graph.Extend](traits{}))
}

// classes are where an extended input has the codes of NaN, +∞ and −∞: tensors of 0 and 1,
// or None of codes that it has not.
type classes struct{ nan, pos, neg model.TensorID }

// classesOf tests an extended input for its codes, once. The greatest integer is NaN, the
// one before it +∞, the least one −∞.
func (l *lowering) classesOf(v *value) classes {
	if c, ok := l.classes[v.id]; ok {
		return c
	}
	t := l.g.Tensors[v.id]
	x := l.tensorExpr(v.id, nil, t.Shape)
	c := classes{nan: model.None, pos: model.None, neg: l.notNegative(v.name+", -Inf", x.times(-1).plusConst(t.Min))}
	if l.classes[v.id] = c; t.Numbers == model.MaskingNumbers {
		return c
	}
	c.nan = l.notNegative(v.name+", NaN", x.plusConst(-t.Max))
	pos := l.tensorExpr(l.notNegative(v.name+", from +Inf on", x.plusConst(1-t.Max)), nil, t.Shape)
	pos = pos.plus(l.tensorExpr(c.nan, nil, t.Shape).times(-1))
	pos.min, pos.max = 0, 1
	c.pos = l.virtualOf(v.name+", +Inf", pos)
	l.classes[v.id] = c
	return c
}

// lowerFinite takes the codes off an extended input: what is left of each is 0.
func lowerFinite(l *lowering, n *graph.Node, _ graph.Finite, v *value) {
	x := l.values[n.Inputs[0]]
	t, c := l.g.Tensors[x.id], l.classesOf(x)
	e := l.tensorExpr(x.id, nil, t.Shape)
	for _, code := range []struct {
		is model.TensorID
		v  int64
	}{{c.nan, t.Max}, {c.pos, t.Max - 1}, {c.neg, t.Min}} {
		if code.is == model.None {
			continue
		}
		is := l.tensorExpr(code.is, nil, t.Shape).times(-code.v)
		is.frac = e.frac
		e = e.plus(is)
	}
	lo, hi := t.Finite()
	e.min, e.max = min(lo, 0), max(hi, 0)
	v.id = l.virtualOf(v.name, e)
}

func lowerClass(l *lowering, n *graph.Node, op graph.Class, v *value) {
	c := l.classesOf(l.values[n.Inputs[0]])
	v.id = map[graph.Class]model.TensorID{graph.ClassNaN: c.nan, graph.ClassPosInf: c.pos, graph.ClassNegInf: c.neg}[op]
	if v.output { // under its own name
		v.id = l.virtualOf(v.name, l.tensorExpr(v.id, nil, v.shape))
	}
}

// lowerExtend makes an output with codes: they lie beyond all that the finite operand may
// be, which is 0 where they are.
func lowerExtend(l *lowering, n *graph.Node, op graph.Extend, v *value) {
	var e *expr
	if x := l.values[n.Inputs[0]]; x != nil {
		if e = l.take(x); e.abs() >= 1<<formatBits || x.nonlinear() {
			e = l.tensorExpr(l.tensor(x), nil, v.shape)
		}
	} else {
		e = l.tensorExpr(l.constantOutput(n.Inputs[0], n.Inputs[0]), nil, v.shape)
	}
	lo, hi := min(e.min, 0)-1, max(e.max, 0)+2
	for k, class := range op.Classes {
		name := n.Inputs[1+k]
		var is model.TensorID
		if x := l.values[name]; x != nil {
			is = l.tensor(x)
		} else {
			is = l.constant(name, v.shape, l.fg.Consts[name].Float64s(), 0)
		}
		code := l.tensorExpr(is, nil, v.shape).times(map[graph.Class]int64{graph.ClassNaN: hi, graph.ClassPosInf: hi - 1, graph.ClassNegInf: lo}[class])
		code.frac = e.frac
		e = e.plus(code)
	}
	e.min, e.max = lo, hi
	if e.linear() && e.acc.Const == 0 {
		v.id = l.virtualOf(v.name, e)
	} else {
		v.id = l.exact(v.name, e)
	}
	l.g.Tensors[v.id].Numbers = model.AllNumbers
	if len(op.Classes) == 1 && op.Classes[0] == graph.ClassNegInf {
		l.g.Tensors[v.id].Numbers = model.MaskingNumbers
	}
}

// constantOutput is the tensor, of a name, of a constant that is an output.
func (l *lowering) constantOutput(of, name string) model.TensorID {
	t := l.fg.Consts[of]
	values := t.Float64s()
	top := 0.0
	for _, c := range values {
		top = math.Max(top, math.Abs(c))
	}
	frac := 0
	if top > 0 {
		frac = min(floorLog2(pow2(24)/top), 24)
	}
	return l.constant(name, t.Shape, values, frac)
}

// RangeIn is NewRange of a value of g: of an input or output that may not be finite, of what is.
func RangeIn(g *graph.Graph, name string, values []float64) Range {
	if g.Extended(name) {
		values = finiteOnly(values)
	}
	return NewRange(values)
}

// RangesOf is Ranges of runs of g, with RangeIn.
func RangesOf(g *graph.Graph, runs ...map[string][]float64) map[string]Range {
	ranges := map[string]Range{}
	for _, run := range runs {
		for name, values := range run {
			r := RangeIn(g, name, values)
			if old, ok := ranges[name]; ok {
				r = r.Union(old)
			}
			ranges[name] = r
		}
	}
	for name, r := range ranges {
		ranges[name] = r.plusNone()
	}
	return ranges
}

func finiteOnly(values []float64) []float64 {
	var finite []float64
	for _, x := range values {
		if x-x == 0 {
			finite = append(finite, x)
		}
	}
	return finite
}

// numbers are what an input may have.
func (l *lowering) numbers(name string) graph.Numbers {
	for _, in := range l.fg.Inputs {
		if in.Name == name {
			return in.Numbers
		}
	}
	return graph.FiniteNumbers
}

// usefulReach is a magnitude beyond which nothing that reads an extended input tells its
// numbers apart; 0 if there is none.
func (l *lowering) usefulReach(name string) float64 {
	reach := 0.0
	for _, n := range l.fg.Nodes {
		f, ok := n.Op.(graph.Finite)
		if !ok || n.Inputs[0] != name {
			continue
		}
		if f.Reach == 0 {
			return 0
		}
		reach = math.Max(reach, f.Reach)
	}
	return reach
}

// branches says whether thresholds are held against an extended input.
func (l *lowering) branches(name string) bool {
	if l.numbers(name) == graph.FiniteNumbers {
		return false
	}
	finite := map[string]bool{}
	for _, n := range l.fg.Nodes {
		if _, ok := n.Op.(graph.Finite); ok {
			finite[n.Output] = n.Inputs[0] == name
		}
		if _, ok := n.Op.(graph.Exceeds); ok && finite[n.Inputs[0]] {
			return true
		}
	}
	return false
}
