package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poseidon2"
)

func poseidon2Kernel(name string) Kernel { return Kernel{"poseidon2", name} }

// Sizes in bytes of what this package's kernels read and write.
const (
	SizeM31    = 4
	SizeQM31   = 16
	SizeDigest = SizeM31 * poseidon2.DigestLen
	SizeState  = SizeM31 * poseidon2.Width
	SizeSum    = 32 // a sum in K that is being added up: four 64-bit words
)

// PermuteMany permutes n states of 16 M31 each, in place.
func PermuteMany(d Device, states Ptr, n int) error {
	k := poseidon2Kernel("permute_many")
	if err := positive(k, n); err != nil {
		return err
	}
	return launchFor(d, k, n, uint64(states), uint64(n))
}

// HashColumns absorbs the next rows of a matrix of `total` rows of M31, of which
// `absorbed` have been, into the leaf sponge of each column
// (poseidon2.ColumnHasher). Row r of these is at words + 4·r·stride. All calls but
// the last take a multiple of 8 rows; the last writes a digest for each column.
// state holds 64 bytes a column between calls; it may be 0 if there is one call.
func HashColumns(d Device, digests, state, words Ptr, stride, columns, rows, absorbed, total int) error {
	k := poseidon2Kernel("hash_columns")
	if err := positive(k, columns, rows, total); err != nil {
		return err
	}
	last := absorbed+rows == total
	if stride < columns || absorbed < 0 || absorbed%poseidon2.Rate != 0 || absorbed+rows > total || total >= field.P ||
		!last && rows%poseidon2.Rate != 0 || state == 0 && (absorbed > 0 || !last) {
		return fmt.Errorf("%w: %s of rows %d to %d of %d, %d columns with stride %d", ErrSize, k.Name, absorbed, absorbed+rows, total, columns, stride)
	}
	return launchFor(d, k, columns, uint64(digests), uint64(state), uint64(words),
		uint64(stride), uint64(columns), uint64(rows), uint64(absorbed), uint64(total))
}

// AbsorbDigests absorbs the digests of a group of rows, one for each of `columns`
// columns, into the group sponges of the columns' leaves (poseidon2.LeafHasher),
// which are of `groups` groups, two at least, and have absorbed `absorbed`. The last
// call writes the leaves, over the digests if they are the same. state holds
// SizeDigest bytes a column between calls.
func AbsorbDigests(d Device, leaves, state, digests Ptr, columns, absorbed, groups int) error {
	k := poseidon2Kernel("absorb_digests")
	if err := positive(k, columns, groups-1); err != nil {
		return err
	}
	if absorbed < 0 || absorbed >= groups || groups >= field.P {
		return fmt.Errorf("%w: %s of group %d of %d", ErrSize, k.Name, absorbed, groups)
	}
	return launchFor(d, k, columns, uint64(leaves), uint64(state), uint64(digests), uint64(columns), uint64(absorbed), uint64(groups))
}

// TreeDigests is the number of digests of a tree over 2^depth leaves.
func TreeDigests(depth int) int { return 2<<depth - 1 }

// TreeLayer is the index of the first digest of a layer, leaves being layer 0, in
// a tree over 2^depth leaves whose layers lie one after the other.
func TreeLayer(depth, layer int) int { return 2<<depth - 2<<(depth-layer) }

// MerkleTree fills the layers of a tree over 2^depth leaves, which lie at nodes.
func MerkleTree(d Device, nodes Ptr, depth int) error {
	for layer := range depth {
		dst, src := nodes.Offset(TreeLayer(depth, layer+1), SizeDigest), nodes.Offset(TreeLayer(depth, layer), SizeDigest)
		if err := MerkleLayer(d, dst, src, 1<<(depth-layer-1)); err != nil {
			return err
		}
	}
	return nil
}

// MerkleRoot sets dst to the root of the tree over 2^depth leaves without keeping
// the tree. scratch has room for 3·2^(depth−2) digests, or one.
func MerkleRoot(d Device, dst, leaves, scratch Ptr, depth int) error {
	if depth == 0 {
		return d.Copy(dst, leaves, SizeDigest)
	}
	src := leaves
	buffers := [2]Ptr{scratch, scratch.Offset(1<<(depth-1), SizeDigest)}
	for layer := range depth {
		to := buffers[layer%2]
		if layer == depth-1 {
			to = dst
		}
		if err := MerkleLayer(d, to, src, 1<<(depth-layer-1)); err != nil {
			return err
		}
		src = to
	}
	return nil
}

// MerkleLayer sets n digests at dst to the parents of the 2n at src
// (poseidon2.CompressMany), which they must not overlap.
func MerkleLayer(d Device, dst, src Ptr, n int) error {
	k := poseidon2Kernel("merkle_layer")
	if err := positive(k, n); err != nil {
		return err
	}
	return launchFor(d, k, n, uint64(dst), uint64(src), uint64(n))
}

// GatherDigests sets dst to the digests of src with the n indexes, 64 bits each.
func GatherDigests(d Device, dst, src, indexes Ptr, n int) error {
	k := poseidon2Kernel("gather_digests")
	if err := positive(k, n); err != nil {
		return err
	}
	return launchFor(d, k, n, uint64(dst), uint64(src), uint64(indexes), uint64(n))
}

// SearchNonce lowers the 64-bit number at best to the smallest of n nonces from
// `first` on that makes lane 0 of the permuted state zero under the mask (see
// transcript.NonceSearch). It leaves best alone if there is none.
func SearchNonce(d Device, best, state Ptr, first, n uint64, mask uint32) error {
	k := poseidon2Kernel("search_nonce")
	if n < 1 || n > 1<<30 {
		return fmt.Errorf("%w: %s over %d nonces", ErrSize, k.Name, n)
	}
	return launchFor(d, k, int(n), uint64(best), uint64(state), first, n, uint64(mask))
}
