package quantise

import (
	"math"

	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/model"
)

// expr is a pending accumulator: a value that no tensor holds yet.
type expr struct {
	acc      model.Acc
	shape    []int
	frac     int   // the real value is the accumulator times 2^−frac
	min, max int64 // static bounds
}

// abs is the largest magnitude the accumulator may have.
func (e *expr) abs() int64 { return max(-e.min, e.max, 0) }

// linear reports whether the accumulator has no products.
func (e *expr) linear() bool { return len(e.acc.Products) == 0 }

// times returns c·e; the caller answers for the bound.
func (e *expr) times(c int64) *expr {
	if c == 1 {
		return e
	}
	out := &expr{shape: e.shape, frac: e.frac, min: e.min * c, max: e.max * c}
	if c < 0 {
		out.min, out.max = out.max, out.min
	}
	out.acc.Const = e.acc.Const * c
	for _, t := range e.acc.Linear {
		t.Coef *= c
		out.acc.Linear = append(out.acc.Linear, t)
	}
	for _, t := range e.acc.Products {
		t.Coef *= c
		out.acc.Products = append(out.acc.Products, t)
	}
	return out
}

// plus returns e + o; both have the same shape and frac.
func (e *expr) plus(o *expr) *expr {
	out := &expr{shape: e.shape, frac: e.frac, min: e.min + o.min, max: e.max + o.max}
	out.acc.Const = e.acc.Const + o.acc.Const
	out.acc.Linear = append(append(out.acc.Linear, e.acc.Linear...), o.acc.Linear...)
	out.acc.Products = append(append(out.acc.Products, e.acc.Products...), o.acc.Products...)
	return out
}

// tensorExpr is tensor id as an expression, through a view (nil: as it is) of
// the given shape.
func (l *lowering) tensorExpr(id model.TensorID, v *model.View, shape []int) *expr {
	t := &l.g.Tensors[id]
	e := &expr{shape: shape, frac: t.Frac, min: t.Min, max: t.Max}
	e.acc.Linear = []model.Linear{{Coef: 1, Src: id, View: v}}
	return e
}

// room reports whether an accumulator of magnitude a can be rounded later.
func (l *lowering) room(a float64) bool { return a <= float64(l.plan.limit()) }

// take returns the value as an expression of its shape for an accumulator to
// include: the pending one if nobody else wants it, its tensor otherwise.
func (l *lowering) take(v *value) *expr {
	if v.id == model.None && v.pending != nil && v.uses == 1 && sameShape(v.pending.shape, v.shape) {
		return v.pending
	}
	id := l.tensor(v)
	return l.tensorExpr(id, nil, v.shape)
}

// takeFlat is take for consumers that work entry by entry and do not mind the
// shape.
func (l *lowering) takeFlat(v *value) *expr {
	if v.id == model.None && v.pending != nil && v.uses == 1 {
		return v.pending
	}
	id := l.raw(v)
	return l.tensorExpr(id, nil, l.g.Tensors[id].Shape)
}

// tensor returns a tensor with the value's entries, in its shape.
func (l *lowering) tensor(v *value) model.TensorID {
	if v.shaped != model.None {
		return v.shaped
	}
	id := l.raw(v)
	if have := l.g.Tensors[id].Shape; !sameShape(have, v.shape) {
		id = l.virtual(v.name, v.shape, []model.Linear{{Coef: 1, Src: id, View: reshapeView(have, v.shape)}}, l.g.Tensors[id].Frac)
	}
	v.shaped = id
	return id
}

// raw returns a tensor with the value's entries in row-major order; its shape
// may be another one.
func (l *lowering) raw(v *value) model.TensorID {
	if v.id != model.None {
		return v.id
	}
	if v.node != nil { // steps belong to the node they compute
		defer func(n *onnx.Node) { l.node = n }(l.node)
		l.node = v.node
	}
	switch {
	case v.fn != nil && v.fn.bounds != nil:
		v.id = l.clampFunction(v)
	case v.fn != nil:
		v.id = l.tableFunction(v, l.plan.bits)
	default:
		v.id = l.settle(v)
	}
	return v.id
}

