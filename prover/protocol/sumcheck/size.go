package sumcheck

// MaskedElements is Elements for a masked transcript.
func MaskedElements(shapes []Shape) int {
	n := Elements(shapes)
	for i := range shapes {
		if shapes[i].B != nil {
			n--
		}
	}
	return n
}

// Triples returns the numbers of the elements of a masked proof of which a verifier needs products, in its order:
// the two ends of every sum that has two.
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

// Elements returns how many elements of K a proof of these sums has. Claims, and
// the coordinates of eq points, do not matter.
func Elements(shapes []Shape) int {
	s := newSchedule(shapes)
	n := 2 * len(shapes)
	for _, degree := range s.degrees {
		n += degree
	}
	return n
}
