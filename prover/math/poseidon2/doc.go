// Package poseidon2 implements the Poseidon2 permutation (2023/323) over M31
// with width 16, S-box x^5, 8 external and 14 internal rounds, and what the
// proof system hashes with it: the two-to-one compression of Merkle trees, the
// sponges of their leaves, and the transcript (docs/protocol.md, "Hash and transcript").
//
// Permute takes one state; it has an AVX-512 version. PermuteMany, CompressMany,
// ColumnHasher and LeafHasher take sixteen states at a time through a kernel that
// has AVX2 and AVX-512 versions.
package poseidon2

//go:generate go run -C ../../../scripts/asm ./poseidon2 -out ../../prover/math/poseidon2/kernels_amd64.s -stubs ../../prover/math/poseidon2/kernels_amd64.go -pkg poseidon2
