package whir

import (
	"context"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// Passes are the passes of an opening over its data, wherever that is: in this
// process's memory ([NewPasses]) or on a device. The prover's side is written
// once above them, in [Open]; only challenges, round polynomials, roots and
// opened leaves come back. Results are a function of the data and of the calls so
// far. Passes are used by one goroutine.
//
// The data are first the rows of all trees in their places in one table of
// 2^FoldVars rows of 2^RowVars values, zero where no tree has one (see
// layout.go). After Begin they are, beside that, two tables f and q over K of one
// power-of-two length, of which the claim is Σ_x f(x)·q(x). As long as variables that
// number rows are free, implementations need not have these tables: until FoldVars
// variables are bound, only Round and Bind are asked for.
type Passes interface {
	// Begin makes f and q the table of rows and the functional: it comes once, before
	// all rounds.
	Begin(ctx context.Context, q *Functional) error
	// Columns returns a tree's columns at the positions, strictly increasing, of
	// the codewords of its rows.
	Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error)

	// Round returns what a round of the sumcheck over the first variable sends.
	Round(ctx context.Context) (Sums, error)
	// Bind binds the first variable of f and q to r.
	Bind(ctx context.Context, r field.QM31) error
	// Values returns the values of f.
	Values(ctx context.Context) ([]field.QM31, error)
	// At returns the value at z of the codeword of f.
	At(ctx context.Context, z field.QM31) (field.QM31, error)
	// Add adds the constraints' weights to q.
	Add(ctx context.Context, c *Constraints) error
	// Commit views f as the 2^FoldVars rows of the level, commits to the first of them (soundness.Params.LeafRows)
	// at its rate and returns the root.
	Commit(ctx context.Context, l soundness.Level) (hash.Digest, error)
	// Leaves opens the n-th row committed to, from 0 on, at the positions,
	// strictly increasing: it returns the leaves, each with the element of every
	// row in its order, the limbs of an element next to each other, and the path.
	// A row is opened once.
	Leaves(ctx context.Context, n int, positions []uint64) (Leaves, error)

	// Salts returns the salts of a tree's leaves at the positions, or nil if it has none.
	Salts(ctx context.Context, tree int, positions []uint64) ([]hash.Digest, error)
	// Auxiliary returns the first n values of the auxiliary row, of a hiding opening as is all that follows.
	Auxiliary(ctx context.Context, n int) ([]field.M31, error)
	// AuxiliaryRound comes when all row variables are bound. It returns what the round sends over a
	// variable that is 0 for f and q and 1 for the auxiliary row and −u, which is zero behind
	// the values given.
	AuxiliaryRound(ctx context.Context, u []field.QM31) (Sums, error)
	// BindAuxiliary binds that variable to r, and makes f the row with its tail behind it, and q
	// one with zeros behind it.
	BindAuxiliary(ctx context.Context, r field.QM31) error

	// Search is a transcript.NonceSearch.
	Search(ctx context.Context, work hash.Work) (uint64, error)
	// Close gives back the memory of the passes. It may come at any time.
	Close()
}

// Sums are the value at 0 and the leading coefficient of X ↦ Σ_x f(X, x)·q(X, x).
type Sums struct{ Zero, Top field.QM31 }

// Leaves are opened leaves, their salts if they have any, and the digests that lead from them to
// the root.
type Leaves struct {
	Values [][]field.M31
	Salts  []hash.Digest
	Path   []hash.Digest
}

// Nodes are the digests of a binary tree: a merkle.Tree, or one elsewhere.
type Nodes interface {
	// Depth returns n for 2^n leaves.
	Depth() int
	// Root returns the commitment.
	Root() hash.Digest
	// Path returns what leads from the leaves at the positions, strictly
	// increasing, to the root (merkle.Tree.Siblings).
	Path(ctx context.Context, positions []uint64) ([]hash.Digest, error)
	// Layers returns all digests, the leaves first and the root alone last. They
	// must not be changed.
	Layers(ctx context.Context) ([][]hash.Digest, error)
}
