package whir

import (
	"context"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// Passes does the work of an opening on large data, wherever the data are: in this
// process's memory ([NewPasses]) or on a device. [Open] is the prover's side for all
// implementations. It passes challenges in and gets round polynomials, roots and opened
// leaves. Results are a function of the data and of the calls so far. Passes are used by
// one goroutine.
//
// The data are the rows of all trees in their places in one table of 2^FoldVars rows of
// 2^RowVars values, zero where no tree has a row (see layout.go). From Begin on there are
// also two tables f and q over K, of one power-of-two length, and the claim is the value of
// Σ_x f(x)·q(x). Until FoldVars variables are bound, only Round and Bind are called of the
// methods that use f and q, so implementations need not have these in memory before.
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
	// Commit views f as the 2^FoldVars rows of level l, encodes the first of them, as many as
	// soundness.Params.LeafRows says, at the level's rate, commits to the codewords and returns
	// the root.
	Commit(ctx context.Context, l soundness.Level) (hash.Digest, error)
	// Leaves opens the n-th commitment that Commit made, from 0 on, at the positions,
	// which are strictly increasing. A leaf has the element of every row, in the order of
	// the rows, each as four limbs. A commitment is opened once.
	Leaves(ctx context.Context, n int, positions []uint64) (Leaves, error)

	// Salts returns the salts of a tree's leaves at the positions, or nil if it has none.
	Salts(ctx context.Context, tree int, positions []uint64) ([]hash.Digest, error)
	// Auxiliary returns the first n values of the auxiliary row. This method and the next two
	// are called in hiding openings alone (docs/protocol.md, "Hiding openings").
	Auxiliary(ctx context.Context, n int) ([]field.M31, error)
	// AuxiliaryRound is called when all row variables are bound. It returns the sums of the round
	// over one more variable, which is 0 for f and q and 1 for the auxiliary row and −u. u is
	// the beginning of a row that is zero behind it.
	AuxiliaryRound(ctx context.Context, u []field.QM31) (Sums, error)
	// BindAuxiliary binds that variable to r. It makes f the resulting row followed by its tail
	// and q the resulting functional followed by zeros, both of twice the length of a table row.
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

// Nodes are the digests of a Merkle tree, in this process's memory ([LocalNodes]) or on a
// device.
type Nodes interface {
	// Depth returns log2 of the number of leaves.
	Depth() int
	// Root returns the commitment.
	Root() hash.Digest
	// Path returns the digests that lead from the leaves at the positions, which are strictly
	// increasing, to the root (merkle.Tree.Siblings).
	Path(ctx context.Context, positions []uint64) ([]hash.Digest, error)
	// Layers returns all digests, the leaves first and the root alone last. They
	// must not be changed.
	Layers(ctx context.Context) ([][]hash.Digest, error)
}
