// Package kernels holds the CUDA sources of the prover and what launches them:
// typed functions that check every size, over a Device. A Device is a GPU, or
// in tests the same sources compiled for the host.
//
// Data stays on the device between calls. Field elements are stored as in
// package field: M31 in 4 bytes, QM31 in 16, aligned to 16, limbs in order.
package kernels
