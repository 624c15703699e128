package cuda

import (
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// tables are the tables f and q of whir.Passes.
type tables struct {
	b    *Stream
	a    *scope
	code *encoder
	f, q kernels.Ptr
	n    int          // entries of each
	r    []field.QM31 // the challenge that they still have to be bound to, if there is one
}

// round returns the sums of the next round.
func (t *tables) round() whir.Sums {
	words := results{t.a, t.b.mailbox()}.read(2*kernels.SumWords, func(p kernels.Post) error {
		if len(t.r) == 0 {
			return kernels.PairRound(t.a, t.f, t.q, t.n, p)
		}
		return kernels.PairBind(t.a, t.f, t.q, t.n, t.r[0], p)
	})
	if len(t.r) > 0 {
		t.n, t.r = t.n/2, nil
	}
	return whir.Sums{Zero: kernels.FromSum(words), Top: kernels.FromSum(words[kernels.SumWords:])}
}

// bind binds the first variable, when the tables are wanted next.
func (t *tables) bind(r field.QM31) {
	t.bound()
	t.r = []field.QM31{r}
}

// bound binds what is to be bound.
func (t *tables) bound() {
	if len(t.r) > 0 {
		check(kernels.PairEnd(t.a, t.f, t.q, t.n, t.r[0]))
		t.n, t.r = t.n/2, nil
	}
}

// vars returns the number of variables left.
func (t *tables) vars() int { return bits.TrailingZeros(uint(t.n)) }

func (t *tables) values() []field.QM31 {
	t.bound()
	return fetch[field.QM31](t.a, t.f, t.n)
}

func (t *tables) at(z field.QM31) field.QM31 {
	t.bound()
	a := newScope(t.a)
	defer a.close()
	w := newWeights(a, [][]field.QM31{evaluation(z, t.vars())}, false)
	sum := newWords(a, kernels.SumWords)
	check(kernels.DotWeight(a, sum, t.f, t.vars(), w.parts, w.tables))
	return kernels.FromSum(fetch[uint64](a, sum, kernels.SumWords))
}

// evaluation returns the factors of the functional of evaluation at z, that of
// the lowest index bit first.
func evaluation(z field.QM31, vars int) []field.QM31 {
	w := code.PointWeights(z, vars)
	slices.Reverse(w)
	return w
}

func (t *tables) add(c *whir.Constraints) {
	t.bound()
	a := newScope(t.a)
	defer a.close()
	if n := len(c.Base); n > 0 {
		points := make([]kernels.PointWeight, n)
		for i, b := range c.Base {
			points[i] = kernels.PointWeight{Coef: b.Coef, Z: b.Z}
		}
		scratch := newArray[uint8](a, kernels.PointScratch(t.vars(), n))
		check(kernels.AddPoints(a, t.q, t.vars(), newCopy(a, points), n, scratch))
	}
	if n := len(c.Large); n > 0 {
		factors := make([][]field.QM31, n)
		for i, l := range c.Large {
			factors[i] = evaluation(l.Z, t.vars())
		}
		w := newWeights(a, factors, false)
		for i, l := range c.Large {
			addWeight(a, t.q, w, i, l.Coef)
		}
	}
}

// commit commits to f as the rows of a level.
func (t *tables) commit(suite hash.Suite, l soundness.Level) *foldedRow {
	t.bound()
	a := newScope(t.a)
	defer a.close()
	n := 4 << l.FoldVars
	values := newArray[uint32](a, n<<l.RowVars)
	check(kernels.SplitLimbs(a, values, t.f, l.RowVars, 1<<l.FoldVars))
	r := &foldedRow{a: t.a, rows: n, domain: l.LogDomain(), words: t.code.words(n, l.LogDomain())}
	t.code.encode(r.words, values, n, l.RowVars, r.domain)
	groups := suite.Groups(n)
	r.nodes = newNodes(t.b, suite, r.domain, func(leaves kernels.Ptr) {
		h, words := &leafHasher{a: a, suite: suite, columns: 1 << r.domain, leaves: leaves, groups: len(groups)}, r.words
		for _, n := range groups {
			check(kernels.HashColumns(a, suite, leaves, 0, words, 1<<r.domain, 1<<r.domain, n, 0, n))
			h.absorb(leaves)
			words = words.Offset(n<<r.domain, kernels.SizeM31)
		}
	})
	return r
}

// foldedRow is a committed folded row.
type foldedRow struct {
	a            *scope
	rows, domain int
	words        kernels.Ptr
	nodes        *nodes
}

// free gives the row's memory back.
func (r *foldedRow) free() {
	r.a.Free(r.words)
	r.nodes.free()
}

// columns returns the leaves at the positions.
func (r *foldedRow) columns(positions []uint64) [][]field.M31 {
	a := newScope(r.a)
	defer a.close()
	leaves := newArray[field.M31](a, r.rows*len(positions))
	check(kernels.GatherColumns(a, leaves, r.rows, r.words, 1<<r.domain, r.rows, newCopy(a, positions), len(positions)))
	return slices.Collect(slices.Chunk(fetch[field.M31](a, leaves, r.rows*len(positions)), r.rows))
}
