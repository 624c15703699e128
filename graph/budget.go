package graph

import "math"

// A model of 150 bytes can ask for any amount of memory or work: by a resize to a million
// entries, or by a product of matrices that are one number, expanded. So the builder counts
// what it makes itself, and what a run of the graph will take, before it makes anything.
// Both have to stay in proportion to the model's constants and inputs.
const (
	leastRoom = 1 << 24 // elements of folded constants and tables, for any model
	roomPer   = 4       // and for each element of the model's constants
	leastFold = 1 << 28 // operations on numbers while constants are folded, for any model
	foldPer   = 1 << 10 // and for each element of the model's constants
	leastWork = 1 << 36 // operations on numbers in a run, for any model
	workPer   = 1 << 20 // and for each element of the model's constants and inputs
	mostNodes = 1 << 18
	// bytesPerElement is the most memory that an element of room takes at a time.
	bytesPerElement = 32
)

// budget is what a builder may still make and ask for.
type budget struct {
	room, fold, work int
}

// constants adds what n elements of the model's own constants allow.
func (l *budget) constants(n int) {
	l.room = plus(l.room, times(n, roomPer))
	l.fold = plus(l.fold, times(n, foldPer))
	l.work = plus(l.work, times(n, workPer))
}

// take subtracts n from what is left; it returns false if there is less.
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

// Limit limits the memory of folding and tables to the given bytes, besides what the model's
// constants take. Call it before anything is made.
func (b *Builder) Limit(bytes int64) {
	b.room = min(b.room, int(bytes/bytesPerElement))
}

// Room counts the elements of a table into which an operator is expanded: the product of the
// sizes, which are not negative. It returns false, and records an error, if that many may
// not be made any more.
func (b *Builder) Room(sizes ...int) bool {
	n := product(sizes)
	if !b.spend(n) {
		b.Failf("it is written out with a table of %d elements: those of all operators are more than a model with constants of this size may ask for", n)
		return false
	}
	return true
}

// spend takes n elements from what folding and tables may make, or returns false.
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

// perElement is the number of multiplications of a matrix product that take as long as one
// element of another operator.
const perElement = 4

// product is the product of sizes that may be of any size, or the largest number there is.
func product(sizes []int) int {
	n := 1
	for _, d := range sizes {
		n = times(n, d)
	}
	return n
}
