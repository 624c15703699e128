// Package sites reduces the constraints of a quantised graph to claims on
// committed tensors (docs/protocol.md, "Sites"). The reduction is written
// once for both parties: a Party either computes and sends each value, or
// receives it, and draws the same challenges; what the verifier checks, the
// prover checks too. Errors of either side stick, and stop it (Party.Err).
package sites