// settle makes a tensor of a pending accumulator: a virtual one if it is a
// narrow sum of views, an exact one for an output of the model, a rounded and
// clamped one otherwise.
func (l *lowering) settle(v *value) model.TensorID {
	e := v.pending
	final := v.output && v.uses == 1
	if t := e.acc.Linear; e.linear() && len(t) == 1 && t[0].Coef == 1 && t[0].View == nil &&
		e.acc.Const == 0 && l.g.Tensors[t[0].Src].Frac == e.frac {
		return t[0].Src
	}
	if e.linear() && e.acc.Const == 0 && len(e.acc.Linear) > 0 {
		// Terms of sums may be wider than operands of products.
		c := l.consumer(v)
		summed := c != nil && (c.Op == "Add" || c.Op == "Sub") && e.abs() < 1<<24
		if final || summed || e.abs() < 1<<min(l.plan.bits+3, 16) {
			return l.virtualOf(v.name, e)
		}
	}
	if final {
		id := l.witness(v.name, e.shape, e.frac, e.min, e.max)
		l.g.Steps = append(l.g.Steps, model.Step{Kind: model.StepExact, Name: l.node.Name, Shape: e.shape, Acc: e.acc, Out: id, Lo: model.None, Table: model.None, Den: model.None})
		return id
	}
	rng, bits, clamps := l.usefulRange(v, e), l.plan.bits, len(l.clamps)
	if l.residual(v) {
		bits = max(bits, min(bits+2, l.opts.ActBits-1, l.plan.tableBits-2))
	}
	id := l.round(v.name, e, rng, bits, wholeLine)
	if v.quiet || rng != v.rng {
		l.clamps = l.clamps[:clamps] // clamping where the function is flat loses nothing
	}
	return id
}

// residual reports whether the value is a sum that only sums read, as the
// residual stream of a transformer is: its rounding errors add up from layer
// to layer, and being no operand of products it may be wide.
func (l *lowering) residual(v *value) bool {
	if v.node == nil || v.node.Op != "Add" || v.uses < 2 || v.output {
		return false
	}
	for _, n := range l.fg.Nodes {
		for _, in := range n.Inputs {
			if in == v.name && n.Op != "Add" && n.Op != "Sub" && n.Op != "ReduceMean" {
				return false
			}
		}
	}
	return true
}

// usefulRange is the value's calibrated range, reduced towards what is useful
// of it as far as the finer keys fit the tables.
func (l *lowering) usefulRange(v *value, e *expr) Range {
	half := int64(1) << (l.plan.tableBits - 1)
	r := v.rng.abs()
	if v.useful <= 0 || r == 0 {
		return v.rng
	}
	fits := func(r float64) bool {
		frac := floorLog2(float64(int64(1)<<l.plan.bits-1) / r)
		lo, hi := keys(e, min(frac, e.frac))
		return lo >= -half && hi < half
	}
	changed := false
	for r/2 >= v.useful && fits(r/2*l.opts.Headroom) {
		r, changed = r/2, true
	}
	if !changed {
		return v.rng
	}
	return Range{Min: -r, Max: r}
}

// narrowed returns the value's tensor in its shape with at most the given
// bits, rounding once more if it has more.
func (l *lowering) narrowed(v *value, bits int) model.TensorID {
	id := l.tensor(v)
	t := &l.g.Tensors[id]
	if max(-t.Min, t.Max) <= 1<<bits {
		return id
	}
	if n, ok := v.narrow[bits]; ok {
		return n
	}
	e := l.tensorExpr(id, nil, v.shape)
	n := l.round(v.name, e, v.rng, bits, wholeLine)
	if v.narrow == nil {
		v.narrow = map[int]model.TensorID{}
	}
	v.narrow[bits] = n
	return n
}

// tightened returns the value's tensor for a product with another computed
// one, clamped to its calibrated range if its static bound is far wider: the
// product's static bound would multiply the two excesses.
func (l *lowering) tightened(v *value) model.TensorID {
	id := l.tensor(v)
	t := l.g.Tensors[id]
	r := v.rng.abs() * l.opts.Headroom * pow2(t.Frac)
	if t.Kind != model.Virtual || float64(l.magnitude(id)) <= 4*math.Max(r, pow2(l.plan.bits)) {
		return id
	}
	return l.narrowed(v, l.plan.bits)
}

// witness adds a committed tensor.
func (l *lowering) witness(name string, shape []int, frac int, lo, hi int64) model.TensorID {
	return l.add(model.Tensor{Name: name, Shape: shape, Kind: model.Witness, Frac: frac, Min: lo, Max: hi})
}

func (l *lowering) add(t model.Tensor) model.TensorID {
	if len(t.Shape) > model.MaxRank {
		refuse("an intermediate tensor of rank %d is over %d", len(t.Shape), model.MaxRank)
	}
	if t.Min <= -model.Bound || t.Max >= model.Bound {
		refuse("values up to %d may not be within ±2^30", max(-t.Min, t.Max))
	}
	l.g.Tensors = append(l.g.Tensors, t)
	return model.TensorID(len(l.g.Tensors) - 1)
}

