package whir

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/poly"
)

// Term is Coef·eq(Point, ·) on an aligned block of 2^len(Point) values of a tree,
// the one that starts at Offset, and zero elsewhere. Offset counts values from
// the tree's slot 0 on: value c of the row in slot u is u·2^RowVars + c, RowVars the
// tree's own.
type Term struct {
	Coef   field.QM31
	Tree   int
	Offset uint64
	Point  []field.QM31
}

var errTerm = errors.New("whir: a term outside the committed tables")

// checkTerms reports a term that is not an aligned block of its tree.
func (s *statement) checkTerms() error {
	for i, t := range s.terms {
		if t.Tree < 0 || t.Tree >= len(s.layouts) {
			return fmt.Errorf("%w: term %d, of tree %d", errTerm, i, t.Tree)
		}
		// The end of the tree's last table row.
		n, end := len(t.Point), s.tableRows(t.Tree)<<s.params.RowVars()
		if n > s.params.NumVars() || t.Offset >= end || s.index(&t)&(1<<n-1) != 0 || end-t.Offset < 1<<n {
			return fmt.Errorf("%w: term %d, 2^%d values from %d on, of %d of tree %d", errTerm, i, n, t.Offset, end, t.Tree)
		}
	}
	return nil
}

// index returns the index of a term's first value in the table, with the bits of
// the index in the order of the term's tree (treePoint).
func (s *statement) index(t *Term) uint64 { return s.rowOffsets[t.Tree]<<s.params.RowVars() + t.Offset }

// evalTerms returns Q~(point).
func (s *statement) evalTerms(point []field.QM31) field.QM31 {
	own := make([][]field.QM31, len(s.layouts)) // the point as the trees see it
	for i := range own {
		own[i] = s.treePoint(i, point)
	}
	var sum field.QM31
	for _, t := range s.terms {
		point := own[t.Tree]
		head := len(point) - len(t.Point)
		e := poly.EqIndex(point[:head], s.index(&t)>>len(t.Point))
		e = e.Mul(poly.Eq(t.Point, point[head:]))
		sum = sum.Add(t.Coef.Mul(e))
	}
	return sum
}

// treePoint returns the coordinates of a point of the table in a tree's order:
// those of the table row's number, of the part's, of the value's in the part.
func (s *statement) treePoint(tree int, point []field.QM31) []field.QM31 {
	shift := s.shift(tree)
	rows := s.params.Levels[0].FoldVars
	own := slices.Clone(point[:rows])
	for i := range shift {
		own = append(own, point[len(point)-1-i])
	}
	return append(own, point[rows:len(point)-shift]...)
}
