package whir

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// drawPositions returns the positions of a level's queries, in increasing order
// without repetitions. The soundness calculation counts draws, so repetitions
// are not replaced.
func drawPositions(t *transcript.Sponge, l soundness.Level) []uint64 {
	return merkle.Distinct(t.Indices(l.Queries, l.LogDomain()))
}

// domainPoints returns the points of a level's domain at the positions.
func domainPoints(l soundness.Level, positions []uint64) []field.M31 {
	d := code.NewDomain(l.LogDomain())
	points := make([]field.M31, len(positions))
	for i, p := range positions {
		points[i] = d.Point(p)
	}
	return points
}

// leavesAtOnce is how many leaves are hashed together, with vector instructions.
const leavesAtOnce = 1 << 4

// hashedGrain is the least number of values whose hashing is worth a goroutine.
const hashedGrain = 1 << 12

// leafDigests returns the digests of leaves. groups[i] is the number of a leaf's values that
// are of group i. salts has one salt for each leaf, or is nil if leaves are not salted. Leaves are
// hashed several at a time and on all cores.
func leafDigests(suite hash.Suite, leaves [][]field.M31, groups []int, salts []hash.Digest) []hash.Digest {
	digests := make([]hash.Digest, len(leaves))
	length := 1
	for _, n := range groups {
		length += n
	}
	vectors := (len(leaves) + leavesAtOnce - 1) / leavesAtOnce
	parallel.For(vectors, (hashedGrain/leavesAtOnce+length-1)/length, func(lo, hi int) {
		from, to := lo*leavesAtOnce, min(hi*leavesAtOnce, len(leaves))
		var own []hash.Digest
		if salts != nil {
			own = salts[from:to]
		}
		copy(digests[from:], someDigests(suite, leaves[from:to], groups, own))
	})
	return digests
}

// someDigests is leafDigests on the calling goroutine. It turns the leaves around, into the rows
// of a matrix with a column for each leaf, which is what the hash takes.
func someDigests(suite hash.Suite, leaves [][]field.M31, groups []int, salts []hash.Digest) []hash.Digest {
	var hasher hash.Leaves
	if salts == nil {
		hasher = suite.NewLeaves(len(leaves), len(groups))
	} else {
		hasher = suite.NewSaltedLeaves(len(leaves), len(groups))
		hasher.Absorb(slices.Clone(salts)) // a copy, since Absorb may overwrite its argument
	}
	room := make([][]field.M31, slices.Max(groups)) // for the rows of a group
	all := make([]field.M31, len(room)*len(leaves))
	for i := range room {
		room[i] = all[i*len(leaves) : (i+1)*len(leaves)]
	}
	h := suite.NewColumns(len(leaves), 0)
	first := 0
	for _, n := range groups {
		rows := room[:n]
		for i, row := range rows {
			for k, leaf := range leaves {
				row[k] = leaf[first+i]
			}
		}
		h.Reset(n)
		h.AbsorbRows(rows)
		hasher.AbsorbColumns(h)
		first += n
	}
	return hasher.Sum()
}

// writeLeaves writes leaves without their first skip values, then their salts if they have any,
// then their path. All are hints, which the transcript does not absorb.
func writeLeaves(w *transcript.Writer, leaves Leaves, skip int) {
	values := leaves.Values
	if skip > 0 {
		values = make([][]field.M31, len(values))
		for k, leaf := range leaves.Values {
			values[k] = leaf[skip:]
		}
	}
	w.HintLeaves(values)
	w.HintDigest(leaves.Salts...)
	w.HintDigest(leaves.Path...)
}

// readLeaves reads what writeLeaves wrote and checks it against the root. groups[i] is the number
// of a leaf's values that are of group i. If complete is not nil, leaves are sent without their
// first element of K, and complete sets it in leaf k before the leaf is hashed. readLeaves
// returns nil after an error.
func readLeaves(r *transcript.Reader, root hash.Digest, depth int, positions []uint64, groups []int, salted bool, complete func(k int, leaf []field.M31)) [][]field.M31 {
	length, skip := 0, 0
	for _, n := range groups {
		length += n
	}
	if complete != nil {
		skip = limbs
	}
	if r.Remaining()/transcript.LimbBytes/len(positions) < length-skip {
		// Before anything is allocated for the leaves.
		r.Fail(fmt.Errorf("%w: %d leaves of %d values wanted", transcript.ErrTruncated, len(positions), length-skip))
		return nil
	}
	all := r.HintM31s((length - skip) * len(positions))
	if r.Err() != nil {
		return nil
	}
	leaves := make([][]field.M31, len(positions))
	for i := range leaves {
		leaf := all[i*(length-skip) : (i+1)*(length-skip) : (i+1)*(length-skip)]
		if complete != nil {
			leaf = append(make([]field.M31, skip, length), leaf...)
			complete(i, leaf)
		}
		leaves[i] = leaf
	}
	var salts []hash.Digest
	if salted {
		salts = make([]hash.Digest, len(positions))
		for i := range salts {
			salts[i] = r.HintDigest()
		}
	}
	if r.Err() != nil || merkle.Verify(r, root, depth, positions, leafDigests(r.Suite(), leaves, groups, salts)) != nil {
		return nil
	}
	if r.Leaves != nil {
		r.Leaves(root, positions, leaves)
	}
	return leaves
}
