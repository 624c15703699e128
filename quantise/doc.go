// Package quantise turns a floating-point graph (package graph) into a
// quantised one (package model): integers with a power-of-two scale per
// tensor, static bounds proved from the actual weights, every rounding and
// clamp a table look-up (docs/quantisation.md).
//
// It is a package apart from model because the verifier imports model and
// must not import float models.
//
// What other packages call is here: Quantise with given formats, Choose to search for them, and reports. Package
// precision searches, lower lowers operators, weights rounds constants, and fixed makes the
// circuit.
package quantise
