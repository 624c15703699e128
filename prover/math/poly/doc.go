// Package poly holds what the protocol needs of multilinear polynomials
// (MLEs): the table of eq(r, ·), evaluations of tables, and closed forms for
// the piecewise-linear tables whose evaluation the verifier computes itself.
//
// A table over {0,1}^n is indexed with variable 0 as the most significant bit,
// so that the coordinate r[0] of a point goes with the top bit of the index:
//
//	eq(r, i) = Π_j ( r[j] if bit n−1−j of i is set, else 1 − r[j] )
//	t~(r)    = Σ_i eq(r, i) · t[i]
//
// Tables shorter than 2^n stand for tables that are zero from there on.
package poly
