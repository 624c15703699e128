package whir

import (
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// limbsVars is log2 of the number of limbs of an element of K.
const limbsVars = 2

// LimbsTerm returns the term that is coef times an element of K, whose four limbs are values of
// a tree from a multiple of four on: its weights are coef·(1, i, u, iu). That is coef·(1+i)(1+u)
// times eq at the point with u/(1+u) and i/(1+i).
func LimbsTerm(coef field.QM31, tree int, offset uint64) Term {
	return Term{coef.Mul(limbsScale), tree, offset, limbsPoint}
}

var limbsScale = padBasis[1].Add(field.One).Mul(padBasis[2].Add(field.One))

var limbsPoint = []field.QM31{
	padBasis[2].Mul(padBasis[2].Add(field.One).Inv()),
	padBasis[1].Mul(padBasis[1].Add(field.One).Inv()),
}

// Elements are terms with one more for each element of a list, behind them (LimbsTerm). The list is side by side in a tree, from
// the beginning of one of its rows on.
type Elements struct {
	Terms
	Weights []field.QM31 // of the elements
	Tree    int
	Offset  uint64
}

// Len returns the number of terms.
func (e *Elements) Len() int { return e.Terms.Len() + len(e.Weights) }

// Range calls f for some terms.
func (e *Elements) Range(lo, hi int, f func(*Term)) {
	n := e.Terms.Len()
	if lo < n {
		e.Terms.Range(lo, min(hi, n), f)
	}
	var t Term
	for i := max(lo, n); i < hi; i++ {
		t = LimbsTerm(e.Weights[i-n], e.Tree, e.Offset+uint64(limbs*(i-n)))
		f(&t)
	}
}

// evalElements returns the part of Q~(point) that the elements are: of each row the list's part as a table, for which no term
// has to be made.
func (s *statement) evalElements(e *Elements, at *termPoint) (sum field.QM31, err error) {
	if len(e.Weights) == 0 {
		return sum, nil
	}
	if e.Tree < 0 || e.Tree >= len(s.layouts) {
		return sum, fmt.Errorf("%w: one of tree %d", errTerm, e.Tree)
	}
	rowVars, tree := s.layouts[e.Tree].RowVars, &at.trees[e.Tree]
	end := s.tableRows(e.Tree) << s.params.RowVars()
	if rowVars < limbsVars || e.Offset&(1<<rowVars-1) != 0 || e.Offset > end || (end-e.Offset)/limbs < uint64(len(e.Weights)) {
		return sum, fmt.Errorf("%w: %d elements from %d on, of tree %d", errTerm, len(e.Weights), e.Offset, e.Tree)
	}
	vars := min(rowVars-limbsVars, bits.Len(uint(len(e.Weights)-1))) // of a part
	head := len(tree.columns) - limbsVars - vars
	eq := poly.EqTable(tree.columns[head : head+vars])
	for from := 0; from < len(e.Weights); from += len(eq) {
		part := e.Weights[from:min(from+len(eq), len(e.Weights))]
		row, _, offset := s.place(&Term{Tree: e.Tree, Offset: e.Offset + uint64(limbs*from)})
		weight := at.rows.At(len(at.rows.Point()), row).Mul(tree.prefixes.At(head, offset>>(vars+limbsVars)))
		sum = sum.Add(weight.Mul(field.Dot(part, eq[:len(part)])))
	}
	return sum.Mul(limbsScale).Mul(poly.Eq(limbsPoint, tree.columns[head+vars:])), nil
}
