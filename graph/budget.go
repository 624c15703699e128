package graph

import "math"

// A model of 150 bytes can ask for any amount of memory or work: by a resize to a million
// entries, or by a product of matrices each of which is one number, expanded. So the
// builder counts what it makes itself, and the work of a run of the graph, before it makes
// anything. Both must stay in proportion to the model's constants and inputs: for each
// limit there is an amount that every model has (least…), and one for each element (…Per).
const (
	leastRoom = 1 << 24 // elements of folded constants and tables, for any model
	roomPer   = 4       // and for each element of the model's constants
	leastFold = 1 << 28 // operations on numbers while constants are folded, for any model
	foldPer   = 1 << 10 // and for each element of the model's constants
	leastWork = 1 << 36 // operations on numbers in a run, for any model
	workPer   = 1 << 20 // and for each element of the model's constants and inputs
	mostNodes = 1 << 18 // nodes of a graph
	// bytesPerElement is the largest number of bytes that an element counted by room takes
	// at any time.
	bytesPerElement = 32
)

// budget is what a builder may still use: elements of folded constants and tables (room),
// operations while constants are folded (fold), and operations of a run (work).
type budget struct {
	room, fold, work int
}

// constants raises the budget for n elements of the model's own constants.
func (l *budget) constants(n int) {
	l.room = plus(l.room, times(n, roomPer))
	l.fold = plus(l.fold, times(n, foldPer))
	l.work = plus(l.work, times(n, workPer))
}

// take subtracts n from what is left. If less than n is left, it returns false.
func take(left *int, n int) bool {
	if n > *left {
		return false
	}
	*left -= n
	return true
}

// plus and times return the sum and the product of numbers that are not negative, or MaxInt
// if that overflows.
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

// Limit limits the memory of folded constants and tables to the given number of bytes. The
// model's own constants do not count. Limit must be called before anything is made.
func (b *Builder) Limit(bytes int64) {
	b.room = min(b.room, int(bytes/bytesPerElement))
}

// Room charges the elements of a table, into which an operator is expanded, to the budget.
// Their number is the product of the sizes, which are not negative. If the budget does not
// have that many left, Room records an error and returns false.
func (b *Builder) Room(sizes ...int) bool {
	n := product(sizes)
	if !b.spend(n) {
		b.Failf("it is written out with a table of %d elements: those of all operators are more than a model with constants of this size may ask for", n)
		return false
	}
	return true
}

// spend takes n elements from the budget for folded constants and tables, or returns
// false.
func (b *Builder) spend(n int) bool { return take(&b.room, n) }

// work estimates the number of arithmetic operations that an operator takes.
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
	case Experts:
		return times(n, in[1].shape[2])
	case MixSlots:
		return Size(in[0].shape)
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

// perElement is the cost of an element of other operators, in multiplications of a matrix
// product that take as long.
const perElement = 4

// product is the product of any sizes that are not negative, or MaxInt if that overflows.
func product(sizes []int) int {
	n := 1
	for _, d := range sizes {
		n = times(n, d)
	}
	return n
}
