package join

import (
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
)

// Weight returns E~(r) for a step of the given shape: E(x) = eq(z, leaf of x) for
// its entries x, at being z, and 0 in the padding of its axes.
func Weight(s *backend.LeafStep, shape []int, at *poly.Prefixes, r []field.QM31) field.QM31 {
	z := at.Point()
	axes := poly.SplitAxes(shape, r)
	sum := field.Zero
	for i := range s.Blocks {
		b := &s.Blocks[i]
		w := at.At(len(z)-b.Bits, uint64(b.Offset>>b.Bits))
		low := z[len(z)-b.Bits:]
		for a, p := range b.Parts {
			high := len(axes[a]) - p.Bits
			w = w.Mul(poly.EqIndex(axes[a][:high], uint64(p.Start>>p.Bits)))
			w = w.Mul(poly.Eq(axes[a][high:], low[:p.Bits]))
			low = low[p.Bits:]
		}
		sum = sum.Add(w)
	}
	return sum
}

// Late returns the factor of a step of n variables in the value at the end of a sum
// that ends at r.
func Late(r []field.QM31, n int) field.QM31 {
	v := field.One
	for _, c := range r[:len(r)-n] {
		v = v.Mul(field.One.Sub(c))
	}
	return v
}

// Vars returns the number of rounds of the sum over the steps that are cut, 0 if
// none is.
func Vars(g *model.Graph, l *backend.Leaves) int {
	n := 0
	for i := range l.Steps {
		if s := &l.Steps[i]; s.IsCut() {
			n = max(n, model.Vars(g.Steps[s.Step].Shape))
		}
	}
	return n
}

// Elements is the number of elements of K that a sum of so many rounds sends.
func Elements(vars int) int { return 2 * vars }
