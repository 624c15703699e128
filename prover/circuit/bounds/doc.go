// Package bounds shows that a circuit's arithmetic modulo p is that of the
// integers, whatever its inputs are, from the circuit and from what a certificate
// says of its fixed tensors (docs/security.md, "Static bounds").
//
// It is interval arithmetic, step by step in their order: from intervals of the
// tensors that a step reads follows one of its accumulator, which must be narrow
// enough for the step's constraint modulo p to be the same over the integers, and
// from that follow intervals of the step's results. Nothing that the key declares
// of a computed tensor is relied on.
package bounds
