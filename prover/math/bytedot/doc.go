// Package bytedot sums products of small integers and elements of K as sums of products of
// bytes. Integers are cut into planes of signed bytes ([Split]), elements of K are 16 bytes
// each, limb after limb, so that one instruction multiplies 64 pairs and adds them up. Sums
// of 32 bits hold [MaxColumns] products; they are put together modulo p once for all of them.
//
// Results are exact, whatever the instructions in use.
package bytedot

//go:generate go run -C ../../../scripts/asm ./bytedot -out ../../prover/math/bytedot/kernels_amd64.s -stubs ../../prover/math/bytedot/kernels_amd64.go -pkg bytedot
