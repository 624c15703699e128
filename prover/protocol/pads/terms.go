package pads

import (
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Terms returns terms with those of the stack's weights behind them. The stack begins at a value of a tree.
func Terms(of whir.Terms, weights []field.QM31, tree int, offset uint64) whir.Terms {
	return &withPads{of, weights, tree, offset}
}

type withPads struct {
	whir.Terms
	weights []field.QM31
	tree    int
	offset  uint64
}

// Len returns the number of terms.
func (t *withPads) Len() int { return t.Terms.Len() + len(t.weights) }

// Range calls f for some terms.
func (t *withPads) Range(lo, hi int, f func(*whir.Term)) {
	n := t.Terms.Len()
	if lo < n {
		t.Terms.Range(lo, min(hi, n), f)
	}
	for i := max(lo, n); i < hi; i++ {
		term := whir.LimbsTerm(t.weights[i-n], t.tree, t.offset+uint64(Limbs*(i-n)))
		f(&term)
	}
}
