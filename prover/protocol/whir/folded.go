package whir

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// limbs is the number of base-field values of an element of K.
const limbs = 4

// foldedWords is a commitment to a folded row over K, viewed as several shorter rows. Its
// codewords are short, so they are kept in memory, unlike those of the first trees.
type foldedWords struct {
	words [][]field.M31 // limb j of row i is words[4i+j]
	nodes *merkle.Tree
}

// commitFolded views f as rows of 2^l.RowVars elements of K and commits to the first n of
// them. Each is encoded limb by limb, as four rows over F.
func commitFolded(suite hash.Suite, f []field.QM31, l soundness.Level, n int) *foldedWords {
	rows := limbs * n
	t := &foldedWords{words: make([][]field.M31, rows)}
	parallel.For(rows/limbs, 1, func(from, to int) {
		coeffs := make([]field.M31, 1<<l.RowVars)
		for i := from; i < to; i++ {
			row := f[i<<l.RowVars : (i+1)<<l.RowVars]
			for j := range limbs {
				for k, v := range row {
					coeffs[k] = v.Limbs()[j]
				}
				word := make([]field.M31, 1<<l.LogDomain())
				code.Encode(word, coeffs)
				t.words[limbs*i+j] = word
			}
		}
	})
	groups := suite.Groups(rows)
	leaves := suite.NewLeaves(1<<l.LogDomain(), len(groups))
	h := suite.NewColumns(1<<l.LogDomain(), 0)
	first := 0
	for _, n := range groups {
		h.Reset(n)
		for end := first + n; first < end; {
			to := min(first+suite.RowsAtOnce(), end)
			h.AbsorbRows(t.words[first:to])
			first = to
		}
		leaves.AbsorbColumns(h)
	}
	t.nodes = merkle.New(suite, leaves.Sum())
	return t
}

// columns returns the leaves at the positions: each has the values of all words there.
func (t *foldedWords) columns(positions []uint64) [][]field.M31 {
	leaves := make([][]field.M31, len(positions))
	for i, p := range positions {
		leaves[i] = make([]field.M31, len(t.words))
		for k, word := range t.words {
			leaves[i][k] = word[p]
		}
	}
	return leaves
}

// foldLeaf returns the folded row's codeword at a leaf's position:
// Σ_i weights[i]·(element i of the leaf).
func foldLeaf(leaf []field.M31, weights []field.QM31) field.QM31 {
	var sum field.QM31
	for i, w := range weights {
		l := leaf[limbs*i : limbs*(i+1)]
		sum = sum.Add(w.Mul(field.NewQM31(l[0], l[1], l[2], l[3])))
	}
	return sum
}
