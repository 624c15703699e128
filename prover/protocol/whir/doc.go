// Package whir opens committed stacks of small integers at many points at once:
// interleaved WHIR (2024/1586) over the circle code, with several first trees
// that share one tail (docs/protocol.md, "Openings").
//
// A tree commits to rows of one length. [Commit] encodes every row and hashes the
// columns of codewords, in groups of rows, into the leaves of a Merkle tree. The
// rows of all trees make up one table over {0,1}^NumVars. A row of this table is as
// long as the longest row of a tree; shorter rows share a table row ([Layout]). The
// table is zero where no tree has a row. [Open] proves
//
//	Σ_x Table(x)·Q(x) = value
//
// for a public functional Q given as a sum of [Term]s, each an eq table on a
// block, which is what evaluation claims on parts of a tree are.
//
// The proof, level by level:
//
//   - a sumcheck binds the row variables; the rows become one row f_0 over K and
//     the claim Σ f_0·Q_0 = v_0;
//   - f_0 is viewed as a few shorter rows, encoded at a lower rate and committed
//     to, or sent in the clear when it is short;
//   - the code positions that the verifier draws are opened in the level
//     before, where they give values of f_0's codeword: linear constraints on
//     f_0, joined to the claim with powers of a challenge;
//   - a sumcheck binds the row variables of the new level, and so on.
//
// With the last row in the clear the verifier checks the last positions
// directly and a last sumcheck leaves one evaluation of Q.
package whir
