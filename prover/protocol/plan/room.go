package plan

import "github.com/prove-model/prove-model/prover/circuit/model"

// room is memory that the many short lists of a sub-transcript share, of which each would be an allocation of its own.
type room struct {
	coords   []Coord
	points   []Point
	terms    []Term
	combined []Combined
	parts    []Point // for one list at a time
}

// pieceOfRoom is how many elements are allocated at once.
const pieceOfRoom = 1 << 9

// carve returns a list of n elements, which are zero.
func carve[T any](room *[]T, n int) []T {
	if n > len(*room) {
		*room = make([]T, max(n, pieceOfRoom))
	}
	list := (*room)[:n:n]
	*room = (*room)[n:]
	return list
}

// split cuts a point into one part an axis, as poly.SplitAxes. The parts are valid until the next call.
func (r *room) split(shape []int, at Point) []Point {
	r.parts = r.parts[:0]
	for _, d := range shape {
		n := model.Log2Ceil(d)
		r.parts, at = append(r.parts, at[:n:n]), at[n:]
	}
	return r.parts
}
