// Package field implements the Mersenne-31 prime field F = F_p, p = 2^31 − 1,
// its complex extension CM31 = F(i), i² = −1, and the degree-four extension
// K = QM31 = CM31(u), u² = 2 + i, from which all challenges are drawn
// (docs/protocol.md, "Field and code").
//
// Elements are always canonical: a limb is an integer in [0, p). Functions
// that take limbs from outside check this; everything else relies on it.
package field
