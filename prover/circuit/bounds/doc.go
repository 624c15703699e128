// Package bounds shows that a circuit's arithmetic modulo p is that of the
// integers, for all inputs within their ranges (docs/security.md, "Static bounds").
// It needs only the circuit and what a certificate says of its fixed tensors.
//
// It is interval arithmetic, step by step in order. The intervals of the tensors that
// a step reads give an interval of its accumulator. That must be narrow enough for
// the step's constraint modulo p to hold over the integers too, and gives intervals of
// the step's results. The ranges that a key declares for computed tensors are not
// relied on, as the key may be hostile.
package bounds
