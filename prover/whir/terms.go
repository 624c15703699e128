package whir

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

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
	at := &termPoint{rows: poly.NewPrefixes(rows), trees: make([]treePoint, len(s.layouts)), eqs: newEqMemo(len(s.terms))}
	for i := range at.trees {
		at.trees[i].columns = s.treeColumns(i, columns)
		at.trees[i].prefixes = poly.NewPrefixes(at.trees[i].columns)
	}
	var mu sync.Mutex
	var sum field.QM31
	parallel.For(len(s.terms), termGrain, func(lo, hi int) {
		part := s.evalSome(s.terms[lo:hi], at)
		mu.Lock()
		sum = sum.Add(part)
		mu.Unlock()
	})
	return sum
}

// termGrain is the number of terms worth a goroutine.
const termGrain = 1 << 8

// termPoint is a point at which terms are evaluated.
type termPoint struct {
	rows  *poly.Prefixes // of its rows
	trees []treePoint
	eqs   *eqMemo
}

// treePoint are the columns of a point as a tree sees them.
type treePoint struct {
	columns  []field.QM31
	prefixes *poly.Prefixes
}

// termsAtOnce is how many terms are multiplied together.
const termsAtOnce = 1 << 7

// evalSome is the part of evalTerms that some terms are: the sum of products of a
// coefficient, of eq at the term's rows and of eq at its columns, inside of the block and
// before it.
func (s *statement) evalSome(terms []Term, point *termPoint) field.QM31 {
	var sum field.QM31
	var coefs, rows, rowRests, inner, heads, headRests [termsAtOnce]field.QM31
	for len(terms) > 0 {
		n := min(len(terms), termsAtOnce)
		for i := range terms[:n] {
			t := &terms[i]
			row, longs, offset := s.place(t)
			coefs[i] = t.Coef
			if longs == 0 {
				rows[i], rowRests[i] = point.rows.Split(len(point.rows.Point()), row)
			} else {
				rows[i], rowRests[i] = poly.EqShift(t.Point[:longs], point.rows.Point(), row), field.One
			}
			low, tree := t.Point[longs:], &point.trees[t.Tree]
			head := len(tree.columns) - len(low)
			inner[i] = point.eqs.at(t.Tree, low, tree.columns[head:])
			heads[i], headRests[i] = tree.prefixes.Split(head, offset>>len(low))
		}
		product := coefs[:n]
		for _, factor := range [][]field.QM31{rows[:n], rowRests[:n], inner[:n], heads[:n]} {
			field.MulQM31Vec(product, product, factor)
		}
		sum = sum.Add(field.Dot(product, headRests[:n]))
		terms = terms[n:]
	}
	return sum
}

// eqMemo remembers values of eq at points that terms share: those of tensors of one shape
// whose claims are at one point. It is for any number of goroutines, of which two may make the
// same value.
type eqMemo struct {
	buckets []eqBucket // a power of two
}

// eqBucket are values whose points have the same hash. Where there are more, the others are
// made each time.
type eqBucket [4]atomic.Pointer[eqAt]

// eqAt is a value of eq at a point of n coordinates, of which this is the first, for a tree.
type eqAt struct {
	tree  int
	point *field.QM31
	n     int
	eq    field.QM31
}

// maxBuckets bounds the buckets of a memo.
const maxBuckets = 1 << 11

func newEqMemo(terms int) *eqMemo {
	return &eqMemo{make([]eqBucket, min(maxBuckets, 1<<bits.Len(uint(terms)>>2)))}
}

// at returns eq(low, columns), where the columns follow from the tree and the number of
// coordinates.
func (m *eqMemo) at(tree int, low, columns []field.QM31) field.QM31 {
	if len(low) == 0 {
		return field.One
	}
	h := uint32(low[0].C0.A0) ^ uint32(low[len(low)-1].C0.A1) ^ uint32(len(low))*0x9e3779b1>>8
	bucket := &m.buckets[(h^h>>16)&uint32(len(m.buckets)-1)]
	k := 0
	for ; k < len(bucket); k++ {
		e := bucket[k].Load()
		if e == nil {
			break
		}
		if e.point == &low[0] && e.n == len(low) && e.tree == tree {
			return e.eq
		}
	}
	eq := poly.Eq(low, columns)
	if k < len(bucket) {
		bucket[k].Store(&eqAt{tree, &low[0], len(low), eq})
	}
	return eq
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
