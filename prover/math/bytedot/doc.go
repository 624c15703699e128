// Package bytedot computes sums of products of small integers and elements of K from sums of products of bytes. Integers are cut
// into planes of signed bytes ([Split]), and elements of K into 16 bytes each, limb after limb, so that one instruction multiplies
// 64 pairs of bytes and adds the products up. Up to [MaxColumns] products are summed in 32 bits. Only then are the sums for the 16
// bytes combined modulo p.
//
// Results are exact, whatever the instructions in use.
package bytedot

//go:generate go run -C ../../../scripts/asm ./bytedot -out ../../prover/math/bytedot/kernels_amd64.s -stubs ../../prover/math/bytedot/kernels_amd64.go -pkg bytedot
