// Package cache keeps what takes long to make on disk between runs: ranges of a
// model's values, quantised models, and commitments, which are the key and the Merkle
// layers of the fixed tensors. They are found by a hash of what they were made from. A
// damaged entry counts as absent. The checksum detects accidents, not
// an adversary who can write to the user's own cache folder; what such an entry
// could do is make proofs fail.
package cache
