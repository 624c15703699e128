package quantise

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// A Format says how precise a value of the float graph is to be, where that is
// not what all values of the model have in common. Zero fields leave it at that.
type Format struct {
	// Bits of the value, sign excluded, which its calibrated range fills,
	// head-room included: 4 to formatBits.
	Bits int
	// Weights is the number of bits of the largest of the constant weights that
	// the value is a product with: 2 to formatWeights. Where one accumulator does
	// not hold them, the other factor is cut into limbs; more than partWeights are two
	// tensors, and bits of half the channels' largest weights. For a product of two
	// computed matrices anything but 0 says that they keep the bits that they have,
	// and that the second is cut into limbs for that.
	Weights int
}

// Formats are the formats of values by name: graph inputs and node outputs.
type Formats map[string]Format

const (
	formatBits    = 28
	partWeights   = 16
	formatWeights = partWeights + finestParts - 2
)

// check refuses what is no format.
func (f Format) check() error {
	if f.Bits != 0 && (f.Bits < 4 || f.Bits > formatBits) || f.Weights != 0 && (f.Weights < 2 || f.Weights > formatWeights) {
		return fmt.Errorf("a format of %d bits with weights of %d", f.Bits, f.Weights)
	}
	return nil
}

// Code returns the format as a number below 2^16, 0 for none.
func (f Format) Code() uint32 { return uint32(f.Bits | f.Weights<<8) }

// FormatOf is the inverse of Code. It refuses codes that no format has.
func FormatOf(code uint32) (Format, error) {
	f := Format{int(code & 0xff), int(code >> 8)}
	if code >= 1<<16 {
		return f, fmt.Errorf("no format: %d", code)
	}
	return f, f.check()
}

// Formats above narrowBits are wide: a table of all their values, or their product
// with weights of a useful size in one accumulator, would be too large, so that
// they are held in two limbs.
const narrowBits = 16

// finestOf reports whether a value has a format of more bits than usual limbs: then its
// function has its bends, its factor as many bits as limbs hold, and nothing of a product
// of two is left out.
func (l *lowering) finestOf(v *value) bool { return l.formatted(v) > limbedBits }

// formatted returns the bits that the value's own format gives it; 0 if it has none.
func (l *lowering) formatted(v *value) int { return l.opts.Formats[v.name].Bits }

// bitsOf returns the bits that a value is to have.
func (l *lowering) bitsOf(v *value) int {
	if b := l.formatted(v); b > 0 {
		return b
	}
	return l.plan.bits
}

// narrowBitsOf is bitsOf for values of which a table is made.
func (l *lowering) narrowBitsOf(v *value) int { return min(l.bitsOf(v), narrowBits) }

// limitOf bounds the absolute value of an accumulator that the value is to be
// rounded from.
func (l *lowering) limitOf(v *value) int64 {
	if l.formatted(v) > 0 || l.streamOf(v) {
		return l.formatLimit()
	}
	return l.plan.limit()
}

// formatLimit is that of a value with a format: its table is its own.
func (l *lowering) formatLimit() int64 { return model.Bound/2 - 1<<l.plan.shift() }

// streams finds the sums of wide format that sums of wide format read, as the
// residual stream of a transformer is, and returns for each the scale, which all
// that are connected share: then none of them is rounded, and what is added to
// them is rounded once.
func (l *lowering) streams() map[string]int {
	root := map[string]string{}
	var find func(name string) string
	find = func(name string) string {
		if root[name] != name {
			root[name] = find(root[name])
		}
		return root[name]
	}
	frac := map[string]int{}
	for _, n := range l.fg.Nodes {
		f := l.opts.Formats[n.Output]
		if !traitsOf(n.Op).sums || f.Bits <= narrowBits {
			continue
		}
		root[n.Output] = n.Output
		frac[n.Output] = l.fracFor(f.Bits, l.ranges[n.Output])
		for _, in := range n.Inputs {
			if _, ok := root[in]; !ok {
				continue
			}
			a, b := find(in), find(n.Output)
			root[b] = a
			frac[a] = min(frac[a], frac[b])
		}
	}
	out := map[string]int{}
	for name := range root {
		out[name] = frac[find(name)]
	}
	return out
}

// fracFor is the finest scale on which a calibrated range, head-room included,
// has the given bits; that of whole numbers if nothing is known of it.
func (l *lowering) fracFor(bits int, r Range) int {
	a := r.abs() * l.opts.Headroom
	if a == 0 {
		return 0
	}
	return floorLog2(float64(int64(1)<<bits-1) / a)
}

// sumOnScale lowers v = Σ terms on the scale of its stream: what is finer is
// rounded first.
func (l *lowering) sumOnScale(v *value, terms []term, frac int) *expr {
	for i := range terms {
		t := &terms[i]
		if !t.e.linear() || t.e.frac > frac {
			t.e = l.tensorExpr(l.roundAt(t.v, t.e, frac), nil, t.e.shape)
		}
	}
	return l.align(terms, 0, v)
}
