package whir

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/poly"
)

// Term is Coef·eq(Point, ·) on a block of 2^len(Point) values of a tree, the one that
// starts at Offset, and zero elsewhere. Offset counts values from the tree's slot 0
// on: value c of the row in slot u is u·2^RowVars + c, RowVars the tree's own. A block
// within a table row is aligned to its size, a larger one to table rows.
type Term struct {
	Coef   field.QM31
	Tree   int
	Offset uint64
	Point  []field.QM31
}

var errTerm = errors.New("whir: a term outside the committed tables")

// checkTerms reports a term that is not a block of its tree.
func (s *statement) checkTerms() error {
	rowVars := s.params.RowVars()
	for i, t := range s.terms {
		if t.Tree < 0 || t.Tree >= len(s.layouts) {
			return fmt.Errorf("%w: term %d, of tree %d", errTerm, i, t.Tree)
		}
		n, end := len(t.Point), s.tableRows(t.Tree)<<rowVars
		if n > s.params.NumVars() || t.Offset >= end || end-t.Offset < 1<<n || t.Offset&(1<<min(n, rowVars)-1) != 0 {
			return fmt.Errorf("%w: term %d, 2^%d values from %d on, of %d of tree %d", errTerm, i, n, t.Offset, end, t.Tree)
		}
	}
	return nil
}

// evalTerms returns Q~(point).
func (s *statement) evalTerms(point []field.QM31) field.QM31 {
	rows, columns := point[:s.params.Levels[0].FoldVars], point[s.params.Levels[0].FoldVars:]
	own := make([]treePoint, len(s.layouts))
	for i := range own {
		own[i].columns = s.treeColumns(i, columns)
		own[i].prefixes = poly.NewPrefixes(own[i].columns)
	}
	first := poly.NewPrefixes(rows)
	var mu sync.Mutex
	var sum field.QM31
	parallel.For(len(s.terms), termGrain, func(lo, hi int) {
		part := s.evalSome(s.terms[lo:hi], first, own)
		mu.Lock()
		sum = sum.Add(part)
		mu.Unlock()
	})
	return sum
}

// termGrain is the number of terms worth a goroutine.
const termGrain = 1 << 8

// treePoint are the columns of a point as a tree sees them.
type treePoint struct {
	columns  []field.QM31
	prefixes *poly.Prefixes
}

// evalSome is the part of evalTerms that some terms are: at a point's rows, and its
// columns as each tree sees them.
func (s *statement) evalSome(terms []Term, rows *poly.Prefixes, own []treePoint) field.QM31 {
	var sum field.QM31
	var memo eqMemo
	for i := range terms {
		t := &terms[i]
		row, longs, offset := s.place(t)
		var e field.QM31
		if longs == 0 {
			e = rows.At(len(rows.Point()), row)
		} else {
			e = poly.EqShift(t.Point[:longs], rows.Point(), row)
		}
		low, at := t.Point[longs:], &own[t.Tree]
		head := len(at.columns) - len(low)
		if len(low) > 0 {
			e = e.Mul(memo.at(t.Tree, low, at.columns[head:]))
		}
		sum = sum.Add(t.Coef.Mul(e.Mul(at.prefixes.At(head, offset>>len(low)))))
	}
	return sum
}

// eqMemo remembers values of eq at points that terms share: those of tensors of one shape
// whose claims are at one point. Where two do not fit, the last one stays.
type eqMemo [1 << 9]struct {
	tree  int
	point *field.QM31 // the first of n coordinates
	n     int
	eq    field.QM31
}

// at returns eq(low, columns), where the columns follow from the tree and len(low) > 0.
func (m *eqMemo) at(tree int, low, columns []field.QM31) field.QM31 {
	last := low[len(low)-1]
	e := &m[(uint32(low[0].C0.A0)^uint32(last.C0.A1)^uint32(len(low)))%uint32(len(m))]
	if e.point != &low[0] || e.n != len(low) || e.tree != tree {
		e.tree, e.point, e.n, e.eq = tree, &low[0], len(low), poly.Eq(low, columns)
	}
	return e.eq
}

// place returns the table row that a term begins in, how many of its coordinates
// number table rows, and where in each of them it begins, in the tree's order of
// values.
func (s *statement) place(t *Term) (row uint64, longs int, offset uint64) {
	rowVars := s.params.RowVars()
	return s.rowOffsets[t.Tree] + t.Offset>>rowVars, max(0, len(t.Point)-rowVars), t.Offset & (1<<rowVars - 1)
}

// treeColumns returns the coordinates of a point of a table row in a tree's order:
// those of the part's number, then those of the value's in the part.
func (s *statement) treeColumns(tree int, point []field.QM31) []field.QM31 {
	cut := len(point) - s.shift(tree)
	own := slices.Clone(point[cut:])
	slices.Reverse(own)
	return append(own, point[:cut]...)
}
