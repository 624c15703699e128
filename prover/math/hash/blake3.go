package hash

import (
	"unsafe"

	"github.com/prove-model/prove-model/prover/math/blake3"
	"github.com/prove-model/prove-model/prover/math/field"
)

// blake3Suite is BLAKE3. A group has at most 256 rows, so that its part of a column is one chunk of BLAKE3. So only a chaining value
// has to be kept for each column while the group's rows come.
type blake3Suite struct{}

func (blake3Suite) rowsAtOnce() int   { return blake3.RowsAtOnce }
func (blake3Suite) groupRows() int    { return blake3.MaxRows }
func (blake3Suite) longestGroup() int { return blake3.MaxRows }
func (blake3Suite) elements() bool    { return false }

type blake3Columns struct{ *blake3.ColumnHasher }

// AbsorbRows implements Columns: elements of F are words of 32 bits.
func (h blake3Columns) AbsorbRows(rows [][]field.M31) {
	h.ColumnHasher.AbsorbRows(words(rows))
}

// Next implements Columns.
func (h blake3Columns) Next(n int) func(int, [][]field.M31) {
	absorb := h.ColumnHasher.Next(n)
	return func(from int, rows [][]field.M31) { absorb(from, words(rows)) }
}

// words views elements of F as words.
func words(rows [][]field.M31) [][]uint32 { return *(*[][]uint32)(unsafe.Pointer(&rows)) }

func (blake3Suite) newColumns(columns, rows int) Columns {
	return blake3Columns{blake3.NewColumnHasher(&blake3.KeyColumn, columns, rows)}
}

func (blake3Suite) newPublicColumns(columns, rows int) Columns {
	return blake3Columns{blake3.NewColumnHasher(&blake3.KeyPublicColumn, columns, rows)}
}

// blake3Leaves are leaves of several groups, or of groups and a salt.
type blake3Leaves struct {
	h    *blake3.DigestHasher
	n    int
	last []Digest // the slice that Absorb was called with last, or nil; Sum writes the leaves into it
}

func (l *blake3Leaves) Absorb(digests []Digest) {
	l.h.Absorb(digests)
	l.last = digests
}

func (l *blake3Leaves) AbsorbColumns(c Columns) {
	l.h.AbsorbColumns(c.(blake3Columns).ColumnHasher)
}

func (l *blake3Leaves) Sum() []Digest {
	if l.last == nil {
		l.last = make([]Digest, l.n)
	}
	l.h.Sum(l.last)
	return l.last
}

// oneGroup are leaves that are the digests of their group.
type oneGroup struct {
	n       int
	digests []Digest
}

func (g *oneGroup) Absorb(digests []Digest) {
	if g.digests != nil {
		panic("hash: more groups than announced")
	}
	g.digests = digests
}

func (g *oneGroup) AbsorbColumns(c Columns) {
	digests := make([]Digest, g.n)
	c.Sum(digests)
	g.Absorb(digests)
}

func (g *oneGroup) Sum() []Digest {
	if g.digests == nil {
		panic("hash: fewer groups than announced")
	}
	return g.digests
}

func (blake3Suite) newLeaves(leaves, groups int) Leaves {
	if groups == 1 {
		return &oneGroup{n: leaves}
	}
	return &blake3Leaves{h: blake3.NewDigestHasher(&blake3.KeyGroups, leaves, groups), n: leaves}
}

func (blake3Suite) newSaltedLeaves(leaves, groups int) Leaves {
	if groups < 1 {
		panic("hash: a leaf without groups")
	}
	return &blake3Leaves{h: blake3.NewDigestHasher(&blake3.KeySaltedLeaf, leaves, groups+1), n: leaves}
}

func (blake3Suite) parents(dst, children []Digest) {
	blake3.Parents(dst, &blake3.KeyNode, children)
}

type blake3Transcript struct{ *blake3.Transcript }

func (blake3Suite) newTranscript(label string) Transcript {
	return blake3Transcript{blake3.NewTranscript(label)}
}

func (t blake3Transcript) Fork(index uint64) Transcript {
	return blake3Transcript{t.Transcript.Fork(index)}
}

func (t blake3Transcript) Join(children []Transcript) {
	own := make([]*blake3.Transcript, len(children))
	for i, c := range children {
		own[i] = c.(blake3Transcript).Transcript
	}
	t.Transcript.Join(own)
}

func (t blake3Transcript) Work(bits int) Work {
	w := Work{Suite: Blake3, Bits: bits}
	state := t.Transcript.Work()
	copy(w.State[:], state[:])
	return w
}

func (t blake3Transcript) EndWork(nonce field.M31, bits int) bool {
	return t.Transcript.EndWork(uint64(nonce), bits)
}

func (t blake3Transcript) Clone() Transcript { return blake3Transcript{t.Transcript.Clone()} }

func (blake3Suite) try(w *Work, first uint64, n int) (uint64, bool) {
	state := blake3.Digest(w.State[:8])
	return blake3.SearchNonce(&state, first, n, w.Bits)
}
