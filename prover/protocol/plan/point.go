package plan

// Coord names a coordinate of a point: a challenge of a sub-transcript, by the list
// of challenges that it is drawn in and its place there.
type Coord uint32

// indexBits is the number of bits for a place in a list: no tensor and no look-up tree
// has 2^indexBits variables or more.
const indexBits = 6

// coord returns the coordinate at a place of a list.
func coord(list, i int) Coord { return Coord(list<<indexBits | i) }

// List returns the list of challenges that the coordinate belongs to.
func (c Coord) List() int { return int(c >> indexBits) }

// Index returns its place in the list.
func (c Coord) Index() int { return int(c & (1<<indexBits - 1)) }

// Point is a point at which an MLE is evaluated. Its coordinates are names of challenges
// that are not drawn yet. Points with the same names are equal. Points with different names
// differ unless random challenges happen to be equal.
type Point []Coord

// Consecutive reports whether the coordinates follow each other in one list.
func (p Point) Consecutive() bool {
	for i, c := range p {
		if c != p[0]+Coord(i) || c.List() != p[0].List() {
			return false
		}
	}
	return true
}

// The lists of a sub-transcript's challenges. Batch i of sums has list FirstBatch +
// i.
const (
	LookUpPoint   = 0 // where the look-up tree ends
	JoinPoint     = 1 // where the sum over the steps that are cut ends
	EquationPoint = 2 // where exact and zero steps, or the outputs, are checked
	FirstBatch    = 3
)

// challenges returns the names of the last n challenges of a list; `of` is the length of
// the list.
func challenges(list, of, n int) Point {
	p := make(Point, n)
	for i := range p {
		p[i] = coord(list, of-n+i)
	}
	return p
}
