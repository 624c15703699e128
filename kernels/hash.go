package kernels

import (
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/blake3"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poseidon2"
)

// keyed appends a BLAKE3 key to the arguments of a kernel, two 32-bit words in each argument.
func keyed(key *blake3.Key, args ...uint64) []uint64 {
	for i := 0; i < len(key); i += 2 {
		args = append(args, uint64(key[i])|uint64(key[i+1])<<32)
	}
	return args
}

// hasher returns the kernel for a suite: one of group poseidon2 or one of group blake3.
func hasher(suite hash.Suite, poseidon2, blake3 string) Kernel {
	if suite == hash.Blake3 {
		return Kernel{"blake3", blake3}
	}
	return Kernel{"poseidon2", poseidon2}
}

// ColumnState returns how many bytes HashColumns keeps for each column between calls, in addition to the column's
// digest.
func ColumnState(suite hash.Suite) int {
	if suite == hash.Poseidon2 {
		return SizeM31 * poseidon2.Width
	}
	return 0
}

// HashColumns absorbs rows of a matrix of M31 into a hash of each column (hash.Columns). The matrix has `total` rows, of
// which `absorbed` were absorbed by earlier calls. Row r of this call begins at words + 4·r·stride. All calls but the
// last absorb a multiple of the suite's RowsAtOnce rows; the last one writes a digest for each column.
//
// Between calls, state holds ColumnState bytes for each column, and the digests must not be changed either. state may be
// 0 if there is only one call, or if ColumnState is 0.
func HashColumns(d Device, suite hash.Suite, digests, state, words Ptr, stride, columns, rows, absorbed, total int) error {
	k := hasher(suite, "hash_columns", "blake3_columns")
	if err := positive(k, columns, rows, total); err != nil {
		return err
	}
	last, atOnce := absorbed+rows == total, suite.RowsAtOnce()
	if stride < columns || absorbed < 0 || absorbed%atOnce != 0 || absorbed+rows > total || len(suite.Groups(total)) > 1 ||
		!last && rows%atOnce != 0 || state == 0 && (absorbed > 0 || !last) && ColumnState(suite) > 0 {
		return fmt.Errorf("%w: %s of rows %d to %d of %d, %d columns with stride %d", ErrSize, k.Name, absorbed, absorbed+rows, total, columns, stride)
	}
	args := []uint64{uint64(words), uint64(stride), uint64(columns), uint64(rows), uint64(absorbed), uint64(total)}
	if suite == hash.Blake3 {
		return launchFor(d, k, columns, append([]uint64{uint64(digests)}, keyed(&blake3.KeyColumn, args...)...)...)
	}
	return launchFor(d, k, columns, append([]uint64{uint64(digests), uint64(state)}, args...)...)
}

// DigestState returns how many bytes AbsorbDigests keeps between calls for each leaf, if leaves have that many groups.
func DigestState(suite hash.Suite, groups int) int {
	if suite == hash.Poseidon2 {
		return SizeDigest
	}
	const perChunk = blake3.ChunkBytes / blake3.DigestBytes
	return (2 + bits.Len(uint((groups-1)/perChunk))) * SizeDigest
}

// AbsorbDigests absorbs the digests of a group of rows, one for each of `columns`
// columns, into the columns' leaves (hash.Leaves). A leaf has `groups` groups, at least
// two, of which `absorbed` were absorbed by earlier calls. If salted is set, the first
// of the groups is a salt (hash.Suite.NewSaltedLeaves). The last call writes the
// leaves, which may lie where the digests are. Between calls state holds DigestState
// bytes for each column.
func AbsorbDigests(d Device, suite hash.Suite, leaves, state, digests Ptr, columns, absorbed, groups int, salted bool) error {
	k := hasher(suite, "absorb_digests", "blake3_digests").of(columns, groups-1)
	k = k.unless(absorbed < 0 || absorbed >= groups || groups >= field.P, "of group %d of %d", absorbed, groups)
	args := []uint64{uint64(leaves), uint64(state), uint64(digests), uint64(columns), uint64(absorbed), uint64(groups)}
	key, salt := &blake3.KeyGroups, uint64(0)
	if salted {
		key, salt = &blake3.KeySaltedLeaf, 1
	}
	if suite == hash.Blake3 {
		return k.each(d, columns, keyed(key, args...)...)
	}
	return k.each(d, columns, append(args, salt)...)
}

// TreeDigests returns the number of digests of a Merkle tree over 2^depth leaves.
func TreeDigests(depth int) int { return 2<<depth - 1 }

// TreeLayer returns the index of the first digest of a layer in a tree over 2^depth
// leaves whose layers lie one after the other; layer 0 is the leaves.
func TreeLayer(depth, layer int) int { return 2<<depth - 2<<(depth-layer) }

// MerkleTree fills the upper layers of a tree over 2^depth leaves. The leaves lie at nodes, and the layers follow them.
func MerkleTree(d Device, suite hash.Suite, nodes Ptr, depth int) (err error) {
	defer must.Catch(&err)
	for layer := range depth {
		dst, src := nodes.Offset(TreeLayer(depth, layer+1), SizeDigest), nodes.Offset(TreeLayer(depth, layer), SizeDigest)
		must.OK(MerkleLayer(d, suite, dst, src, 1<<(depth-layer-1)))
	}
	return nil
}

// MerkleRoot sets dst to the root of the tree over 2^depth leaves without storing the
// tree. scratch is room for 3·2^(depth−2) digests, and for at least one.
func MerkleRoot(d Device, suite hash.Suite, dst, leaves, scratch Ptr, depth int) (err error) {
	defer must.Catch(&err)
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
		must.OK(MerkleLayer(d, suite, to, src, 1<<(depth-layer-1)))
		src = to
	}
	return nil
}

// MerkleLayer sets the n digests at dst to the parents (hash.Suite.Parents) of the 2n
// digests at src. The two must not overlap.
func MerkleLayer(d Device, suite hash.Suite, dst, src Ptr, n int) error {
	args := []uint64{uint64(dst), uint64(src), uint64(n)}
	if suite == hash.Blake3 {
		args = keyed(&blake3.KeyNode, args...)
	}
	return hasher(suite, "merkle_layer", "blake3_layer").of(n).each(d, n, args...)
}

// GatherDigests copies the n digests of src whose 64-bit indexes are given to dst.
func GatherDigests(d Device, dst, src, indexes Ptr, n int) error {
	return Kernel{"poseidon2", "gather_digests"}.of(n).each(d, n, uint64(dst), uint64(src), uint64(indexes), uint64(n))
}

// SearchNonce tries n nonces from first on for a proof of work (hash.Work.Try), whose state is at the address
// state. If one of them does the work, it lowers the 64-bit number at best to the smallest such nonce; else it
// leaves best unchanged.
func SearchNonce(d Device, work *hash.Work, best, state Ptr, first, n uint64) error {
	k := hasher(work.Suite, "search_nonce", "blake3_nonce")
	if n < 1 || n > 1<<30 || work.Bits < 1 || work.Bits > 31 {
		return fmt.Errorf("%w: %s over %d nonces for %d bits", ErrSize, k.Name, n, work.Bits)
	}
	args := []uint64{uint64(best), uint64(state), first, n, 1<<work.Bits - 1}
	if work.Suite == hash.Blake3 {
		args = keyed(&blake3.KeyWork, append(args[:len(args)-1], uint64(work.Bits))...)
	}
	return launchFor(d, k, int(n), args...)
}
