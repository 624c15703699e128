// Package ints has lists of signed integers in 1, 2 or 4 bytes each: the
// values of tensors. Weights stay in the narrowest width that holds them, in memory or in a
// mapped file. They are widened a block at a time where 32-bit integers are needed.
package ints

//go:generate go run -C ../../../scripts/asm ./ints -out ../../prover/math/ints/kernels_amd64.s -stubs ../../prover/math/ints/kernels_amd64.go -pkg ints
