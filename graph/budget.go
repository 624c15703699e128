package graph

import "math"

// A model of 150 bytes can ask for any amount of memory or work: a resize to a million
// entries, a product of matrices that one number was spread to. So what a builder makes by
// itself, and what a run of the graph will take, is counted before it is made, and stays in
// proportion to the model's constants and inputs.
const (
	leastRoom = 1 << 24 // elements of folded constants and tables, for any model
	roomPer   = 4       // and for each element of the model's constants
	leastFold = 1 << 28 // operations on numbers while constants are folded, for any model
	foldPer   = 1 << 10 // and for each element of the model's constants
	leastWork = 1 << 36 // operations on numbers in a run, for any model
	workPer   = 1 << 20 // and for each element of the model's constants and inputs
	mostNodes = 1 << 18
	// An element of room takes up to so many bytes at a time.
	bytesPerElement = 32
)

// budget is what a builder may still make and ask for.
type budget struct {
	room, fold, work int
}

func newBudget() budget { return budget{leastRoom, leastFold, leastWork} }

// constants adds what n elements of the model's own constants allow.
func (l *budget) constants(n int) {
	l.room = plus(l.room, times(n, roomPer))
	l.fold = plus(l.fold, times(n, foldPer))
	l.work = plus(l.work, times(n, workPer))
}

// take takes n from what is left, if there is as much.
func take(left *int, n int) bool {
	if n > *left {
		return false
	}
	*left -= n
	return true
}

// plus and times are sum and product of numbers that are not negative, or the largest there
// is.
func plus(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

func times(a, b int) int {
	if b > 0 && a > math.MaxInt/b {
		return math.MaxInt
	}
	return a * b
}

// Limit has folding and tables keep to so many bytes of memory, beside what the model's
// constants take. It is called before anything is made.
func (b *Builder) Limit(bytes int64) {
	b.room = min(b.room, int(bytes/bytesPerElement))
}

// Room counts elements of a table that an operator is written out with, as many as the
// product of the sizes, which are not negative. It says whether that many may still be made;
// if not, it notes an error.
func (b *Builder) Room(sizes ...int) bool {
	n := 1
	for _, d := range sizes {
		n = times(n, d)
	}
	if !b.spend(n) {
		b.Failf("it is written out with a table of %d elements: those of all operators are more than a model with constants of this size may ask for", n)
		return false
	}
	return true
}

// spend takes n elements from what folding and tables may make, or returns false.
func (b *Builder) spend(n int) bool { return take(&b.room, n) }

// work is about how many operations on numbers an operator takes.
func work(op Op, in []operandType, out []int) int {
	n := Size(out)
	switch op := op.(type) {
	case Gemm:
		k := in[0].shape[1]
		if op.TransA {
			k = in[0].shape[0]
		}
		return times(n, k)
	case MatMul:
		return times(n, in[0].shape[len(in[0].shape)-1])
	case Conv:
		return times(n, Size(in[1].shape[1:]))
	case MaxPool:
		return times(n, product(op.Kernel))
	case AveragePool:
		return times(n, product(op.Kernel))
	case Forest:
		return times(n, len(op.Branches)+len(op.Roots))
	case Reshape, Identity, Convert:
		return 0
	}
	for _, t := range in {
		n = plus(n, Size(t.shape))
	}
	return times(n, perElement)
}

// perElement is how many products of a matrix take as long as an element of another
// operator.
const perElement = 4

// product is the product of sizes that may be of any size, or the largest number there is.
func product(sizes []int) int {
	n := 1
	for _, d := range sizes {
		n = times(n, d)
	}
	return n
}
