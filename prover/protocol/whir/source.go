package whir

import (
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// RowSource gives the rows of a stack. Its methods may be called concurrently
// and must give the same values every time.
type RowSource interface {
	// Rows returns the number of rows, at least 1.
	Rows() int
	// FillRow sets dst to the values of row i from value number `from` on. Values are integers
	// |v| < 2^30.
	FillRow(i, from int, dst []int32)
}

// HidingSource is the RowSource of a tree whose rows have tails and whose leaves have salts
// (docs/protocol.md, "Hiding openings"). Tails and salts must be uniformly random and secret, or
// the tree hides nothing.
type HidingSource interface {
	RowSource
	// FillTail sets dst to the first len(dst) elements of the tail of row i.
	FillTail(i int, dst []field.M31)
	// FillSalts sets dst to the salts of the leaves at positions from, from + 1, …. A salt has the
	// form of a digest of the tree's hash suite.
	FillSalts(from uint64, dst []hash.Digest)
}
