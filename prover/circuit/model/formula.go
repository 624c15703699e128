package model

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/math/ints"
)

// FormulaKind says by which formula the entries of a tensor follow from their indexes.
type FormulaKind uint8

const (
	// AtMost is 1 where i ≤ j + Offset and 0 elsewhere, of shape [i, j].
	AtMost FormulaKind = iota
	// AtLeast is 1 where i ≥ j + Offset, of shape [i, j].
	AtLeast
	// Equal is 1 where i = j + Offset, of shape [i, j].
	Equal
	// Progression is Offset + Step·i, of shape [i].
	Progression
)

// Formula gives the entries of a tensor of the kind ByFormula. Nothing is committed: the verifier
// evaluates the tensor's MLE itself, in a few operations for each variable (docs/protocol.md, "Formulas").
type Formula struct {
	Kind   FormulaKind
	Offset int64
	Step   int64 // Progression; otherwise 0
}

// Constant reports whether tensors of the kind have the same values in all runs of an
// instance: it is true for fixed tensors and those by formula.
func (k Kind) Constant() bool { return k == Fixed || k == ByFormula }

// ones returns the interval [lo, hi) of columns in which row i of a matrix with that many columns is 1.
func (f *Formula) ones(i int64, columns int) (lo, hi int) {
	within := func(j int64) int { return int(min(max(j, 0), int64(columns))) }
	switch i -= f.Offset; f.Kind {
	case AtMost:
		return within(i), columns
	case AtLeast:
		return 0, within(i + 1)
	default:
		return within(i), within(i + 1)
	}
}

// Values returns the entries of a tensor of this shape, row-major.
func (f *Formula) Values(shape []int) ints.Ints {
	if f.Kind == Progression {
		v := make(ints.Int32s, shape[0])
		for i := range v {
			v[i] = int32(f.Offset + f.Step*int64(i))
		}
		return v
	}
	v, ones := make(ints.Int8s, shape[0]*shape[1]), make(ints.Int8s, shape[1])
	for j := range ones {
		ones[j] = 1
	}
	for i := range shape[0] {
		lo, hi := f.ones(int64(i), shape[1])
		copy(v[i*shape[1]:][lo:hi], ones)
	}
	return v
}

// WithFormulas returns w with the values of the tensors by formula added, which depend on the sizes of the
// instance. Tensors with the same formula and shape, such as the masks of all layers, share one list.
func (g *Graph) WithFormulas(w Weights) Weights {
	type key struct {
		f     Formula
		shape [2]int
	}
	lists := map[key]ints.Ints{}
	var all Weights
	for i := range g.Tensors {
		t := &g.Tensors[i]
		if t.Kind != ByFormula {
			continue
		}
		if all == nil {
			all = make(Weights, len(g.Tensors))
			copy(all, w)
		}
		k := key{f: *t.Formula}
		copy(k.shape[:], t.Shape)
		if lists[k] == nil {
			lists[k] = t.Formula.Values(t.Shape)
		}
		all[i] = lists[k]
	}
	if all == nil {
		return w
	}
	return all
}

// validateFormula checks that a tensor by formula, and no other, has a formula that goes
// with its shape, and that its entries are in its range. So the range of such a tensor need not be
// taken on the word of the key's issuer.
func (t *Tensor) validateFormula() error {
	if (t.Kind == ByFormula) != (t.Formula != nil) {
		return errors.New("exactly the tensors by formula have one")
	}
	f := t.Formula
	if f == nil {
		return nil
	}
	rank, lo, hi := 2, int64(0), int64(1)
	switch f.Kind {
	case AtMost, AtLeast, Equal:
	case Progression:
		rank = 1
	default:
		return fmt.Errorf("unknown formula %d", f.Kind)
	}
	if len(t.Shape) != rank {
		return fmt.Errorf("a formula of %d indexes for shape %v", rank, t.Shape)
	}
	if f.Offset <= -Bound || f.Offset >= Bound || f.Step <= -Bound || f.Step >= Bound || rank == 2 && f.Step != 0 {
		return fmt.Errorf("a formula with offset %d and step %d", f.Offset, f.Step)
	}
	if rank == 1 {
		last := int64(t.Shape[0] - 1)
		if f.Step != 0 && last > Bound { // otherwise |Step·last| < 2^60, so it does not overflow
			return fmt.Errorf("a progression of %d entries", t.Shape[0])
		}
		end := f.Offset + f.Step*last
		lo, hi = min(f.Offset, end), max(f.Offset, end)
	}
	if lo < t.Min || hi > t.Max {
		return fmt.Errorf("a formula with entries in [%d, %d] and the range [%d, %d]", lo, hi, t.Min, t.Max)
	}
	return nil
}
