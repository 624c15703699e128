package whir

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/poly"
)

// Term is Coef·eq(Point, ·) on the aligned block of 2^len(Point) indexes that
// starts at Offset, and zero elsewhere:
//
//	Q(x) = Coef · eq(Point, last len(Point) bits of x) · [x >> len(Point) = Offset >> len(Point)]
//
// Offset counts in the table of all rows: row i from its tree's row offset o on
// starts at (o+i)·2^RowVars.
type Term struct {
	Coef   field.QM31
	Offset uint64
	Point  []field.QM31
}

var errTerm = errors.New("whir: a term outside the committed table")

// checkTerms reports a term that is not an aligned block of a table over
// numVars variables.
func checkTerms(terms []Term, numVars int) error {
	for i, t := range terms {
		n := len(t.Point)
		if n > numVars || t.Offset>>numVars != 0 || t.Offset&(1<<n-1) != 0 {
			return fmt.Errorf("%w: term %d, 2^%d values from %d on, of 2^%d", errTerm, i, n, t.Offset, numVars)
		}
	}
	return nil
}

// evalTerms returns Q~(point).
func evalTerms(terms []Term, point []field.QM31) field.QM31 {
	var sum field.QM31
	for _, t := range terms {
		head := len(point) - len(t.Point)
		e := poly.EqIndex(point[:head], t.Offset>>len(t.Point))
		e = e.Mul(poly.Eq(t.Point, point[head:]))
		sum = sum.Add(t.Coef.Mul(e))
	}
	return sum
}
