// Package ints holds dense lists of signed integers in 1, 2 or 4 bytes each, the
// values of tensors: weights stay in the width that they need, in memory or in a
// mapped file, and are widened a block at a time where they meet wider numbers.
package ints

//go:generate go run -C ../../../scripts/asm ./ints -out ../../prover/math/ints/kernels_amd64.s -stubs ../../prover/math/ints/kernels_amd64.go -pkg ints
