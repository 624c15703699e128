//go:build !amd64 || purego

package field

// Without assembly every prefix is empty and rounds_generic.go does all the work.

func roundSumsFast(a, b Halves) (n int, zero, top QM31)                        { return 0, Zero, Zero }
func roundSumsWeightedFast(w []QM31, a, b Halves) (n int, zero, top QM31)      { return 0, Zero, Zero }
func fractionRoundSumsFast(w []QM31, n0, n1, d0, d1 Halves) (n int, z, t QM31) { return 0, Zero, Zero }
func addFractionsFast(num, den, n0, n1, d0, d1 []QM31) int                     { return 0 }
func addFractionsM31Fast(num, den []QM31, n0, n1 []M31, d0, d1 []QM31) int     { return 0 }
func mulAccQM31VecFast(dst, a []QM31, s QM31) int                              { return 0 }
