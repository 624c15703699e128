package plan

// Coord names a coordinate of a point: a challenge of a fork, by the list of
// challenges that it is drawn in and its place there.
type Coord uint32

// indexBits is enough for the places of a list: no tensor has more variables, nor
// has a look-up tree.
const indexBits = 6

// coord returns the coordinate at a place of a list.
func coord(list, i int) Coord { return Coord(list<<indexBits | i) }

// List returns the list of challenges that the coordinate belongs to.
func (c Coord) List() int { return int(c >> indexBits) }

// Index returns its place in the list.
func (c Coord) Index() int { return int(c & (1<<indexBits - 1)) }

// Point is where an MLE is evaluated, before the challenges are drawn. Two points
// of the same names are the same point; others differ but with the probability
// that random challenges are equal.
type Point []Coord

// Consecutive says whether the coordinates are neighbours in one list, in its order.
func (p Point) Consecutive() bool {
	for i, c := range p {
		if c != p[0]+Coord(i) || c.List() != p[0].List() {
			return false
		}
	}
	return true
}

// The lists of a fork's challenges. A batch of sums has the list FirstBatch plus
// its number.
const (
	LookUpPoint   = 0 // where the look-up tree ends
	JoinPoint     = 1 // where the sum over the steps that are cut ends
	EquationPoint = 2 // where exact and zero steps, or the outputs, are checked
	FirstBatch    = 3
)

// challenges returns the last n names of a list of length of.
func challenges(list, of, n int) Point {
	p := make(Point, n)
	for i := range p {
		p[i] = coord(list, of-n+i)
	}
	return p
}
