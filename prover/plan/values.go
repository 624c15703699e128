package plan

import (
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/transcript"
)

// A public tensor of more than longTensor entries is absorbed as the digests of
// digestedColumns interleaved columns, which are hashed side by side and on all cores:
// the transcript's own sponge takes one block after the other, a sixth as fast on one.
const (
	longTensor      = 1 << 11
	digestedColumns = 1 << 7
)

// absorbValues absorbs a public tensor: its length, then its entries, or their digests.
// Which of these follows from the length.
func absorbValues(s *transcript.Sponge, v []int32) {
	s.AbsorbUint64(uint64(len(v)))
	if len(v) > longTensor {
		s.AbsorbDigest(digests(v)...)
		return
	}
	limbs := make([]field.M31, min(len(v), 1<<12))
	for len(v) > 0 {
		n := min(len(v), len(limbs))
		field.FromInt32Vec(limbs[:n], v[:n])
		s.Absorb(limbs[:n]...)
		v = v[n:]
	}
}

// rowsAtOnce is how many rows are hashed together: a megabyte of limbs.
const rowsAtOnce = 1 << 11

// digests returns those of the columns of v, of which it is the rows one after the
// other, the last one filled up with zeros.
func digests(v []int32) []poseidon2.Digest {
	total := (len(v) + digestedColumns - 1) / digestedColumns
	h := poseidon2.NewColumnHasher(digestedColumns, total)
	limbs := make([]field.M31, min(total, rowsAtOnce)*digestedColumns)
	var rows [][]field.M31
	for len(v) > 0 {
		n := min(len(v), len(limbs))
		field.FromInt32Vec(limbs[:n], v[:n])
		v = v[n:]
		rows = rows[:0]
		for at := 0; at < n; at += digestedColumns {
			row := limbs[at : at+digestedColumns]
			if n-at < digestedColumns {
				clear(row[n-at:])
			}
			rows = append(rows, row)
		}
		h.AbsorbRows(rows)
	}
	d := make([]poseidon2.Digest, digestedColumns)
	h.Sum(d)
	return d
}