// virtual adds a sum of views, whose bounds follow from its sources'.
func (l *lowering) virtual(name string, shape []int, def []model.Linear, frac int) model.TensorID {
	var lo, hi int64
	for i := range def {
		a, b := l.linearBounds(&def[i], shape)
		lo, hi = lo+a, hi+b
	}
	return l.add(model.Tensor{Name: name, Shape: shape, Kind: model.Virtual, Frac: frac, Min: lo, Max: hi, Def: def})
}

// virtualOf adds a linear expression as a virtual tensor; it may know tighter
// bounds than its terms do.
func (l *lowering) virtualOf(name string, e *expr) model.TensorID {
	return l.add(model.Tensor{Name: name, Shape: e.shape, Kind: model.Virtual, Frac: e.frac, Min: e.min, Max: e.max, Def: e.acc.Linear})
}

// linearBounds bounds one term: a sum has as many entries as its summed
// indexes, and entries wired to nothing are Fill.
func (l *lowering) linearBounds(t *model.Linear, out []int) (lo, hi int64) {
	src := &l.g.Tensors[t.Src]
	lo, hi = src.Min, src.Max
	if t.View != nil {
		n, partial := int64(1), false
		for i := range t.View.Groups {
			g := &t.View.Groups[i]
			for _, s := range g.Sum {
				n *= int64(s.Dim)
			}
			partial = partial || !covers(g, out, src.Shape)
		}
		lo, hi = lo*n, hi*n
		if partial {
			lo, hi = min(lo, t.View.Fill), max(hi, t.View.Fill)
			if n > 1 {
				lo, hi = min(lo, 0), max(hi, 0)
			}
		}
	}
	if lo, hi = lo*t.Coef, hi*t.Coef; t.Coef < 0 {
		lo, hi = hi, lo
	}
	return lo, hi
}

// covers reports whether every output index of a group is wired, all its
// summed ones included.
func covers(g *model.Group, out, in []int) bool {
	switch g.Map {
	case model.MapIndex:
		for _, i := range g.Index {
			if i < 0 {
				return false
			}
		}
	case model.MapAffine:
		lo, hi := g.Base, g.Base
		reach := func(n, stride int) {
			if d := (n - 1) * stride; d < 0 {
				lo += d
			} else {
				hi += d
			}
		}
		for j, a := range g.Out {
			reach(out[a], g.Strides[j])
		}
		for _, s := range g.Sum {
			reach(s.Dim, s.Stride)
		}
		dim := 1
		if len(g.In) == 1 {
			dim = in[g.In[0]]
		}
		return lo >= 0 && hi < dim
	}
	return true
}

func sameShape(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// term is an operand of a sum: an expression and the value it came from.
type term struct {
	v *value
	e *expr
}

// align brings terms to a common frac and adds them, leaving room for a
// constant of real magnitude extra. rng is the sum's calibrated range. If the
// sum would be too wide, the finest terms are rounded first.
func (l *lowering) align(terms []term, extra float64, rng Range) *expr {
	for {
		frac := math.MinInt32
		for _, t := range terms {
			if t.e.abs() != 0 {
				frac = max(frac, t.e.frac)
			}
		}
		if frac == math.MinInt32 {
			frac = terms[0].e.frac
		}
		total := extra * pow2(frac)
		for _, t := range terms {
			total += float64(t.e.abs()) * pow2(frac-t.e.frac)
		}
		if l.room(total) {
			sum := &expr{shape: terms[0].e.shape, frac: frac}
			for _, t := range terms {
				c := int64(1)
				if t.e.abs() != 0 {
					c = 1 << (frac - t.e.frac)
				}
				sum = sum.plus(t.e.times(c))
			}
			return sum
		}
		// First to a tensor of its own, then to a scale not much finer than
		// the sum's.
		t := &terms[0]
		for i := range terms {
			if e := terms[i].e; e.frac > t.e.frac || e.frac == t.e.frac && e.abs() > t.e.abs() {
				t = &terms[i]
			}
		}
		was := t.e
		if !was.linear() || len(was.acc.Linear) > 1 {
			t.e = l.tensorExpr(l.round(t.v.name, was, t.v.rng, l.plan.bits, wholeLine), nil, was.shape)
		}
		if t.e.frac >= was.frac {
			widest := math.Max(math.Max(rng.abs()*l.opts.Headroom, extra), pow2(-40))
			target := min(floorLog2(float64(l.plan.limit())/widest/16), was.frac-1)
			t.e = l.tensorExpr(l.roundTo(t.v.name, was, target), nil, was.shape)
		}
		if t.e.frac >= was.frac && t.e.abs() >= was.abs() {
			refuse("operands of too different scales: the sum does not fit in 30 bits")
		}
	}
}
