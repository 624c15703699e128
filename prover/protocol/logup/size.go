package logup

// Elements returns how many elements of K a proof over 2^numVars fractions has.
func Elements(numVars int) int {
	if numVars == 0 {
		return 2
	}
	// Four a layer, and two a round in the layers below the first.
	return 4*numVars + numVars*(numVars-1)
}
