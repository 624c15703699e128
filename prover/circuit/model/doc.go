// Package model holds the quantised graph: integer tensors, the linear views
// between them, the accumulators that operators compute, and the steps that
// both execute and constrain them (docs/protocol.md, "Quantised graph").
//
// Everything an operator does is written with very few primitives, so that
// whatever can be executed can be proved:
//
//   - a tensor is public input, fixed (committed with the model), witness
//     (committed with the proof) or virtual (a sum of views of other tensors);
//   - an accumulator is an integer constant plus views plus products
//     (einsum-like contractions) of tensors;
//   - a lookup step states that ((acc − lo)/2^shift, out) is a row of a table;
//   - a zero step states that an accumulator vanishes everywhere.
//
// The graph is public. Its weights are not part of it.
package model
