package cuda

import (
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/code"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/whir"
)

// tables implements whir.Tables.
type tables struct {
	b    *Backend
	a    *scope
	code *encoder
	f, q kernels.Ptr
	n    int         // entries of each
	sums kernels.Ptr // of the rounds, zero where not used yet
	used int         // how many
	done bool        // the last sums used are those of the next round
}

// maxSums is how many round sums an opening may take: one for each variable, and
// one more after constraints have been added.
const maxSums = 128

// nextSums returns room for the sums of a round.
func (t *tables) nextSums() kernels.Ptr {
	t.used++
	return t.sumsAt(t.used - 1)
}

func (t *tables) sumsAt(i int) kernels.Ptr { return t.sums.Offset(i, 2*kernels.SizeSum) }

// Round implements whir.Tables.
func (t *tables) Round() (zero, top field.QM31) {
	if !t.done {
		backend.Check(kernels.PairRound(t.a, t.nextSums(), t.f, t.q, t.n))
		t.done = true
	}
	words := fetch[uint64](t.a, t.sumsAt(t.used-1), 2*kernels.SumWords)
	return kernels.FromSum(words), kernels.FromSum(words[kernels.SumWords:])
}

// Bind implements whir.Tables. The sums of the next round come with it.
func (t *tables) Bind(r field.QM31) {
	backend.Check(kernels.PairBind(t.a, t.nextSums(), t.f, t.q, t.n, r))
	t.n /= 2
	t.done = t.n > 1
}

// vars returns the number of variables left.
func (t *tables) vars() int { return bits.TrailingZeros(uint(t.n)) }

// F implements whir.Tables.
func (t *tables) F() []field.QM31 { return fetch[field.QM31](t.a, t.f, t.n) }

// At implements whir.Tables.
func (t *tables) At(z field.QM31) field.QM31 {
	a := newScope(t.a)
	defer a.close()
	w := newWeights(a, [][]field.QM31{evaluation(z, t.vars())}, false)
	sum := newWords(a, kernels.SumWords)
	backend.Check(kernels.DotWeight(a, sum, t.f, t.vars(), w.parts, w.tables))
	return kernels.FromSum(fetch[uint64](a, sum, kernels.SumWords))
}

// evaluation returns the factors of the functional of evaluation at z, that of
// the lowest index bit first.
func evaluation(z field.QM31, vars int) []field.QM31 {
	w := code.PointWeights(z, vars)
	slices.Reverse(w)
	return w
}

// Add implements whir.Tables.
func (t *tables) Add(c *whir.Constraints) {
	a := newScope(t.a)
	defer a.close()
	if n := len(c.Base); n > 0 {
		points := make([]kernels.PointWeight, n)
		for i, b := range c.Base {
			points[i] = kernels.PointWeight{Coef: b.Coef, Z: b.Z}
		}
		scratch := newArray[uint8](a, kernels.PointScratch(t.vars(), n))
		backend.Check(kernels.AddPoints(a, t.q, t.vars(), newCopy(a, points), n, scratch))
	}
	if n := len(c.Large); n > 0 {
		factors := make([][]field.QM31, n)
		for i, l := range c.Large {
			factors[i] = evaluation(l.Z, t.vars())
		}
		w := newWeights(a, factors, false)
		for i, l := range c.Large {
			addWeights(a, t.q, w, []kernels.AddJob{{Part: uint64(i), Coef: l.Coef}})
		}
	}
	t.done = false
}

// Commit implements whir.Tables.
func (t *tables) Commit(l soundness.Level) whir.FoldedRow {
	a := newScope(t.a)
	defer a.close()
	n := 4 << l.FoldVars
	values := newArray[uint32](a, n<<l.RowVars)
	backend.Check(kernels.SplitLimbs(a, values, t.f, l.RowVars, 1<<l.FoldVars))
	r := &foldedRow{a: t.a, rows: n, domain: l.LogDomain(), words: t.code.words(n, l.LogDomain())}
	t.code.encode(r.words, values, n, l.RowVars, r.domain)
	r.nodes = t.b.newNodes(r.domain, func(digests kernels.Ptr) {
		h := &hashing{dev: a, columns: 1 << r.domain, rows: n, digests: digests}
		h.absorb(r.words, n)
	})
	return r
}

// foldedRow implements whir.FoldedRow.
type foldedRow struct {
	a            *scope
	rows, domain int
	words        kernels.Ptr
	nodes        *nodes
}

// Nodes implements whir.FoldedRow.
func (r *foldedRow) Nodes() whir.Nodes { return r.nodes }

// Columns implements whir.FoldedRow. They are asked for once, after which
// nothing of the row is needed but its path.
func (r *foldedRow) Columns(positions []uint64) [][]field.M31 {
	a := newScope(r.a)
	defer a.close()
	leaves := newArray[field.M31](a, r.rows*len(positions))
	backend.Check(kernels.GatherColumns(a, leaves, r.rows, r.words, 1<<r.domain, r.rows, newCopy(a, positions), len(positions)))
	return split(fetch[field.M31](a, leaves, r.rows*len(positions)), r.rows)
}
