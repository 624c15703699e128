// Package soundness computes how many bits of security each round of a proof
// has, and derives from that every query count, out-of-domain sample count and
// number of grinding bits of an opening (docs/security.md, "Bits per round").
//
// Everything is computed with integers: logarithms are fixed-point numbers
// rounded against the prover. The parameters of an opening are a function of
// public sizes that the verifier computes again, so they must come out the same
// on every machine, which floating point does not promise.
package soundness
