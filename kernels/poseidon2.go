package kernels

import "github.com/prove-model/prove-model/prover/math/hash"

func poseidon2Kernel(name string) Kernel { return Kernel{"poseidon2", name} }

// Sizes in bytes of what this package's kernels read and write.
const (
	SizeM31    = 4
	SizeQM31   = 16
	SizeDigest = hash.DigestBytes
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
