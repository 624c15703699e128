// Package reduce is the claim reduction: it reduces the constraints of a quantised
// graph to claims on committed tensors (docs/protocol.md, "Claim reduction"). A
// plan.Fork says what happens in which order. This package follows it, with one
// code for both roles: a prover's Role computes and sends each value, a verifier's
// receives it, and both draw the same challenges. The prover checks what the
// verifier checks. After the first error a Role does nothing more (Role.Err).
package reduce
