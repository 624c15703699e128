package logup

// Elements returns how many elements of K a proof over 2^numVars fractions has.
func Elements(numVars int) int {
	if numVars == 0 {
		return 2
	}
	// Four a layer, and two a round in the layers below the first.
	return 4*numVars + numVars*(numVars-1)
}

// MaskedElements is Elements for a masked transcript, in which the denominator of the sum and its inverse are sent.
func MaskedElements(numVars int) int {
	if numVars == 0 {
		return 3
	}
	return Elements(numVars) + 2
}

// Triples returns the pairs of elements of a masked proof, by their numbers, of which the verifier needs the product, in the order in
// which it needs them: n0·d1, n1·d0 and d0·d1 of every layer, and the denominator of the sum times its inverse.
func Triples(numVars int) [][2]int {
	if numVars == 0 {
		return [][2]int{{1, 2}}
	}
	var list [][2]int
	at := 0
	for k := range numVars {
		at += 2 * k // of the layer's rounds
		list = append(list, [2]int{at, at + 3}, [2]int{at + 1, at + 2}, [2]int{at + 2, at + 3})
		at += 4
		if k == 0 {
			list = append(list, [2]int{at, at + 1})
			at += 2
		}
	}
	return list
}
