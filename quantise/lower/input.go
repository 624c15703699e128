package lower

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// input adds the public tensor of a graph input. Truth values, indices of rows of a constant, and integers of up to
// 16 bits have the range of their type or of the rows, on scale 0; the scale and range of others follow from their
// calibrated range (roundedInput).
func (l *lowering) input(v *value, numbers graph.Numbers) model.TensorID {
	t := model.Tensor{Name: v.name, Shape: v.shape, Kind: model.Input}
	dt, rows := l.fg.DTypes[v.name], l.fg.Rows(v.name)
	switch {
	case model.Size(v.shape) == 0:
		t.Kind = model.Empty
	case rows > 0:
		t.Max = int64(l.most(rows) - 1)
	case dt == graph.Bool || l.fg.Masks(v.name):
		t.Max = 1
	case l.integers(v.name) && dt.Bits() <= 16:
		t.Min, t.Max = dt.Bounds()
	default:
		return l.roundedInput(v, t, numbers)
	}
	return l.public(t)
}

// roundedInput is input for values whose scale and range follow from their calibrated range. An input of 64 entries or more
// that calibration never met below zero is taken to be non-negative, which tightens every bound after it. An
// input that may have numbers that are not finite has codes for them (codes). An input whose features are scaled first has a
// scale for each feature (scaling).
func (l *lowering) roundedInput(v *value, t model.Tensor, numbers graph.Numbers) model.TensorID {
	bits, finest := l.inputFormat(v)
	r := l.reachOf(v.rng)
	if r == 0 {
		r = 1
	}
	if l.integers(v.name) { // whole numbers are on scale 0: they may be clamped, but are not rounded
		bits, finest = max(bits, min(fixed.FloorLog2(r)+1, max(fixed.FormatBits, bitsOfRange(v.rng)))), 0
		if bits > 30 {
			refuse.With("input %q has integers of up to %.10g: a circuit holds exact ones within ±2^30", v.name, v.rng.Abs())
		}
		r = min(r, fixed.Pow2(bits)-1)
	}
	if reach := l.usefulReach(v.name); reach > 0 { // finer than others: public values cost nothing
		bits, r = max(bits, 26), min(r, reach)
	}
	frac := scaleOf(bits, r)
	if frac > finest {
		bits, frac = max(4, bits-(frac-finest)), finest
	}
	if splits := l.splits(v); splits != nil && !l.integers(v.name) {
		id := l.public(splitInput(t, splits, r))
		l.asked[id] = splits
		return id
	}
	t.Frac, t.Max = frac, int64(1)<<bits-1
	t.Min = max(-t.Max-1, 1-model.Bound)
	switch numbers { // codes lie beyond the finite range
	case graph.AllNumbers:
		t.Min, t.Max, t.Numbers = t.Min-1, t.Max+2, model.AllNumbers
		return l.public(t)
	case graph.MaskingNumbers:
		t.Min, t.Numbers = t.Min-1, model.MaskingNumbers
		return l.public(t)
	}
	if dt := l.fg.DTypes[v.name]; v.rng.Min >= 0 && l.Entries(v.shape) >= 64 || dt == graph.Uint32 || dt == graph.Uint64 {
		t.Min = 0
	}
	if s := l.scaling(v); s != nil {
		l.scaleFeatures(s, &t, r)
	}
	return l.public(t)
}

// public adds the tensor of a graph input.
func (l *lowering) public(t model.Tensor) model.TensorID {
	id := l.place(t)
	l.Circuit.Inputs = append(l.Circuit.Inputs, id)
	return id
}

// coarsestKey is the coarsest scale that an input should have whose entries are the scores of a Softmax: it gets more
// bits, up to FirstBits, until its scale is 2^−coarsestKey or finer.
const coarsestKey = 7

// inputFormat returns how many bits an input has, and the finest scale that is of use. Bits of an input cost nothing, as it is
// public. It has 24 bits if only norms or only logarithms of powers read it, for which small rows count as much as large
// ones, or if an operator reads it whose result jumps. If a Softmax reads it, it has the bits that the keys of its table
// can have.
func (l *lowering) inputFormat(v *value) (bits, finest int) {
	bits, finest = l.Plan.Bits, math.MaxInt
	norms, softmaxes := 0, 0
	for _, r := range l.uses.Readers[v.name] {
		switch t := TraitsOf(r.Op); {
		case r.Inputs[0] != v.name:
		case t.Norm:
			norms++
		case t.Softmax || t.LogSoftmax:
			softmaxes++
		}
	}
	switch {
	case l.opts.Mode != "auto" || v.uses == 0:
	case norms == v.uses || l.discontinuous[v.name] || l.powers[v.name]:
		bits = 24
	case norms+softmaxes == v.uses:
		finest = fixed.FinestKey
		if l.Entries(v.shape) > 64 { // enough look-ups for a larger table
			bits++
			// If scores are far apart, only those near the maximum count: they should be on a fine scale all the same.
			for r := l.reachOf(v.rng); bits < FirstBits && r >= fixed.Pow2(bits-coarsestKey); {
				bits++
			}
		}
	}
	if l.branches(v.name) {
		bits = max(bits, 26)
	}
	return max(bits, l.given[v.name].Bits), finest
}
