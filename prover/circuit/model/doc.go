// Package model holds the quantised graph: integer tensors, the linear views
// between them, the accumulators that operators compute, and the steps that
// both execute and constrain them (docs/protocol.md, "Quantised graph").
//
// All operators are written with few primitives, so that everything that can be
// executed can be proved:
//
//   - a tensor is public input, fixed (committed with the model), witness
//     (committed with the proof), by formula (a function of the index) or virtual
//     (a sum of views of other tensors, or a product of two);
//   - an accumulator is an integer constant plus views plus products
//     (einsum-like contractions) of tensors;
//   - a lookup step states that ((acc − lo)/2^shift, out) is a row of a table;
//   - an exact step states that an accumulator equals a witness tensor;
//   - a zero step states that an accumulator vanishes everywhere.
//
// The graph is public. The values of its fixed tensors are not part of it.
package model
