// Package elementary has the elementary functions, with the same bits on every
// architecture. So tables and weights that are computed with them, and the keys
// made of these, do not depend on the machine. The functions of package math depend
// on it, as some architectures have assembly for them and some fuse products with
// sums.
//
// The package uses only IEEE 754 arithmetic in double precision, rounded to
// nearest: sums, quotients and square roots; math.FMA, which is exact by
// definition; and products inside a conversion, which the language forbids to fuse
// (a test checks that). The functions are computed in pairs of doubles, about a
// hundred bits, and rounded once: errors are below 0.501 units in the last place,
// where the result is not subnormal.
//
// Special cases are those of package math.
package elementary
