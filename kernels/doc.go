// Package kernels holds the CUDA sources of the prover, and the Go functions that
// launch the kernels: typed functions that check all sizes, on a Device. A Device is a
// GPU or, in tests, the same sources compiled for the host (package shim).
//
// Data stays on the device between calls. Field elements are stored as in package
// field: an element of M31 in 4 bytes, one of QM31 in 16 bytes, aligned to 16, with its
// limbs in order. Comments write K for QM31.
package kernels
