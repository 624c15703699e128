package sumcheck

// Elements returns how many elements of K a proof of these sums has. Claims, and
// the coordinates of eq points, do not matter.
func Elements(shapes []Shape) int {
	s := newSchedule(shapes)
	n := 2 * len(shapes)
	for round := range s.rounds {
		n += s.degree(round)
	}
	return n
}
