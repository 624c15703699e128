package whir

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
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

// Terms are those of a statement: many, which need not be in memory at once.
type Terms interface {
	Len() int
	// Range calls f for terms lo … hi−1, in order. What it gives to f is valid until f returns,
	// but for points.
	Range(lo, hi int, f func(*Term))
}

// List is Terms in memory.
type List []Term

// Len returns the number of terms.
func (l List) Len() int { return len(l) }

// Range calls f for some terms.
func (l List) Range(lo, hi int, f func(*Term)) {
	for i := lo; i < hi; i++ {
		f(&l[i])
	}
}

var errTerm = errors.New("whir: a term outside the committed tables")

// checkTerms reports a term that is not a block of its tree.
func (s *statement) checkTerms() error {
	var first firstError
	parallel.For(s.terms.Len(), termGrain, func(lo, hi int) {
		s.terms.Range(lo, hi, func(t *Term) { first.note(s.checkTerm(t)) })
	})
	return first.err
}

// firstError is one of the errors that goroutines have.
type firstError struct {
	sync.Mutex
	err error
}

func (f *firstError) note(err error) {
	if err == nil {
		return
	}
	f.Lock()
	defer f.Unlock()
	if f.err == nil {
		f.err = err
	}
}

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

// evalTerms returns Q~(point), or what checkTerms does, which it makes unnecessary.
func (s *statement) evalTerms(point []field.QM31) (field.QM31, error) {
	rows, columns := point[:s.params.Levels[0].FoldVars], point[s.params.Levels[0].FoldVars:]
	terms, elements := s.terms, &Elements{}
	if e, ok := terms.(*Elements); ok {
		terms, elements = e.Terms, e
	}
	at := &termPoint{rows: poly.NewPrefixes(rows), trees: make([]treePoint, len(s.layouts)), eqs: newEqMemo(terms.Len())}
	for i := range at.trees {
		at.trees[i].columns = s.treeColumns(i, columns)
		at.trees[i].prefixes = poly.NewPrefixes(at.trees[i].columns)
	}
	var mu sync.Mutex
	var first firstError
	sum, err := s.evalElements(elements, at)
	first.note(err)
	parallel.For(terms.Len(), termGrain, func(lo, hi int) {
		part, err := s.evalSome(terms, lo, hi, at)
		first.note(err)
		mu.Lock()
		sum = sum.Add(part)
		mu.Unlock()
	})
	return sum, first.err
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

// termProducts adds up products: of a coefficient, of eq at the term's rows and of eq at its
// columns, inside of the block and before it.
type termProducts struct {
	coefs, rows, rowRests, inner, heads, headRests [termsAtOnce]field.QM31
	n                                              int // that wait
	sum                                            field.QM31
}

func (p *termProducts) flush() {
	product := p.coefs[:p.n]
	for _, factor := range [][]field.QM31{p.rows[:p.n], p.rowRests[:p.n], p.inner[:p.n], p.heads[:p.n]} {
		field.MulQM31Vec(product, product, factor)
	}
	p.sum = p.sum.Add(field.Dot(product, p.headRests[:p.n]))
	p.n = 0
}

// evalSome is the part of evalTerms that some terms are.
func (s *statement) evalSome(terms Terms, lo, hi int, point *termPoint) (field.QM31, error) {
	var p termProducts
	var err error
	terms.Range(lo, hi, func(t *Term) {
		if err == nil {
			err = s.checkTerm(t)
		}
		if err != nil {
			return
		}
		i := p.n
		row, longs, offset := s.place(t)
		p.coefs[i] = t.Coef
		if longs == 0 {
			p.rows[i], p.rowRests[i] = point.rows.Split(len(point.rows.Point()), row)
		} else {
			p.rows[i], p.rowRests[i] = poly.EqShift(t.Point[:longs], point.rows.Point(), row), field.One
		}
		low, tree := t.Point[longs:], &point.trees[t.Tree]
		head := len(tree.columns) - len(low)
		p.inner[i] = point.eqs.at(t.Tree, low, tree.columns[head:])
		p.heads[i], p.headRests[i] = tree.prefixes.Split(head, offset>>len(low))
		if p.n++; p.n == termsAtOnce {
			p.flush()
		}
	})
	p.flush()
	return p.sum, err
}

// eqMemo remembers values of eq at points that terms share: those of tensors of like shapes
// whose claims are at one point. It is for any number of goroutines, of which two may make the
// same value.
type eqMemo struct {
	buckets []eqBucket // a power of two
}

// eqBucket are values whose points have the same hash. Where there are more, the others are
// made each time.
type eqBucket [4]atomic.Pointer[eqAt]

// eqAt is a value of eq at a point, for a tree.
type eqAt struct {
	tree  int
	point []field.QM31
	eq    field.QM31
}

// maxBuckets bounds the buckets of a memo.
const maxBuckets = 1 << 10

func newEqMemo(terms int) *eqMemo {
	m := &eqMemo{make([]eqBucket, min(maxBuckets, 1<<bits.Len(uint(terms)>>4)))}
	clear(m.buckets) // pages that are read before they are written take two faults
	return m
}

// at returns eq(low, columns), where the columns follow from the tree and the number of
// coordinates.
func (m *eqMemo) at(tree int, low, columns []field.QM31) field.QM31 {
	if len(low) == 0 {
		return field.One
	}
	h := uint32(low[0].C0.A0) ^ uint32(low[len(low)/2].C1.A0) ^ uint32(low[len(low)-1].C0.A1) ^ uint32(len(low))*0x9e3779b1>>8
	bucket := &m.buckets[(h^h>>16)&uint32(len(m.buckets)-1)]
	k := 0
	for ; k < len(bucket); k++ {
		e := bucket[k].Load()
		if e == nil {
			break
		}
		if e.tree == tree && len(e.point) == len(low) && (&e.point[0] == &low[0] || slices.Equal(e.point, low)) {
			return e.eq
		}
	}
	eq := poly.Eq(low, columns)
	if k < len(bucket) {
		bucket[k].Store(&eqAt{tree, low, eq})
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

// treeColumns returns the coordinates of a point of a table row in a tree's order. A table row
// consists of several rows of the tree: the coordinates that number them come first, then those of
// the value within its row.
func (s *statement) treeColumns(tree int, point []field.QM31) []field.QM31 {
	cut := len(point) - s.shift(tree)
	own := slices.Clone(point[cut:])
	slices.Reverse(own)
	return append(own, point[:cut]...)
}
