// Package reduce reduces the constraints of a quantised graph to claims on
// committed tensors (docs/protocol.md, "Sites"). What happens in which order is
// data, a plan.Fork; it is followed here once for both parties: a Party either
// computes and sends each value, or receives it, and draws the same challenges.
// What the verifier checks, the prover checks too. Errors of either side stick,
// and stop it (Party.Err).
package reduce
