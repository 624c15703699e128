package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// operand returns the value as an expression that another accumulator may include, in the value's shape: its
// accumulator, if it has one and nothing else reads the value, and its tensor otherwise.
func (l *lowering) operand(v *value) *fixed.Int {
	if e := l.operandFlat(v); slices.Equal(e.Shape, v.shape) {
		return e
	}
	return l.Of(l.tensor(v))
}

// operandFlat is operand for readers that work entry by entry: the entries are in row-major order, and the
// shape of the expression may differ from the value's.
func (l *lowering) operandFlat(v *value) *fixed.Int {
	if v.id == model.None && v.acc != nil && v.uses == 1 {
		return v.acc
	}
	return l.Of(l.raw(v))
}

// tensor returns a tensor with the value's entries, in the value's shape.
func (l *lowering) tensor(v *value) model.TensorID {
	if v.shaped != model.None {
		return v.shaped
	}
	v.shaped = l.Reshaped(v.name, l.raw(v), v.shape)
	return v.shaped
}

// raw returns a tensor with the value's entries in row-major order; its shape
// may be another one.
func (l *lowering) raw(v *value) model.TensorID {
	if v.id != model.None {
		return v.id
	}
	if v.node != nil { // the steps belong to the value's node, not to the one that reads it
		defer l.at(l.at(v.node))
	}
	switch {
	case v.fn != nil && v.fn.piecewise != nil:
		v.id = l.clampFunction(v)
	case v.fn != nil:
		v.id = l.octaveFunction(v)
		if v.id == model.None {
			v.id = l.fineFunction(v)
		}
		if v.id == model.None {
			v.id = l.tableFunction(v, l.narrowBitsOf(v))
		}
	default:
		v.id = l.commit(v)
	}
	return v.id
}

// commit makes a tensor of the value's accumulator: as it is where nothing has to be rounded,
// and a rounded and clamped one otherwise.
func (l *lowering) commit(v *value) model.TensorID {
	e := v.acc
	if v.node != nil && l.integers(v.name) {
		return l.commitInteger(v, e)
	}
	if id, ok := l.unrounded(v, e); ok {
		return id
	}
	rng, room, clamps := l.usefulRange(v, e), l.roomOf(v.name), len(l.Clamps)
	bits, clipped := min(l.Plan.Bits, room), v.unreported || rng != v.rng
	if r := float64(e.Abs()) * fixed.Pow2(-e.Frac) / l.opts.Headroom; e.Norm > 0 && r < rng.Abs() {
		rng = Range{Min: -r, Max: r} // a norm bounds its entries more tightly than calibration, whatever the input is
	}
	if l.residual(v) {
		bits = max(bits, min(bits+2, l.opts.ActBits-1, l.Plan.TableBits-2))
	}
	var id model.TensorID
	if v.final() {
		id = l.roundFormat(v, e, rng, max(l.formatted(v), OutputBits), fixed.WholeLine)
	} else {
		id = l.roundValue(v, e, rng, min(l.formatted(v), room), bits, fixed.WholeLine)
	}
	l.RowNorm(id, e)
	if clipped {
		v.clipped = true
		l.Clamps = l.Clamps[:clamps] // not counted as saturation: where the function is flat, clamping loses nothing
	}
	return id
}

// final reports whether a value is an output of the model that nothing reads.
func (v *value) final() bool { return v.output && v.uses == 1 }

// unrounded makes a tensor of the value's accumulator without rounding it, and reports whether that may be. It may
//   - for a sum of views that has few bits (widest), is in a stream, or is an output of the model;
//   - for any output of the model, unless it has many entries of many bits (ManyOutputs);
//   - for whole numbers of an integer type, if their static bound is at most eight times their calibrated range.
func (l *lowering) unrounded(v *value, e *fixed.Int) (id model.TensorID, ok bool) {
	if t := e.Acc.Linear; e.Views() && len(t) > 0 {
		if len(t) == 1 && t[0].Coef == 1 && t[0].View == nil && l.Circuit.Tensors[t[0].Src].Frac == e.Frac {
			return t[0].Src, true
		}
		if _, stream := l.stream[v.name]; stream || v.final() || e.Abs() < 1<<l.widest(v) {
			return l.VirtualOf(v.name, e), true
		}
	}
	near := float64(e.Abs()) <= math.Max(8*l.reachOf(v.rng)*fixed.Pow2(e.Frac), 1<<10)
	whole := v.node != nil && l.integers(v.name) && e.Frac <= 0 && near
	many := l.Entries(e.Shape) >= ManyOutputs && e.Abs() >= 1<<(OutputBits+7) && v.rng.Abs() > 0
	if v.final() && !many || whole {
		return l.Exact(v.name, e), true
	}
	return model.None, false
}

