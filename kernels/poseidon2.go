package kernels

import "github.com/prove-model/prove-model/prover/math/hash"

// Sizes in bytes of data that the kernels of this package read and write.
const (
	SizeM31    = 4
	SizeQM31   = 16
	SizeDigest = hash.DigestBytes
	SizeSum    = 32 // a sum over K that is not reduced: four 64-bit words
)

// PermuteMany permutes n states of 16 M31 each, in place.
func PermuteMany(d Device, states Ptr, n int) error {
	return Kernel{"poseidon2", "permute_many"}.of(n).each(d, n, uint64(states), uint64(n))
}
