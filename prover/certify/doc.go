// Package certify makes and verifies certificates of keys: proofs that the weights
// that a key commits to have the ranges and the sums that static bounds need
// (docs/protocol.md, "Certificates"). What follows from these is for package bounds.
//
// A certificate is an ordinary proof, for a key that follows from the one that is
// certified: its circuit has the same fixed tensors under the same root, and looks
// their entries and sums up in ranges. So no protocol is its own.
package certify
