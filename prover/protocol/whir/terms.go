package whir

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// Term is a function on the table: Coef·eq(Point, ·) on the 2^len(Point) values of a tree
// from Offset on, and zero elsewhere. Offset counts values from the tree's slot 0 on: value c
// of the row in slot u has number u·2^RowVars + c, where RowVars is that of the tree's Layout.
// A block of values that fits into a table row begins at a multiple of its size, a larger one
// at the beginning of a table row.
type Term struct {
	Coef   field.QM31
	Tree   int
	Offset uint64
	Point  []field.QM31
}

// Terms is the list of a statement's terms. It may be long, so an implementation need not
// have all of them in memory at once. Methods may be called concurrently.
type Terms interface {
	Len() int
	// Range calls f for terms lo … hi−1, in order. f may keep the Point of a term, but nothing
	// else of it after it has returned.
	Range(lo, hi int, f func(*Term))
	// Eval returns the sum of all terms at a point, or an error if one of them is not a block of
	// its tree.
	Eval(at *Point) (field.QM31, error)
}

// List is Terms in memory.
type List []Term

// Len returns the number of terms.
func (l List) Len() int { return len(l) }

// Range calls f for terms lo … hi−1.
func (l List) Range(lo, hi int, f func(*Term)) {
	for i := lo; i < hi; i++ {
		f(&l[i])
	}
}

// Eval adds up the terms at a point.
func (l List) Eval(at *Point) (sum field.QM31, err error) {
	parallel.Collect(len(l), termGrain, func(lo, hi int) func() {
		var part field.QM31
		var wrong error
		for i := lo; i < hi; i++ {
			v, err := at.Term(&l[i])
			part, wrong = part.Add(v), cmp.Or(wrong, err)
		}
		return func() { sum, err = sum.Add(part), cmp.Or(err, wrong) }
	})
	return sum, err
}

var errTerm = errors.New("whir: a term outside the committed tables")

// checkTerms reports a term that is not a block of its tree.
func (s *statement) checkTerms() (err error) {
	parallel.Collect(s.terms.Len(), termGrain, func(lo, hi int) func() {
		var wrong error
		s.terms.Range(lo, hi, func(t *Term) { wrong = cmp.Or(wrong, s.checkTerm(t)) })
		return func() { err = cmp.Or(err, wrong) }
	})
	return err
}

// checkTerm is checkTerms for one term.
func (s *statement) checkTerm(t *Term) error {
	if t.Tree < 0 || t.Tree >= len(s.layouts) {
		return fmt.Errorf("%w: one of tree %d", errTerm, t.Tree)
	}
	rowVars := s.params.RowVars()
	n, end := len(t.Point), s.tableRows(t.Tree)<<rowVars
	if n > s.params.NumVars() || t.Offset >= end || end-t.Offset < 1<<n || t.Offset&(1<<min(n, rowVars)-1) != 0 {
		return fmt.Errorf("%w: 2^%d values from %d on, of %d of tree %d", errTerm, n, t.Offset, end, t.Tree)
	}
	return nil
}

// evalTerms returns Q~(point). It checks every term on the way and returns the error that
// checkTerms would, so the verifier does not call checkTerms.
func (s *statement) evalTerms(point []field.QM31) (field.QM31, error) {
	rows, columns := point[:s.params.Levels[0].FoldVars], point[s.params.Levels[0].FoldVars:]
	at := &Point{s: s, rows: rows, trees: make([]treePoint, len(s.layouts))}
	for i := range at.trees {
		own := s.treeColumns(i, columns)
		at.trees[i] = treePoint{own, poly.NewPrefixes(slices.Concat(rows, own))}
	}
	return s.terms.Eval(at)
}

// termGrain is the least number of terms worth a goroutine.
const termGrain = 1 << 8

// Point is a point of the table at which terms are evaluated.
type Point struct {
	s     *statement
	rows  []field.QM31 // the coordinates that number table rows
	trees []treePoint  // by tree
}

// treePoint has the coordinates of a point in the order of a tree's values: columns are those
// that number the values within a table row (treeColumns).
type treePoint struct {
	columns []field.QM31
	all     *poly.Prefixes // of the rows' coordinates followed by columns
}

// RowVars returns log2 of the length of the table's rows.
func (p *Point) RowVars() int { return p.s.params.RowVars() }

// Term returns the value of a term at the point, or an error if it is not a block of its tree.
func (p *Point) Term(t *Term) (field.QM31, error) {
	if err := p.s.checkTerm(t); err != nil {
		return field.Zero, err
	}
	_, longs, _ := p.s.place(t)
	if longs == 0 {
		var weight [1]field.QM31
		err := p.Blocks(weight[:], t.Tree, t.Offset, len(t.Point))
		return t.Coef.Mul(weight[0]).Mul(p.Inside(t.Tree, t.Point)), err
	}
	row := p.s.rowOffsets[t.Tree] + t.Offset>>p.RowVars()
	return t.Coef.Mul(poly.EqShift(t.Point[:longs], p.rows, row)).Mul(p.Inside(t.Tree, t.Point[longs:])), nil
}

// Inside returns eq(low, c), where c are the last len(low) coordinates of the point, in the
// order of the tree's values.
func (p *Point) Inside(tree int, low []field.QM31) field.QM31 {
	columns := p.trees[tree].columns
	return poly.Eq(low, columns[len(columns)-len(low):])
}

// Blocks sets dst to the weights of len(dst) neighbouring blocks of 2^vars values of a tree, the
// first of which begins at offset. A block is at most a table row. Its weight is the eq of the
// block's number and of all coordinates but the last vars, so that the value of a term is Coef
// times the weight of its block times Inside. An error says that the tree has no such blocks.
func (p *Point) Blocks(dst []field.QM31, tree int, offset uint64, vars int) error {
	if tree < 0 || tree >= len(p.trees) || vars > p.RowVars() {
		return fmt.Errorf("%w: blocks of 2^%d values of tree %d", errTerm, vars, tree)
	}
	all, end := p.trees[tree].all, p.s.tableRows(tree)<<p.RowVars()
	if offset&(1<<vars-1) != 0 || offset > end || (end-offset)>>vars < uint64(len(dst)) {
		return fmt.Errorf("%w: %d blocks of 2^%d values from %d on, of %d of tree %d", errTerm, len(dst), vars, offset, end, tree)
	}
	all.Run(dst, len(all.Point())-vars, (p.s.rowOffsets[tree]<<p.RowVars()+offset)>>vars)
	return nil
}

// place returns the table row that a term begins in, how many of its coordinates number
// table rows, and the offset at which it begins in each of these, in the order of the tree's
// values.
func (s *statement) place(t *Term) (row uint64, longs int, offset uint64) {
	rowVars := s.params.RowVars()
	return s.rowOffsets[t.Tree] + t.Offset>>rowVars, max(0, len(t.Point)-rowVars), t.Offset & (1<<rowVars - 1)
}

// treeColumns returns the coordinates of a point of a table row in a tree's order. A table row
// consists of several rows of the tree: the coordinates that number them come first, then those of
// the value within its row.
func (s *statement) treeColumns(tree int, point []field.QM31) []field.QM31 {
	cut := len(point) - s.shift(tree)
	own := slices.Clone(point[cut:])
	slices.Reverse(own)
	return append(own, point[:cut]...)
}
