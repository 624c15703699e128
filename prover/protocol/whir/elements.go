package whir

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/math/field"
)

// limbsVars is log2 of the number of limbs of an element of K.
const limbsVars = 2

// LimbsTerm returns the term that is coef times an element of K. The four limbs of the element are
// values of a tree, from offset on, a multiple of four. So the term has the weights
// coef·(1, i, u, iu), which are coef·(1+i)(1+u) times eq at the point (u/(1+u), i/(1+i)).
func LimbsTerm(coef field.QM31, tree int, offset uint64) Term {
	return Term{coef.Mul(limbsScale), tree, offset, limbsPoint}
}

// limbsScale is (1+i)(1+u).
var limbsScale = padBasis[1].Add(field.One).Mul(padBasis[2].Add(field.One))

// limbsPoint is (u/(1+u), i/(1+i)): limbsScale times eq at this point is 1, i, u, iu.
var limbsPoint = []field.QM31{
	padBasis[2].Mul(padBasis[2].Add(field.One).Inv()),
	padBasis[1].Mul(padBasis[1].Add(field.One).Inv()),
}

// Elements is a list of Terms followed by one [LimbsTerm] for each of a list of elements of K
// (the pads of a masked proof, docs/protocol.md, "Masked sub-transcripts"). The elements lie
// side by side in a tree, four values each, and the first begins a row of the tree.
type Elements struct {
	Terms
	Weights []field.QM31 // by element: the coefficient of its LimbsTerm
	Tree    int
	Offset  uint64 // of the first element in the tree, as in Term
}

// Len returns the number of terms.
func (e *Elements) Len() int { return e.Terms.Len() + len(e.Weights) }

// Range calls f for terms lo … hi−1 (Terms.Range).
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

// elementsAtOnce is the number of elements whose block weights Eval holds at a time.
const elementsAtOnce = 1 << 12

// Eval returns the sum of all terms at a point. It makes no Term of each element: their terms
// differ in coefficient and block alone, so the factors of the limbs, limbsScale and the eq at
// limbsPoint, are taken out of the sum.
func (e *Elements) Eval(at *Point) (field.QM31, error) {
	sum, err := e.Terms.Eval(at)
	if err != nil || len(e.Weights) == 0 {
		return sum, err
	}
	if e.Tree >= 0 && e.Tree < len(at.trees) {
		if rowVars := at.s.layouts[e.Tree].RowVars; rowVars < limbsVars || e.Offset&(1<<rowVars-1) != 0 {
			return sum, fmt.Errorf("%w: elements from %d on, of tree %d, whose rows have 2^%d values", errTerm, e.Offset, e.Tree, rowVars)
		}
	}
	var elements field.QM31
	places := make([]field.QM31, min(len(e.Weights), elementsAtOnce))
	for from := 0; from < len(e.Weights); from += len(places) {
		part := e.Weights[from:min(from+len(places), len(e.Weights))]
		if err := at.Blocks(places[:len(part)], e.Tree, e.Offset+uint64(limbs*from), limbsVars); err != nil {
			return sum, err
		}
		elements = elements.Add(field.Dot(part, places[:len(part)]))
	}
	return sum.Add(elements.Mul(limbsScale).Mul(at.Inside(e.Tree, limbsPoint))), nil
}
