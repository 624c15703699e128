// Package hash is the interface to hash suites, with which commitments and transcripts are hashed. A suite hashes columns of
// groups of rows, the digests of several groups, nodes of trees, and columns of public tensors. It turns messages into challenges,
// and defines the proof of work. There are two suites, from packages poseidon2 and blake3 (docs/proof-format.md, "Hash suites").
package hash

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/math/blake3"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Suite is a hash suite. Its methods, except String and Valid, panic unless it is one of the suites below.
type Suite uint8

const (
	// Blake3 hashes with BLAKE3.
	Blake3 Suite = iota
	// Poseidon2 hashes with the permutation Poseidon2 over F.
	Poseidon2
	suites
)

// All lists the suites.
func All() []Suite { return []Suite{Blake3, Poseidon2} }

// String returns "blake3" or "poseidon2".
func (s Suite) String() string {
	switch s {
	case Blake3:
		return "blake3"
	case Poseidon2:
		return "poseidon2"
	}
	return fmt.Sprintf("Suite(%d)", uint8(s))
}

// Valid reports whether there is such a suite.
func (s Suite) Valid() bool { return s < suites }

// Parse is the inverse of Suite.String.
func Parse(name string) (Suite, error) {
	for _, s := range All() {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("unknown hash suite %q: want blake3 or poseidon2", name)
}

// Digest is a digest of any suite: 32 bytes as eight little-endian words. With poseidon2 each word is an element of F.
type Digest = blake3.Digest

// DigestBytes is the length of a digest.
const DigestBytes = 32

// Work is a proof of work to be done: to find a nonce for which the hash of State and the nonce has Bits zero bits. A suite uses as many
// words of State as it needs.
type Work struct {
	Suite Suite
	State [16]uint32
	Bits  int
}

// suite is the implementation of a hash suite.
type suite interface {
	rowsAtOnce() int
	groupRows() int
	longestGroup() int
	elements() bool
	newColumns(columns, rows int) Columns
	newPublicColumns(columns, rows int) Columns
	newLeaves(columns, groups int) Leaves
	newSaltedLeaves(columns, groups int) Leaves
	parents(dst, children []Digest)
	newTranscript(label string) Transcript
	try(w *Work, first uint64, n int) (uint64, bool)
}

var all = [suites]suite{blake3Suite{}, poseidon2Suite{}}

// RowsAtOnce returns how many rows of a matrix one step of hashing takes. Columns absorb rows in multiples of it.
func (s Suite) RowsAtOnce() int { return all[s].rowsAtOnce() }

// GroupRows returns the number of rows of each group, except the last, into which a single stack, such as that of the fixed tensors, is
// cut.
func (s Suite) GroupRows() int { return all[s].groupRows() }

// Groups returns the numbers of rows of the groups into which n rows are cut where a group may be as long as the suite allows. With
// poseidon2 all rows are in one group.
func (s Suite) Groups(n int) []int {
	longest := all[s].longestGroup()
	groups := make([]int, 0, (n-1)/longest+1)
	for ; n > longest; n -= longest {
		groups = append(groups, longest)
	}
	return append(groups, n)
}

// ElementDigests says whether the words of digests are elements of F. Readers of keys and proofs then refuse words that are not below
// p.
func (s Suite) ElementDigests() bool { return all[s].elements() }

// Columns hashes every column of a matrix that comes row by row, on all cores.
type Columns interface {
	// Reset starts again with the same number of columns, and the given number of rows.
	Reset(rows int)
	// AbsorbRows takes the next rows, each with an element for every column. Their number must be a multiple of RowsAtOnce, except in
	// the last call.
	AbsorbRows(rows [][]field.M31)
	// Next announces the next n rows, as many as AbsorbRows may take. It returns a function that absorbs them for a range of columns:
	// the range begins with column from, a multiple of 16, and ends at another multiple or at the last column, and rows has only these
	// columns. The calls together must have every column once. They may run in parallel.
	Next(n int) (absorb func(from int, rows [][]field.M31))
	// Sum sets dst to the digests once all rows have been absorbed. It must be called once only.
	Sum(dst []Digest)
}

// NewColumns returns a hasher of the columns of a group of rows.
func (s Suite) NewColumns(columns, rows int) Columns { return all[s].newColumns(columns, rows) }

// NewPublicColumns returns a hasher of columns of a public tensor.
func (s Suite) NewPublicColumns(columns, rows int) Columns {
	return all[s].newPublicColumns(columns, rows)
}

// Leaves computes the leaves of a tree from the digests of their groups, one group after the other.
type Leaves interface {
	// Absorb takes the digests of the next group, one for each leaf. It may keep the slice of the last group and overwrite it.
	Absorb(digests []Digest)
	// AbsorbColumns does what Absorb does with the digests that c.Sum would return, one column for each leaf. It is called in place
	// of c.Sum, once all rows of c have been absorbed.
	AbsorbColumns(c Columns)
	// Sum returns the leaves, once all groups have been absorbed.
	Sum() []Digest
}

// NewLeaves returns a Leaves for this number of leaves, and of groups of each, at least one. With one group its digests are the leaves.
func (s Suite) NewLeaves(leaves, groups int) Leaves { return all[s].newLeaves(leaves, groups) }

// NewSaltedLeaves is NewLeaves for leaves that each have a salt. The salts are absorbed first, as a group. Even with one other group a
// leaf is not that group's digest. As a salt has 248 uniform bits, somebody who guesses the values under a leaf cannot confirm
// the guess by the leaf's digest.
func (s Suite) NewSaltedLeaves(leaves, groups int) Leaves {
	return all[s].newSaltedLeaves(leaves, groups)
}

// Parents sets dst[i] to the hash of the two nodes children[2i] and children[2i+1]. len(children) must be 2·len(dst), and the slices must
// not overlap.
func (s Suite) Parents(dst, children []Digest) { all[s].parents(dst, children) }

// Transcript turns messages into challenges. It is not safe for concurrent use, except that several goroutines may fork it at once.
type Transcript interface {
	AbsorbElements(v []field.M31)
	AbsorbDigests(d []Digest)
	AbsorbUint64(v uint64)
	AbsorbBytes(b []byte)
	// Draw sets dst to uniform elements of F that depend on everything absorbed so far. All of dst is one draw: drawing the same number
	// of elements in several calls may give others.
	Draw(dst []field.M31)
	// DrawIndices is Draw for uniform integers in [0, 2^bits), with 0 to 48 bits.
	DrawIndices(dst []uint64, bits int)
	// Fork returns a child that depends on everything absorbed so far and on index. The parent does not change.
	Fork(index uint64) Transcript
	// Join absorbs the states of children of the same suite, in the order given. The children do not change.
	Join(children []Transcript)
	// Work returns the task of finding a nonce that does a proof of work of 0 to 24 bits. EndWork with the nonce must be the next call.
	Work(bits int) Work
	// EndWork absorbs a nonce and reports whether it does the proof of work.
	EndWork(nonce field.M31, bits int) bool
	// Clone returns an independent copy.
	Clone() Transcript
}

// NewTranscript returns a transcript whose first message is label.
func (s Suite) NewTranscript(label string) Transcript { return all[s].newTranscript(label) }

// Try returns the least of the n nonces from first on that does the proof of work. ok is false if none does.
func (w *Work) Try(first uint64, n int) (nonce uint64, ok bool) { return all[w.Suite].try(w, first, n) }
