// Package certify makes and verifies certificates of keys: proofs that the weights
// that a key commits to have the ranges and the sums that its static bounds rest on
// (docs/protocol.md, "Certificates"). Package bounds checks that the bounds follow from
// these.
//
// A certificate is an ordinary proof, for a second key that follows from the certified
// one: its circuit has the same fixed tensors under the same root, and looks up their
// entries and sums in range tables. So certificates need no protocol of their own.
package certify
