// Package hash is the interface to hash suites, with which commitments and transcripts are hashed. A suite hashes columns of
// groups of rows, the digests of several groups, nodes of trees, and columns of public tensors. It turns messages into challenges,
// and defines the proof of work. There are two, from packages poseidon2 and blake3 (docs/proof-format.md, "Hash suites").
package hash

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/math/blake3"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Suite is a hash suite. Its methods panic unless it is one of those below.
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

// Digest is a digest of any suite: 32 bytes as little-endian words. Those of poseidon2 are elements of F.
type Digest = blake3.Digest

// DigestBytes is the length of a digest.
const DigestBytes = 32

// Work is a proof of work that is asked for: a number whose hash behind a state has so many zero bits. Of the state suites use
// as many words as they need.
type Work struct {
	Suite Suite
	State [16]uint32
	Bits  int
}

// A suite's own part.
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

// RowsAtOnce is how many rows of a matrix one step of hashing takes: Columns come in multiples of it.
func (s Suite) RowsAtOnce() int { return all[s].rowsAtOnce() }

// GroupRows is the number of rows of all groups of a single stack but its last.
func (s Suite) GroupRows() int { return all[s].groupRows() }

// Groups returns how many rows the groups have that n rows are cut into, if nothing else says where a group ends: all in one
// where a suite has groups of any length.
func (s Suite) Groups(n int) []int {
	longest := all[s].longestGroup()
	groups := make([]int, 0, (n-1)/longest+1)
	for ; n > longest; n -= longest {
		groups = append(groups, longest)
	}
	return append(groups, n)
}

// ElementDigests says that the words of digests are elements of F: others are refused.
func (s Suite) ElementDigests() bool { return all[s].elements() }

// Columns hashes every column of a matrix that comes row by row, on all cores.
type Columns interface {
	// Reset begins anew with as many columns and a number of rows.
	Reset(rows int)
	// AbsorbRows takes the next rows, each with an element for every column: RowsAtOnce of them or a multiple, but for the last.
	AbsorbRows(rows [][]field.M31)
	// Next announces the next n rows, as many as AbsorbRows may take, and returns what absorbs them: a range of columns a call,
	// from a multiple of 16 to another or to the last column. The calls together have every column once. They may be at the
	// same time, each on its own goroutine.
	Next(n int) (absorb func(from int, rows [][]field.M31))
	// Sum sets dst to the digests once all rows have been absorbed. It is called once.
	Sum(dst []Digest)
}

// NewColumns returns a hasher of the columns of a group of rows.
func (s Suite) NewColumns(columns, rows int) Columns { return all[s].newColumns(columns, rows) }

// NewPublicColumns returns a hasher of columns of a public tensor.
func (s Suite) NewPublicColumns(columns, rows int) Columns {
	return all[s].newPublicColumns(columns, rows)
}

// Leaves makes leaves from the digests of their groups, one group after the other.
type Leaves interface {
	// Absorb takes the digests of the next group, one a leaf. It may keep and overwrite those of the last group.
	Absorb(digests []Digest)
	// AbsorbColumns is Absorb of the digests of columns of the suite, one a leaf, once their rows have been absorbed. It takes the
	// place of their Sum.
	AbsorbColumns(c Columns)
	// Sum returns the leaves, once all groups have been absorbed.
	Sum() []Digest
}

// NewLeaves returns what makes so many leaves of so many groups, at least one. With one group its digests are the leaves.
func (s Suite) NewLeaves(leaves, groups int) Leaves { return all[s].newLeaves(leaves, groups) }

// NewSaltedLeaves is NewLeaves for leaves with a salt each. The salts come first, as a group, and no leaf is a digest of its
// groups. A salt of 248 uniform bits makes a digest say nothing of what is under it to somebody who guesses that.
func (s Suite) NewSaltedLeaves(leaves, groups int) Leaves {
	return all[s].newSaltedLeaves(leaves, groups)
}

// Parents sets dst[i] to the node over children[2i] and children[2i+1], of which there are twice as many. They must not
// overlap.
func (s Suite) Parents(dst, children []Digest) { all[s].parents(dst, children) }

// Transcript turns messages into challenges. It is not safe for concurrent use, but that several goroutines may fork it.
type Transcript interface {
	AbsorbElements(v []field.M31)
	AbsorbDigests(d []Digest)
	AbsorbUint64(v uint64)
	AbsorbBytes(b []byte)
	// Draw sets dst to uniform elements of F that depend on everything absorbed so far. They are one draw: two draws of one
	// element may be others.
	Draw(dst []field.M31)
	// DrawIndices is Draw for numbers of 0 to 48 bits.
	DrawIndices(dst []uint64, bits int)
	// Fork returns a child bound to everything absorbed so far and to an index, and leaves the parent alone.
	Fork(index uint64) Transcript
	// Join absorbs what children of the same suite have come to, in the order given, and leaves them alone.
	Join(children []Transcript)
	// Work returns what a nonce that does work of so many bits, 0 to 24, is looked for with. The nonce comes next.
	Work(bits int) Work
	// EndWork absorbs a nonce and reports whether it does the work.
	EndWork(nonce field.M31, bits int) bool
	// Clone returns a copy that shares nothing.
	Clone() Transcript
}

// NewTranscript returns a transcript of which the label is the first message.
func (s Suite) NewTranscript(label string) Transcript { return all[s].newTranscript(label) }

// Try returns the least of n nonces from first on that does the work; ok is false if none does.
func (w *Work) Try(first uint64, n int) (nonce uint64, ok bool) { return all[w.Suite].try(w, first, n) }
