package hash

import (
	"unsafe"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poseidon2"
)

// poseidon2Suite is Poseidon2. Its digests are elements of F, which are words of 32 bits.
type poseidon2Suite struct{}

func (poseidon2Suite) rowsAtOnce() int   { return poseidon2.Rate }
func (poseidon2Suite) groupRows() int    { return 512 }
func (poseidon2Suite) longestGroup() int { return 1 << 30 } // a group has any number of rows
func (poseidon2Suite) elements() bool    { return true }

// ofPoseidon2 views digests as those of package poseidon2.
func ofPoseidon2(d []Digest) []poseidon2.Digest {
	return unsafe.Slice((*poseidon2.Digest)(unsafe.Pointer(unsafe.SliceData(d))), len(d))
}

// toDigests views digests of package poseidon2 as Digests.
func toDigests(d []poseidon2.Digest) []Digest {
	return unsafe.Slice((*Digest)(unsafe.Pointer(unsafe.SliceData(d))), len(d))
}

type poseidon2Columns struct{ *poseidon2.ColumnHasher }

func (h poseidon2Columns) Sum(dst []Digest) { h.ColumnHasher.Sum(ofPoseidon2(dst)) }

func (poseidon2Suite) newColumns(columns, rows int) Columns {
	return poseidon2Columns{poseidon2.NewColumnHasher(columns, rows)}
}

func (s poseidon2Suite) newPublicColumns(columns, rows int) Columns {
	return s.newColumns(columns, rows)
}

type poseidon2Leaves struct {
	*poseidon2.LeafHasher
	columns int
}

func (h poseidon2Leaves) Absorb(digests []Digest) { h.LeafHasher.Absorb(ofPoseidon2(digests)) }
func (h poseidon2Leaves) AbsorbColumns(c Columns) {
	digests := make([]Digest, h.columns)
	c.Sum(digests)
	h.Absorb(digests)
}
func (h poseidon2Leaves) Sum() []Digest { return toDigests(h.LeafHasher.Sum()) }

func (poseidon2Suite) newLeaves(columns, groups int) Leaves {
	return poseidon2Leaves{poseidon2.NewLeafHasher(columns, groups), columns}
}

func (poseidon2Suite) newSaltedLeaves(columns, groups int) Leaves {
	return poseidon2Leaves{poseidon2.NewSaltedLeafHasher(columns, groups), columns}
}

func (poseidon2Suite) parents(dst, children []Digest) {
	poseidon2.CompressMany(ofPoseidon2(dst), ofPoseidon2(children))
}

type poseidon2Transcript struct{ *poseidon2.Transcript }

func (poseidon2Suite) newTranscript(label string) Transcript {
	return poseidon2Transcript{poseidon2.NewTranscript(label)}
}

func (t poseidon2Transcript) AbsorbDigests(d []Digest) { t.Transcript.AbsorbDigests(ofPoseidon2(d)) }

func (t poseidon2Transcript) Fork(index uint64) Transcript {
	return poseidon2Transcript{t.Transcript.Fork(index)}
}

func (t poseidon2Transcript) Join(children []Transcript) {
	own := make([]*poseidon2.Transcript, len(children))
	for i, c := range children {
		own[i] = c.(poseidon2Transcript).Transcript
	}
	t.Transcript.Join(own)
}

func (t poseidon2Transcript) Work(bits int) Work {
	w := Work{Suite: Poseidon2, Bits: bits}
	for i, v := range t.Transcript.Work() {
		w.State[i] = uint32(v)
	}
	return w
}

func (t poseidon2Transcript) Clone() Transcript { return poseidon2Transcript{t.Transcript.Clone()} }

func (poseidon2Suite) try(w *Work, first uint64, n int) (uint64, bool) {
	var start poseidon2.State
	for i, v := range w.State {
		start[i] = field.M31(v)
	}
	return poseidon2.SearchNonce(&start, first, n, w.Bits)
}
