//go:build !amd64 || purego

package field

// Without assembly every prefix is empty and vec_generic.go does all the work.

func addVecFast(dst, a, b []M31) int                       { return 0 }
func subVecFast(dst, a, b []M31) int                       { return 0 }
func mulVecFast(dst, a, b []M31) int                       { return 0 }
func scaleVecFast(dst, a []M31, s M31) int                 { return 0 }
func fromInt32VecFast(dst []M31, src []int32) int          { return 0 }
func mulQM31VecFast(dst, a, b []QM31) int                  { return 0 }
func foldVecFast(dst, lo, hi []QM31, r QM31) int           { return 0 }
func foldM31VecFast(dst []QM31, lo, hi []M31, r QM31) int  { return 0 }
func mulAccVecFast(dst []QM31, a []M31, s QM31) int        { return 0 }
func mulAccInt32VecFast(dst []QM31, a []int32, s QM31) int { return 0 }
func embedVecFast(dst []QM31, a []M31) int                 { return 0 }
func subInt32VecFast(dst []QM31, a []int32, s QM31) int    { return 0 }
func eqStepFast(lo, hi []QM31, r QM31) int                 { return 0 }
func dotFast(a, b []QM31) (int, QM31)                      { return 0, Zero }
func dotM31Fast(a []M31, w []QM31) (int, QM31)             { return 0, Zero }
func dotInt32Fast(a []int32, w []QM31) (int, QM31)         { return 0, Zero }
