package lower

import (
	"fmt"
	"reflect"

	"github.com/prove-model/prove-model/graph"
)

// An operator is the entry of a type of operators in the table: how they are lowered, and
// what everything else asks about them. Nothing else goes by the type of an operator, so
// that a new one takes its entry alone.
type operator struct {
	// lower fills in acc, fn or id of the value that a node computes.
	// in are the operands; nil for constants.
	lower  func(l *lowering, v *value, in []*value)
	traits func(op graph.Op) Traits
}

// Traits are what else lowering and the choice of formats ask about an operator.
type Traits struct {
	moves   moves
	Product Product
	// Sums says that the result is a sum or a difference of two operands.
	Sums bool
	// linear says that the result is a sum of operands or a multiple of one, without
	// rounding: a product only if an operand is constant.
	linear bool
	// Means says that an operand of any width will do: a mean, a norm, the logarithm of
	// a power.
	Means                     bool
	Norm, Softmax, LogSoftmax bool
	// Powers says that it is the logarithm of a power, or of powers of bands.
	Powers bool
	// PerEntry says that an entry of the result is a function of the operands' entries in
	// the same place.
	PerEntry bool
	// jumps says that the result jumps, so that operands are to be as exact as they can be.
	jumps bool
	// rows says that a product is along the last axis of its first operand.
	rows bool
	// broadcasts reports whether an operand of that number and rank may have the
	// dimension 1 along an axis in place of a longer one; nil: none may.
	broadcasts func(operand, axis, rank int) bool
}

// moves tells what an operator does that computes nothing: entries of the result are
// entries of an operand.
type moves uint8

const (
	computes   moves = iota // it is no move
	rearranges              // all entries, in another order, or repeated
	keeps                   // all entries in their order
	selects                 // some entries, maybe more than once
	joins                   // the entries of several operands
	pads                    // the entries, and constants around them
)

// Product tells how an operator multiplies its two operands and sums.
type Product uint8

const (
	NoProduct      Product = iota
	MatMulProduct          // of matrices, or stacks of them
	gemmProduct            // of two matrices, plus a third
	ConvProduct            // of kernels and the windows of images
	expertsProduct         // of rows and the matrices of few experts of many
)

// operators is the table.
var operators = map[reflect.Type]operator{}

// register adds a type of operators to the table. Their traits may depend on their fields.
func register[Op graph.Op](lower func(l *lowering, op Op, v *value, in []*value), traitsOf func(Op) Traits) {
	t := reflect.TypeFor[Op]()
	if operators[t].lower != nil {
		panic(fmt.Sprintf("two entries for operator %v", t))
	}
	operators[t] = operator{
		func(l *lowering, v *value, in []*value) { lower(l, v.node.Op.(Op), v, in) },
		func(op graph.Op) Traits { return traitsOf(op.(Op)) },
	}
}

// always is for operators whose traits do not depend on their fields.
func always[Op graph.Op](t Traits) func(Op) Traits { return func(Op) Traits { return t } }

// operatorOf returns the entry of an operator. All that may be in a graph have one.
func operatorOf(op graph.Op) operator {
	entry, ok := operators[reflect.TypeOf(op)]
	if !ok {
		panic(fmt.Sprintf("operator %T has no entry in the table of lowerings", op))
	}
	return entry
}

// TraitsOf returns an operator's traits.
func TraitsOf(op graph.Op) Traits { return operatorOf(op).traits(op) }
