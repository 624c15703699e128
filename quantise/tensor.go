package quantise

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// tensor returns a tensor with the value's entries, in its shape.
func (l *lowering) tensor(v *value) model.TensorID {
	if v.shaped != model.None {
		return v.shaped
	}
	id := l.raw(v)
	if have := l.g.Tensors[id].Shape; !slices.Equal(have, v.shape) {
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
		defer l.at(l.at(v.node))
	}
	switch {
	case v.fn != nil && v.fn.piecewise != nil:
		v.id = l.clampFunction(v)
	case v.fn != nil:
		var fine bool
		if v.id, fine = l.fineFunction(v); !fine {
			v.id = l.tableFunction(v, l.narrowBitsOf(v))
		}
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
		summed := c != nil && traitsOf(c.Op).sums && e.abs() < 1<<24
		_, stream := l.stream[v.name]
		exact := (l.discontinuous[v.name] || l.powers[v.name]) && e.abs() < 1<<28
		if final || summed || stream || exact || e.abs() < 1<<min(l.bitsOf(v)+3, 16) {
			return l.virtualOf(v.name, e)
		}
	}
	if final && !l.rounds(v, e) {
		id := l.witness(v.name, e.shape, e.frac, e.min, e.max)
		l.g.Steps = append(l.g.Steps, model.Step{Kind: model.StepExact, Name: l.name, Shape: e.shape, Acc: e.acc, Out: id, Lo: model.None, Table: model.None, Den: model.None})
		return id
	}
	if v.node != nil && l.integers(v.name) && e.frac <= 0 {
		// Whole numbers stay what they are.
		if most := v.rng.abs() * l.opts.Headroom * pow2(e.frac); float64(e.abs()) <= math.Max(8*most, 1<<10) {
			return l.exact(v.name, e)
		}
		return l.roundAt(v, e, 0)
	}
	rng, room, clamps := l.usefulRange(v, e), l.roomFor(v), len(l.clamps)
	bits, clipped := min(l.plan.bits, room), v.unreported || rng != v.rng
	if r := float64(e.abs()) * pow2(-e.frac) / l.opts.Headroom; e.norm > 0 && r < rng.abs() {
		rng = Range{Min: -r, Max: r} // a norm has no more, whatever is normalised
	}
	var id model.TensorID
	if f := l.formatted(v); final {
		id = l.roundFormat(v, e, rng, max(f, outputBits), wholeLine)
	} else if f > 0 {
		id = l.roundFormat(v, e, rng, min(f, room), wholeLine)
	} else {
		if l.residual(v) {
			bits = max(bits, min(bits+2, l.opts.ActBits-1, l.plan.tableBits-2))
		}
		id = l.round(v.name, e, l.reachOf(rng), bits, wholeLine)
	}
	l.rowNorm(id, e)
	if clipped {
		v.clipped = true
		l.clamps = l.clamps[:clamps] // clamping where the function is flat loses nothing
	}
	return id
}

// Outputs of the model of many entries are rounded to outputBits: a proof has them, a
// byte for every seven bits, and an entry's two or three look-ups take the prover far
// less time than a byte is worth (package soundness).
const (
	manyOutputs = 1 << 16
	outputBits  = 14
)

// rounds reports whether an output is rounded, rather than given as it is.
func (l *lowering) rounds(v *value, e *expr) bool {
	return l.entries(e.shape) >= manyOutputs && e.abs() >= 1<<(outputBits+7) && v.rng.abs() > 0
}

// reachOf is the largest magnitude of a calibrated range, head-room included.
func (l *lowering) reachOf(r Range) float64 { return r.abs() * l.opts.Headroom }

// residual reports whether the value is a sum that only sums read, as the
// residual stream of a transformer is: its rounding errors add up from layer
// to layer, and being no operand of products it may be wide.
func (l *lowering) residual(v *value) bool {
	if v.node == nil || v.node.Op != graph.Add || v.uses < 2 || v.output {
		return false
	}
	for _, n := range l.fg.Nodes {
		for _, in := range n.Inputs {
			if t := traitsOf(n.Op); in == v.name && !t.sums && !t.means {
				return false
			}
		}
	}
	return true
}

// usefulRange is the value's calibrated range, reduced towards what is useful
// of it as far as the finer keys fit the tables.
func (l *lowering) usefulRange(v *value, e *expr) Range {
	half := int64(1) << (max(l.plan.tableBits, l.formatted(v)+2) - 1)
	r := v.rng.abs()
	if v.useful <= 0 || r == 0 {
		return v.rng
	}
	fits := func(r float64) bool {
		frac := floorLog2(float64(int64(1)<<l.bitsOf(v)-1) / r)
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
	var n model.TensorID
	if l.formatted(v) > 0 {
		n = l.roundFormat(v, e, v.rng, bits, wholeLine)
	} else {
		n = l.round(v.name, e, l.reachOf(v.rng), bits, wholeLine)
	}
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
	bits := l.narrowBitsOf(v)
	if t.Kind != model.Virtual || float64(l.magnitude(id)) <= 4*math.Max(r, pow2(bits)) {
		return id
	}
	return l.narrowed(v, bits)
}

// witness adds a committed tensor.
func (l *builder) witness(name string, shape []int, frac int, lo, hi int64) model.TensorID {
	return l.add(model.Tensor{Name: name, Shape: shape, Kind: model.Witness, Frac: frac, Min: lo, Max: hi})
}

func (l *builder) add(t model.Tensor) model.TensorID {
	if len(t.Shape) > model.MaxRank {
		refuse("an intermediate tensor of rank %d is over %d", len(t.Shape), model.MaxRank)
	}
	if t.Min <= -model.Bound || t.Max >= model.Bound {
		refuse("values up to %d may not be within ±2^30", max(-t.Min, t.Max))
	}
	if lo, hi := t.Finite(); lo > hi && !l.draft {
		refuse("a value is at least %d, where its range and its format end at %d: give it a wider range", lo, hi)
	}
	l.g.Tensors = append(l.g.Tensors, t)
	return model.TensorID(len(l.g.Tensors) - 1)
}
