// Package cache keeps results that take long to compute on disk between runs: ranges of a
// model's values, quantised models, and commitments (the key and the Merkle layers of the
// fixed tensors). An entry is found by a hash of everything that it was made from (ID). A
// damaged entry counts as absent. The checksum detects accidents, not an adversary who can
// write to the user's cache folder; such an adversary can make proofs fail, and nothing more.
package cache
