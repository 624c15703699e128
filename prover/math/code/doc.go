// Package code implements the circle code of docs/protocol.md, "Field and
// code": Reed–Solomon over x-coordinates of the circle group of M31, with an
// encoder that is a Chebyshev FFT.
//
// A table c over {0,1}^n is the polynomial
//
//	f(x) = Σ_b c_b · Π_j t_j^{b_j},   t_0 = x,  t_{j+1} = 2·t_j² − 1,
//
// where b_j is bit j of the index b, the lowest first. t_j has degree 2^j in
// x, so the basis has one element of each degree below 2^n and the codewords
// are those of the Reed–Solomon code of dimension 2^n on the domain's points.
//
// With f(x) = even(t_1) + x·odd(t_1), the folded polynomial (1−r)·even + r·odd
// belongs to the table (1−r)·c_{b,0} + r·c_{b,1}: folding a codeword fixes a
// variable of the multilinear extension of c. Evaluation at z is the linear
// functional with the product weights Π_j t_j(z)^{b_j}.
package code

//go:generate go run -C ../../../scripts/asm ./code -out ../../prover/math/code/kernels_amd64.s -stubs ../../prover/math/code/kernels_amd64.go -pkg code
