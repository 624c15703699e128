package whir

import (
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/transcript"
)

// The prover's side of an opening is written once, in [OpenRows], over the
// operations below. Each is a pass over tables that stay where they are: in
// memory for the implementation of this package, on a device for others. Only
// challenges, round polynomials, roots and opened leaves come back.

// Rows are the rows of all trees in their places in one table of 2^FoldVars
// rows of 2^RowVars values, zero where no tree has one.
type Rows interface {
	// Grid views the table as 2^vars long rows, vars ≤ FoldVars, one after the
	// other, sums the columns away and returns the products of rows and
	// functional for every variable that numbers long rows at 0, at 1 and at ∞
	// (the leading coefficient): 3^vars values, the first variable's third of the
	// table at 0 first and that at ∞ last.
	Grid(vars int, q *Functional) []field.QM31
	// Fold returns the tables that the long rows, as many as there are weights,
	// of the stack and of the functional fold to: f[x] = Σ_h weights[h]·(long row
	// h)[x], q likewise.
	Fold(weights []field.QM31, q *Functional) Tables
	// Columns returns the columns at the positions, strictly increasing, of the
	// codewords at rate 2^(−logBlowup) of the n rows from row first on.
	Columns(first, n, logBlowup int, positions []uint64) [][]field.M31
}

// Tables are two tables f and q over K of one power-of-two length, of which
// the claim is Σ_x f(x)·q(x). They are used by one goroutine.
type Tables interface {
	// Round returns the value at 0 and the leading coefficient of
	// X ↦ Σ_x f(X, x)·q(X, x), where X is the first variable.
	Round() (zero, top field.QM31)
	// Bind binds the first variable of both tables to r.
	Bind(r field.QM31)
	// Commit views f as 2^FoldVars rows and commits to them at the level's rate.
	Commit(l soundness.Level) FoldedRow
	// At returns the value at z of the codeword of f.
	At(z field.QM31) field.QM31
	// Add adds the constraints' weights to q.
	Add(c *Constraints)
	// F returns the values of f.
	F() []field.QM31
}

// FoldedRow is a committed folded row.
type FoldedRow interface {
	// Nodes is the tree over the columns of codewords. A leaf holds the element
	// of every row in its order, the limbs of an element next to each other.
	Nodes() Nodes
	// Columns returns the leaves at the positions, strictly increasing.
	Columns(positions []uint64) [][]field.M31
}

// Nodes are the digests of a binary tree: a merkle.Tree, or one elsewhere.
type Nodes interface {
	// Depth returns n for 2^n leaves.
	Depth() int
	// Root returns the commitment.
	Root() poseidon2.Digest
	// Open writes the path of the leaves at the positions, strictly increasing,
	// as merkle.Tree.Open does.
	Open(w *transcript.Writer, positions []uint64)
	// Layers returns all digests, the leaves first and the root alone last. They
	// must not be changed.
	Layers() [][]poseidon2.Digest
}
