package lower

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// finestOf reports whether a value has a format of more than LimbedBits. Then functions of it are
// approximated by parabolas (fineFunction), it is multiplied by a number in limbs, so that the number has more
// bits (scaleTo), and products of low limbs are not left out (entryLimbs).
func (l *lowering) finestOf(v *value) bool { return l.formatted(v) > LimbedBits }

// formatted returns the bits that the value's own format gives it; 0 if it has none.
func (l *lowering) formatted(v *value) int { return max(v.own, l.opts.Formats[v.name].Bits) }

// bitsOf returns the bits that a value is to have: those of its format, or else those that all values share.
func (l *lowering) bitsOf(v *value) int {
	if b := max(v.own, l.given[v.name].Bits); b > 0 {
		return b
	}
	return l.Plan.Bits
}

// narrowBitsOf is bitsOf for a value that one table is to hold: at most NarrowBits.
func (l *lowering) narrowBitsOf(v *value) int { return min(l.bitsOf(v), fixed.NarrowBits) }

// limitOf is the largest magnitude that an accumulator may have for the value to be rounded from it.
func (l *lowering) limitOf(v *value) int64 {
	if l.formatted(v) > 0 || l.streamOf(v) {
		return l.formatLimit()
	}
	return l.Plan.Limit()
}

// formatLimit is limitOf for a value with a format: it has tables of its own, so that the size of the shared ones
// does not count.
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
			frac = math.MaxInt // 0 in all samples, as for experts that no sample chose: it takes the scale of other sums
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
// fits into the given bits.
func (l *lowering) fracFor(bits int, r Range) int { return scaleOf(bits, l.reachOf(r)) }

// scaleOf is the finest scale on which numbers up to reach fit into the given bits. It is 0, the scale of
// whole numbers, if reach is 0, which says that nothing is known of them.
func scaleOf(bits int, reach float64) int {
	if reach == 0 {
		return 0
	}
	return fixed.FloorLog2(float64(int64(1)<<bits-1) / reach)
}

// roundFormat rounds e, which stands for v, a value with a format of its own, and applies f: to the finest scale
// on which rng, head-room included, fits into the given bits, or e's own if that is coarser. It may use
// tables that no other value has, of any size.
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
			if frac <= fixed.LeastKey { // not clamped within ±2^sharedScores, so that layers share a table
				bits = max(bits, frac+sharedScores)
			}
			return l.RoundOnce(v.name, e, frac, bits, table, f)
		}
	}
	return l.RoundOn(v.name, e, frac, bits, f)
}

// roundAt rounds e, which stands for v, to the given scale, with as many bits as that takes. If the static
// bound is wider, it clamps e at the next power of two beyond v's calibrated range, head-room included.
func (l *lowering) roundAt(v *value, e *fixed.Int, frac int) model.TensorID {
	if lo, hi := fixed.Keys(e, frac); e.Frac-frac > fixed.MaxRounding || lo == 0 && hi == 0 { // all is rounded to 0
		return l.RoundTo(v.name, e, frac)
	}
	frac = min(frac, e.Frac)
	bits := fixed.FormatBits
	if r := l.reachOf(v.rng) * fixed.Pow2(frac); r > 0 {
		bits = min(max(fixed.FloorLog2(r)+1, 4), bits)
	}
	return l.RoundOn(v.name, e, frac, bits, fixed.WholeLine)
}

// roomOf returns the most bits that are of use to the readers of a value. The two factors of a product
// of computed matrices share the bits of the accumulator, and would be rounded once more if they
// had more. For a value that anything else reads it is noBound.
func (l *lowering) roomOf(name string) int {
	if l.uses.outputs[name] > 0 || len(l.uses.Readers[name]) == 0 {
		return noBound
	}
	bits := leastFactor // if that is too many, fitProduct rounds the factor once more, or refuses
	for _, r := range l.uses.Readers[name] {
		bits = max(bits, l.roomAt(r))
	}
	return bits
}

const (
	noBound     = math.MaxInt32 // bits that nothing bounds
	leastFactor = 8             // the least that roomOf returns
)

// roomAt is roomOf for one reader.
func (l *lowering) roomAt(n *graph.Node) int {
	switch t := TraitsOf(n.Op); {
	case t.moves == rearranges:
		return l.roomOf(n.Output)
	case t.Product == MatMulProduct:
		a, b := n.Inputs[0], n.Inputs[1]
		if l.fg.Consts[a] != nil || l.fg.Consts[b] != nil || l.ofSoftmax(a) || l.ofSoftmax(b) || l.opts.Formats[n.Output].Weights > 0 {
			return noBound // weights take the bits that are left; a Softmax's rows have known sums; a format may ask for limbs
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
