package plan

import (
	"runtime"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// A public tensor of more than longTensor entries is absorbed as the digests of
// digestedColumns interleaved columns. The columns are hashed side by side and on all
// cores. The transcript itself would take one block after the other, at a sixth of
// the speed of one core.
const (
	longTensor      = 1 << 11
	digestedColumns = 1 << 7
)

// absorbValues absorbs a public tensor: its length, then its entries, or their digests.
// Which of these follows from the length.
func absorbValues(s *transcript.Sponge, v []int32) {
	s.AbsorbUint64(uint64(len(v)))
	if len(v) > longTensor {
		s.AbsorbDigest(digests(s.Suite(), v)...)
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

const (
	// rowsAtOnce is how many rows are hashed together, so that they stay in the
	// first-level cache.
	rowsAtOnce = 1 << 8
	// columnsAtOnce is the least number of columns that a core hashes, as many as a vector
	// instruction takes.
	columnsAtOnce = 1 << 4
	fewRows       = 1 << 8 // a tensor of at most this many rows is hashed on one core
	// manyValues is a number of values that a cache does not hold. From there on the columns are
	// cut into about piecesPerCore pieces for each core.
	manyValues    = 1 << 22
	piecesPerCore = 2
)

// digests returns the digests of the columns of v. v has the rows one after the other;
// the last one is filled up with zeros.
func digests(suite hash.Suite, v []int32) []hash.Digest {
	d := make([]hash.Digest, digestedColumns)
	grain := 1
	switch {
	case len(v) <= fewRows*digestedColumns:
		grain = digestedColumns / columnsAtOnce
	case len(v) >= manyValues: // pieces of as many neighbouring columns as keep all cores busy
		grain = max(1, digestedColumns/columnsAtOnce/(piecesPerCore*runtime.GOMAXPROCS(0)))
	}
	parallel.For(digestedColumns/columnsAtOnce, grain, func(lo, hi int) {
		columnDigests(suite, d[lo*columnsAtOnce:hi*columnsAtOnce], v, lo*columnsAtOnce)
	})
	return d
}

// columnDigests sets d to the digests of columns of v, from the given one on.
func columnDigests(suite hash.Suite, d []hash.Digest, v []int32, from int) {
	total := (len(v) + digestedColumns - 1) / digestedColumns
	h := suite.NewPublicColumns(len(d), total)
	limbs := make([]field.M31, min(total, rowsAtOnce)*len(d))
	rows := make([][]field.M31, 0, min(total, rowsAtOnce))
	for first := 0; first < total; first += rowsAtOnce {
		rows = rows[:0]
		for r := first; r < min(first+rowsAtOnce, total); r++ {
			row := limbs[(r-first)*len(d):][:len(d)]
			own := v[min(r*digestedColumns+from, len(v)):]
			n := min(len(own), len(d))
			field.FromInt32Vec(row[:n], own[:n])
			clear(row[n:])
			rows = append(rows, row)
		}
		h.AbsorbRows(rows)
	}
	h.Sum(d)
}