// widest is the most bits with which a sum of views is left unrounded that is neither in a stream nor an output.
func (l *lowering) widest(v *value) int {
	bits := min(l.bitsOf(v)+3, fixed.NarrowBits)
	if TraitsOf(l.consumer(v).Op).Sums { // terms of sums may be wider than operands of products
		bits = max(bits, 24)
	}
	if l.discontinuous[v.name] || l.powers[v.name] {
		bits = max(bits, 28)
	}
	return bits
}

// roundValue rounds e, which stands for v, to `own` bits if v has a format, and to `shared` bits
// otherwise. rng is the calibrated range that has these bits.
func (l *lowering) roundValue(v *value, e *fixed.Int, rng Range, own, shared int, f fixed.Piecewise) model.TensorID {
	if l.formatted(v) > 0 {
		return l.roundFormat(v, e, rng, own, f)
	}
	return l.Round(v.name, e, l.reachOf(rng), shared, f)
}

// Outputs of the model of ManyOutputs entries or more are rounded to OutputBits, or to the bits of their
// format. A proof contains the outputs, with a byte for every seven bits, and the two or three look-ups of
// an entry take the prover far less time than a byte is worth (package soundness).
const (
	ManyOutputs = 1 << 16
	OutputBits  = 14
)

// reachOf is the largest magnitude of a calibrated range, head-room included.
func (l *lowering) reachOf(r Range) float64 { return float64(r.Abs() * l.opts.Headroom) }

// residual reports whether the value is a sum that is read twice or more, and only by sums and by operators that
// take any width (Traits.Means), as the residual stream of a transformer is. Its rounding errors add up from layer
// to layer, and since it is no operand of products it may have more bits.
func (l *lowering) residual(v *value) bool {
	if v.node == nil || v.node.Op != graph.Add || v.uses < 2 || v.output {
		return false
	}
	return l.uses.OnlySummed(v.name)
}

// usefulRange is the value's calibrated range, halved as long as it holds all magnitudes up to v.useful and the keys
// on the finer scale still fit the tables.
func (l *lowering) usefulRange(v *value, e *fixed.Int) Range {
	half := int64(1) << (max(l.Plan.TableBits, l.formatted(v)+2) - 1)
	r := v.rng.Abs()
	if v.useful <= 0 || r == 0 {
		return v.rng
	}
	fits := func(r float64) bool {
		frac := scaleOf(l.bitsOf(v), r)
		lo, hi := fixed.Keys(e, min(frac, e.Frac))
		return lo >= -half && hi < half
	}
	for r/2 >= v.useful && fits(r/2*l.opts.Headroom) {
		r /= 2
	}
	if r == v.rng.Abs() {
		return v.rng
	}
	return Range{Min: -r, Max: r}
}

// narrowed returns a tensor of the value, in the value's shape, with at most the given
// bits. It rounds the value's tensor once more if that has more.
func (l *lowering) narrowed(v *value, bits int) model.TensorID {
	id := l.tensor(v)
	t := &l.Circuit.Tensors[id]
	if max(-t.Min, t.Max) <= 1<<bits {
		return id
	}
	return fixed.Remember(&v.narrow, bits, func() model.TensorID {
		return l.roundValue(v, l.Of(id), v.rng, bits, bits, fixed.WholeLine)
	})
}

// coarser rounds x's tensor id to a scale that is so many bits coarser. If bits is not positive it returns id.
func (l *lowering) coarser(x *value, id model.TensorID, bits int) model.TensorID {
	if bits <= 0 {
		return id
	}
	return l.RoundTo(x.name, l.Of(id), l.Circuit.Tensors[id].Frac-bits)
}

// tightened returns the value's tensor as a factor of a product with another computed
// value. If its static bound is more than four times its calibrated range, it is clamped to that range: the
// static bound of the product would multiply the excesses of both factors.
func (l *lowering) tightened(v *value) model.TensorID {
	id := l.tensor(v)
	t := l.Circuit.Tensors[id]
	r := l.reachOf(v.rng) * fixed.Pow2(t.Frac)
	bits := l.narrowBitsOf(v)
	if t.Kind != model.Virtual || float64(l.Magnitude(id)) <= 4*math.Max(r, fixed.Pow2(bits)) {
		return id
	}
	return l.narrowed(v, bits)
}
