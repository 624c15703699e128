// Package elementary has the elementary functions, with the same bits on every
// architecture: tables and weights that are computed with them, and so keys, do
// not depend on the machine. Those of package math do, as some architectures have
// assembly for them and some fuse products with sums.
//
// Nothing here is but IEEE 754 arithmetic in double precision, rounded to nearest:
// sums, quotients and square roots, math.FMA, which is exact by definition, and
// products that stand in a conversion, which the language forbids to fuse. (A
// test sees to that.) The functions are computed in pairs of doubles, about a
// hundred bits, and rounded once: errors are below 0.501 units in the last
// place, where the result is not subnormal.
//
// Special cases are those of package math.
package elementary
