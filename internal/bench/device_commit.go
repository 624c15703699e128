package bench

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/poseidon2"
)

// hashDeviceKernels measures permutations and hashes. Some inputs are not valid field
// elements; these take as long.
func hashDeviceKernels(b *deviceBench) {
	const depth, columns, rows, nonces = 25, 1 << 20, 64, 1 << 20
	states := b.elements(1 << depth * kernels.SizeDigest / elementBytes)
	b.kernel("Poseidon2 permutation", "permutation", 1<<(depth-1), 0, func() error {
		return kernels.PermuteMany(b.dev, states, 1<<(depth-1))
	})
	nodes := b.alloc(kernels.TreeDigests(depth) * kernels.SizeDigest)
	must.OK(b.dev.Copy(nodes, states, kernels.SizeDigest<<depth))
	b.kernel("Merkle tree of 2^25", "leaf", 1<<depth, 0, func() error {
		return kernels.MerkleTree(b.dev, hash.Poseidon2, nodes, depth)
	})
	b.kernel("Merkle tree of 2^25, blake3", "leaf", 1<<depth, 0, func() error {
		return kernels.MerkleTree(b.dev, hash.Blake3, nodes, depth)
	})
	scratch := b.alloc(kernels.SizeDigest << depth)
	b.kernel("Merkle root of 2^25", "leaf", 1<<depth, 0, func() error {
		return kernels.MerkleRoot(b.dev, hash.Poseidon2, scratch, nodes, scratch.Offset(1, kernels.SizeDigest), depth)
	})
	b.kernel("column hashing, 64 rows", "permutation", columns*rows/poseidon2.Rate, 0, func() error {
		return kernels.HashColumns(b.dev, hash.Poseidon2, scratch, 0, nodes, columns, columns, rows, 0, rows)
	})
	const group = 256 // rows; there are fewer columns, so that as many bytes are read
	b.kernel("column hashing, 256 rows, blake3", "value", columns*rows, columns*rows*kernels.SizeM31, func() error {
		return kernels.HashColumns(b.dev, hash.Blake3, scratch, 0, nodes, columns*rows/group, columns*rows/group, group, 0, group)
	})
	b.kernel("search for a nonce", "permutation", nonces, 0, func() error {
		return kernels.SearchNonce(b.dev, &hash.Work{Suite: hash.Poseidon2, Bits: 31}, scratch, states, 0, nonces)
	})
}

// codeDeviceKernels measures the encoding of rows of several lengths. Bytes counts
// table and codeword, each once.
func codeDeviceKernels(b *deviceBench) {
	for _, vars := range []int{12, 16, 20, 22, 23} {
		const blowup, all = 2, 26
		rows := 1 << (all - vars)
		twiddles := b.alloc(kernels.SizeM31 << (vars + blowup))
		must.OK(kernels.Twiddles(b.dev, twiddles, vars+blowup))
		table, words := b.random(1<<(all-1)), b.alloc(kernels.SizeM31<<(all+blowup))
		bytes := kernels.SizeM31 * (1<<all + 1<<(all+blowup))
		b.kernel(fmt.Sprintf("encode rows of 2^%d at rate 1/4", vars), "output", 1<<(all+blowup), bytes, func() error {
			return kernels.Encode(b.dev, words, table, twiddles, rows, vars, vars+blowup)
		})
		b.free()
	}
}

// pairKernels measures a round of an opening.
func pairKernels(b *deviceBench) {
	const vars = 24
	f, q, sums := b.elements(1<<vars), b.elements(1<<vars), b.alloc(2*kernels.SizeSum)
	b.kernel("opening: fold + round", "entry", 2<<vars, 2<<vars*elementBytes*3/2, func() error {
		return kernels.PairBind(b.dev, f, q, 1<<vars, challenge, kernels.Kept(sums))
	})
}

// commitSteps measures a commitment to 2^26 bytes, and its opening.
func commitSteps(b *deviceBench) { b.opening(26) }

// fixedOnly is a witness that consists of fixed tensors.
type fixedOnly []ints.Ints

// Fixed implements backend.Witness.
func (f fixedOnly) Fixed(id model.TensorID) ints.Ints { return f[id] }

// Tensor implements backend.Witness.
func (fixedOnly) Tensor(model.TensorID) []int32 { panic("bench: a model without activations") }

// StepKeys implements backend.Witness.
func (fixedOnly) StepKeys(int) []int32 { panic("bench: a model without look-ups") }
