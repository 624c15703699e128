package forward

// rowLies says how rows along an axis lie in a tensor: parts of as many entries as are behind the axis, as many as there are before it,
// some entries apart.
type rowLies struct{ parts, size, apart int }

func liesOf(shape []int, axis int) rowLies {
	before, after := around(shape, axis)
	return rowLies{before, after, shape[axis] * after}
}

// row returns memory for a row of values: its own where it lies together, else room, which is made longer if need be; nil for no values.
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

// put puts a row that has been filled in its place among the values.
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
