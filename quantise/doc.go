// Package quantise turns a floating-point graph (package graph) into a
// quantised one (package model): integers with a power-of-two scale per
// tensor, static bounds proved from the actual weights, every rounding and
// clamp a table look-up (docs/quantisation.md).
//
// It is a package apart from model because the verifier imports model and
// must not import float models.
//
// Lowering is lazy. A node's value starts as a pending accumulator or as a
// function of an earlier value, and is committed only when something needs
// its entries: so a convolution, its bias and the activation after it become
// one look-up, and a chain of element-wise functions of one value becomes one
// table.
package quantise
