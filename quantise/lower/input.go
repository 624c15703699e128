package lower

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// input adds the public tensor of a graph input: of truth values, of rows of a constant, and of small integers
// as they are, and of others with a format.
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

// roundedInput is input for values that are rounded. Those that calibration never
// met below zero are taken to be non-negative if there are enough of them to
// tell, which tightens every bound after. One with numbers that are not finite has codes for
// them. One whose features are scaled first has a scale for each of them.
func (l *lowering) roundedInput(v *value, t model.Tensor, numbers graph.Numbers) model.TensorID {
	bits, finest := l.inputFormat(v)
	r := l.reachOf(v.rng)
	if r == 0 {
		r = 1
	}
	if l.integers(v.name) { // whole numbers stay what they are
		bits, finest = max(bits, min(fixed.FloorLog2(r)+1, max(fixed.FormatBits, bitsOfRange(v.rng)))), 0
		if bits > 30 {
			refuse.With("input %q has integers of up to %.10g: a circuit holds exact ones within ±2^30", v.name, v.rng.Abs())
		}
		r = min(r, fixed.Pow2(bits)-1)
	}
	if reach := l.usefulReach(v.name); reach > 0 { // public values cost nothing
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
	switch numbers { // with codes beyond
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

// public adds a graph input.
func (l *lowering) public(t model.Tensor) model.TensorID {
	id := l.place(t)
	l.Circuit.Inputs = append(l.Circuit.Inputs, id)
	return id
}

// coarsestKey is the scale on which a Softmax's scores are to be at least, as far as
// tables go.
const coarsestKey = 7

// inputFormat returns the width of an input and its finest scale: wide where norms or
// logarithms of powers alone read it, which take small rows beside large ones, or something
// that has jumps does; what its keys take where Softmax does. Public values cost nothing.
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
		if l.Entries(v.shape) > 64 { // worth a larger table
			bits++
			// Of scores far apart those near the maximum are what counts.
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
