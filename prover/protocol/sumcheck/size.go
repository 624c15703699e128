package sumcheck

// MaskedElements is Elements for a masked transcript, in which ends that the verifier can compute
// (Shape.B) are not sent.
func MaskedElements(shapes []Shape) int {
	n := Elements(shapes)
	for i := range shapes {
		if shapes[i].B != nil {
			n--
		}
	}
	return n
}

// Triples returns the pairs of elements of a masked proof, by their numbers, of which the verifier needs the product, in the order in
// which it needs them: the ends of A and B of every sum for which both are sent.
func Triples(shapes []Shape) [][2]int {
	s := newSchedule(shapes)
	at := 0
	for _, degree := range s.degrees {
		at += degree
	}
	var list [][2]int
	for i := range shapes {
		if at++; shapes[i].B == nil {
			list = append(list, [2]int{at - 1, at})
			at++
		}
	}
	return list
}

// Elements returns how many elements of K a proof of these sums has. It depends on the
// numbers of variables and of eq coordinates alone.
func Elements(shapes []Shape) int {
	s := newSchedule(shapes)
	n := 2 * len(shapes)
	for _, degree := range s.degrees {
		n += degree
	}
	return n
}
