// Package colsum proves the column sum: it reduces the value at the end of a look-up
// tree to values of those steps' columns that lie in several blocks of the tree
// (docs/protocol.md, "Look-ups").
//
// A look-up step's index space is cut into blocks of powers of two, which lie
// anywhere in the tree. At the point z where the tree ends, the verifier needs
//
//	T = Σ_s Σ_x E_s(x)·C_s(x) ,   E_s(x) = eq(z, the leaf of entry x of step s),
//
// C_s = key + β·out, over the steps s that are cut into several blocks. Without this
// sum, every block would need a value at a point of its own; one sumcheck reduces
// them to one point for each step. It has N rounds, N being the number of variables
// of the longest step. A step of n variables counts as a function of N variables that
// is zero unless the first N − n variables are zero. So its part of a round polynomial
// in the first N − n rounds is (1 − X) times a constant, and its sum need not be sent by
// itself. All steps end at the last coordinates of one point r, and the value left is
//
//	Σ_s Π_{j < N−n} (1 − r_j) · E_s~(last n of r) · C_s~(last n of r) ,
//
// which the caller checks when it has the values of the columns. [Weights] gives
// E_s~, a sum over the blocks of s.
//
// What forces the value: T follows from the values at the end of the tree. A round
// polynomial has degree two, so a wrong claim survives a round with probability
// 2/|K|.
//
// The prover does not build E_s and C_s as tables over K. It views a step as a matrix:
// the first axes number the rows x and the others the columns y. (One axis may be divided
// between the two, see model.Splits.) The columns are cut into parts p, as a tensor is cut
// into blocks. Then E_s(x, y) = Σ_p F_p(x)·e_p(y): in part p the last bits of an entry's leaf
// number its column, in every row, so e_p is eq at the last coordinates of z.
//
// The rounds over the variables of rows are those of Σ_p Σ_x F_p(x)·G_p(x) with
// G_p(x) = Σ_{y in p} e_p(y)·C_s(x, y). One pass over the integers of the step gives G_p.
// The rounds over the variables of columns are those of a sum over columns. For these a
// second pass over the integers binds the rows of C_s to their challenges.
package colsum
