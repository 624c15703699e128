package forward

// rowLies says where the entries of a row along an axis are in a dense tensor: in parts pieces of size adjacent entries each. Piece b of
// row at begins at b·apart + at·size.
type rowLies struct{ parts, size, apart int }

// liesOf returns the rowLies of a tensor of this shape.
func liesOf(shape []int, axis int) rowLies {
	before, after := around(shape, axis)
	return rowLies{before, after, shape[axis] * after}
}

// row returns memory in which row at of values can be computed. If the row is one piece, that is its place in values; otherwise it is room,
// which is made longer if need be, and put copies it. The result is nil if values is.
func (l *rowLies) row(values []int32, at int, room *[]int32) []int32 {
	n := l.parts * l.size
	switch {
	case values == nil:
		return nil
	case l.parts == 1:
		return values[at*n:][:n]
	case cap(*room) < n:
		*room = make([]int32, n)
	}
	return (*room)[:n]
}

// put copies a row that has been computed, in the memory that row returned, to its place in values.
func (l *rowLies) put(values []int32, at int, row []int32) {
	if values == nil || l.parts == 1 {
		return
	}
	if l.size == 1 {
		for b := range l.parts {
			values[b*l.apart+at] = row[b]
		}
		return
	}
	for b := range l.parts {
		copy(values[b*l.apart+at*l.size:][:l.size], row[b*l.size:])
	}
}
