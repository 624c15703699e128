// Package soundness computes how many bits of security each round of a proof
// has, and derives from that every query count, out-of-domain sample count and
// number of grinding bits of an opening (docs/security.md, "Bits per round").
//
// Everything is computed with integers: logarithms are fixed-point numbers rounded
// against the prover. A verifier computes the bits of the parameters that a proof
// states ([Check]), so they must come out the same on every machine, which floating
// point does not promise. How a prover chooses parameters ([Derive],
// [ChooseRowVars]) does not matter for soundness; it uses integers too, so that
// proofs have the same bytes everywhere.
package soundness
