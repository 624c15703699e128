package lower

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// finestOf reports whether a value has a format of more than LimbedBits. Then its function is
// taken for parabolas, a number that multiplies it has as many bits as limbs hold, and a
// product of two limbs counts even if it is small.
func (l *lowering) finestOf(v *value) bool { return l.formatted(v) > LimbedBits }

// formatted returns the bits that the value's own format gives it; 0 if it has none.
func (l *lowering) formatted(v *value) int { return max(v.own, l.opts.Formats[v.name].Bits) }

// bitsOf returns the bits that a value is to have.
func (l *lowering) bitsOf(v *value) int {
	if b := max(v.own, l.given[v.name].Bits); b > 0 {
		return b
	}
	return l.Plan.Bits
}

// narrowBitsOf is bitsOf for values of which a table is made.
func (l *lowering) narrowBitsOf(v *value) int { return min(l.bitsOf(v), fixed.NarrowBits) }

// limitOf bounds the absolute value of an accumulator that the value is to be
// rounded from.
func (l *lowering) limitOf(v *value) int64 {
	if l.formatted(v) > 0 || l.streamOf(v) {
		return l.formatLimit()
	}
	return l.Plan.Limit()
}

// formatLimit is that of a value with a format: its table is its own.
func (l *lowering) formatLimit() int64 { return model.Bound/2 - 1<<l.Plan.Shift() }

// streams finds sums of wide format that feed other such sums, as the residual stream of a
// transformer does. It returns the scale of each. Connected sums share one scale, so that no
// sum is rounded, and each term only once, before it is added.
func (l *lowering) streams() map[string]int {
	of := map[string]*int{} // connected sums have one scale
	for _, n := range l.fg.Nodes {
		f, r := l.opts.Formats[n.Output], l.ranges[n.Output]
		if !TraitsOf(n.Op).Sums || f.Bits <= fixed.NarrowBits {
			continue
		}
		frac := l.fracFor(f.Bits, r)
		if r.Abs() == 0 {
			frac = math.MaxInt // such as what experts add whom no sample has chosen: it is on any scale
		}
		of[n.Output] = &frac
		for _, in := range n.Inputs {
			if its := of[in]; its != nil && its != &frac {
				frac = min(frac, *its)
				for name, s := range of {
					if s == its {
						of[name] = &frac
					}
				}
			}
		}
	}
	out := map[string]int{}
	for name, frac := range of {
		if *frac != math.MaxInt {
			out[name] = *frac
		} else {
			out[name] = 0
		}
	}
	return out
}

// fracFor is the finest scale on which a calibrated range, head-room included,
// has the given bits.
func (l *lowering) fracFor(bits int, r Range) int { return scaleOf(bits, l.reachOf(r)) }

// scaleOf is the finest scale on which numbers up to reach have the given bits; that of
// whole numbers if nothing is known of them.
func scaleOf(bits int, reach float64) int {
	if reach == 0 {
		return 0
	}
	return fixed.FloorLog2(float64(int64(1)<<bits-1) / reach)
}

// roundFormat rounds e, which stands for a value with a format of its own, to the given bits.
// It may take tables of any size that no other value has.
func (l *lowering) roundFormat(v *value, e *fixed.Int, rng Range, bits int, f fixed.Piecewise) model.TensorID {
	frac := e.Frac
	if rng.Abs() > 0 {
		frac = l.fracFor(bits, rng)
	}
	frac = max(min(frac, e.Frac), e.Frac-fixed.MaxRounding)
	keys, line := fixed.TableBits(fixed.Keys(e, frac)), f == fixed.WholeLine
	if line && v.low > 0 && min(bits, keys) > fixed.NarrowBits {
		l.Reported(e, frac, bits)
		return l.RoundSplit(v.name, e, frac, bits, v.low, f)
	}
	if line && bits <= fixed.NarrowBits && l.scored(v) {
		if table := max(keys, fixed.FormatTable); table <= model.MaxTableBits {
			l.Reported(e, frac, bits)
			if frac <= fixed.LeastKey {
				bits = max(bits, frac+sharedScores)
			}
			return l.RoundOnce(v.name, e, frac, bits, table, f)
		}
	}
	return l.RoundOn(v.name, e, frac, bits, f)
}

// roundAt rounds e, which stands for v, to a scale on which it may be wide. It is
// clamped at the next power of two beyond its calibrated range, head-room included,
// if the static bound is wider.
func (l *lowering) roundAt(v *value, e *fixed.Int, frac int) model.TensorID {
	if lo, hi := fixed.Keys(e, frac); e.Frac-frac > fixed.MaxRounding || lo == 0 && hi == 0 { // nothing is left on the scale
		return l.RoundTo(v.name, e, frac)
	}
	frac = min(frac, e.Frac)
	bits := fixed.FormatBits
	if r := l.reachOf(v.rng) * fixed.Pow2(frac); r > 0 {
		bits = min(max(fixed.FloorLog2(r)+1, 4), bits)
	}
	return l.RoundOn(v.name, e, frac, bits, fixed.WholeLine)
}

// roomOf returns the bits that a value has use for, as far as what reads it tells: the
// factors of a product of two computed values share what the accumulator leaves, and
// would be rounded once more if they had more. It is noBound for what is read by
// anything else.
func (l *lowering) roomOf(name string) int {
	if l.uses.outputs[name] > 0 || len(l.uses.Readers[name]) == 0 {
		return noBound
	}
	bits := leastFactor // with which fitProduct finds a way, or none
	for _, r := range l.uses.Readers[name] {
		bits = max(bits, l.roomAt(r))
	}
	return bits
}

const (
	noBound     = math.MaxInt32
	leastFactor = 8
)

// roomAt is roomOf for one reader.
func (l *lowering) roomAt(n *graph.Node) int {
	switch t := TraitsOf(n.Op); {
	case t.moves == rearranges:
		return l.roomOf(n.Output)
	case t.Product == MatMulProduct:
		a, b := n.Inputs[0], n.Inputs[1]
		if l.fg.Consts[a] != nil || l.fg.Consts[b] != nil || l.ofSoftmax(a) || l.ofSoftmax(b) || l.opts.Formats[n.Output].Weights > 0 {
			return noBound // of which the sums of rows are known
		}
		shape := l.fg.Shapes[a]
		v := &value{name: n.Output}
		return fixed.FloorLog2(float64(l.limitOf(v))/float64(shape[len(shape)-1])) / 2
	}
	return noBound
}

// ofSoftmax reports whether a value is the result of a Softmax, maybe with its entries moved.
func (l *lowering) ofSoftmax(name string) bool {
	n := l.uses.By[name]
	for n != nil && TraitsOf(n.Op).moves == rearranges {
		n = l.uses.By[n.Inputs[0]]
	}
	return n != nil && TraitsOf(n.Op).Softmax
}
