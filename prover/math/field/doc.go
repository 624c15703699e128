// Package field implements the Mersenne-31 prime field F = F_p, p = 2^31 − 1,
// its complex extension CM31 = F(i), i² = −1, and the degree-four extension
// K = QM31 = CM31(u), u² = 2 + i, from which all challenges are drawn
// (docs/protocol.md, "Field and code").
//
// Elements are always canonical: a limb is an integer in [0, p). Readers of
// proofs check this (transcript.Reader); everything here relies on it.
//
// Vectors of M31 and tables of QM31 (an array of structures, 16 bytes an
// element) have the operations in vec.go and rounds.go, with AVX2 and AVX-512
// kernels that scripts/asm generates.
package field

//go:generate go run -C ../../../scripts/asm ./field -out ../../prover/math/field/kernels_amd64.s -stubs ../../prover/math/field/kernels_amd64.go -pkg field
