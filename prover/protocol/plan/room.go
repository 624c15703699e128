package plan

import "github.com/prove-model/prove-model/prover/circuit/model"

// room is memory for the many short lists of a sub-transcript. They are carved out of larger allocations, as an allocation for
// each would take long.
type room struct {
	coords   []Coord
	points   []Point
	terms    []Term
	combined []Combined
	parts    []Point // for one list at a time, which is overwritten by the next
}

// pieceOfRoom is how many elements are allocated at once.
const pieceOfRoom = 1 << 9

// carve returns a list of n zero elements. It takes them from the beginning of room, or from a new piece if there are not enough.
func carve[T any](room *[]T, n int) []T {
	if n > len(*room) {
		*room = make([]T, max(n, pieceOfRoom))
	}
	list := (*room)[:n:n]
	*room = (*room)[n:]
	return list
}

// split cuts a point into one part for each axis, as poly.SplitAxes does. The parts are valid until r.parts is used again.
func (r *room) split(shape []int, at Point) []Point {
	r.parts = r.parts[:0]
	for _, d := range shape {
		n := model.Log2Ceil(d)
		r.parts, at = append(r.parts, at[:n:n]), at[n:]
	}
	return r.parts
}
