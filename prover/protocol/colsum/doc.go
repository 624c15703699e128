// Package colsum moves the end of a look-up tree to the columns of steps that are in
// several blocks of the tree (docs/protocol.md, "Look-ups").
//
// A look-up step's index space is cut into blocks of powers of two, which lie
// anywhere in the tree. The tree ends at a point z, and asks there for
//
//	T = Σ_s Σ_x E_s(x)·C_s(x) ,   E_s(x) = eq(z, the leaf of entry x of step s),
//
// C_s = key + β·out, over the steps s that are cut. Every block would have a point
// of its own; one sumcheck brings each step to one point. Its rounds are as many as
// the longest step has variables, N. A step of n variables is taken as a function of
// N variables that is zero unless the first N − n are, so that it needs no claim of
// its own: its term in a round that it waits in is (1 − X) times a constant. All
// steps end at the last coordinates of one point r, and the value left is
//
//	Σ_s Π_{j < N−n} (1 − r_j) · E_s~(last n of r) · C_s~(last n of r) ,
//
// which is checked by whoever evaluates the columns; [Weight] is E_s~, a sum over the
// blocks of s.
//
// What forces the value: T follows from what the tree ends in. A round polynomial has
// degree two in its variable, so that a wrong claim survives a round with probability
// 2/|K|.
//
// The prover does not make E_s and C_s as tables over K. With the axes of a step in
// two groups, rows x and columns y, E_s(x, y) is Σ_p F_p(x)·e_p(y), where p are the
// parts that the columns are cut into: a part's weights are those of the last bits of
// the tree, whatever the row. So the sum over the variables of rows is that of
// F_p(x)·G_p(x), where G_p(x) = Σ_{y in p} e_p(y)·C_s(x, y) is a pass over the
// integers; and the sum over those of columns is one of a table over columns with
// C_s bound to the rows' challenges, another pass.
package colsum
