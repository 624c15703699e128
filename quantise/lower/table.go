package lower

import (
	"fmt"
	"reflect"

	"github.com/prove-model/prove-model/graph"
)

// An operator is the entry of one type of graph.Op in the table: how such operators are lowered, and
// what other code asks about them. Other code tests for the type of an operator in few places, so
// that a new operator usually needs nothing but its entry.
type operator struct {
	// lower fills in acc, fn or id of the value that a node computes.
	// in are the operands; nil for constants.
	lower  func(l *lowering, v *value, in []*value)
	traits func(op graph.Op) Traits
}

// Traits are the properties of an operator that lowering and the choice of formats ask about.
type Traits struct {
	moves   moves   // how the operator moves entries, if it does nothing else
	Product Product // how it multiplies its operands and sums, if it does
	// Sums says that the result is a sum or a difference of two operands.
	Sums bool
	// linear says that the result is a sum of operands or a multiple of one, without
	// rounding. It is also set for a product, which is linear only if an operand is constant (exactly).
	linear bool
	// Means says that the operator takes an operand of any width: it is a mean, a norm, or the logarithm
	// of a power.
	Means                     bool
	Norm, Softmax, LogSoftmax bool
	// Powers says that the operator is the logarithm of a power, or of powers in bands.
	Powers bool
	// PerEntry says that an entry of the result is a function of the operands' entries in
	// the same place.
	PerEntry bool
	// jumps says that the result is not continuous in the operands, as that of a comparison, so that
	// operands should be as exact as they can be.
	jumps bool
	// rows says that a product sums along the last axis of its first operand.
	rows bool
	// broadcasts reports whether operand number `operand`, which has `rank` axes, may have the
	// dimension 1 along an axis in place of a longer one; nil: no operand may.
	broadcasts func(operand, axis, rank int) bool
}

// moves tells how an operator that computes nothing moves entries: every entry of the result is
// an entry of an operand, or, with pads, a constant.
type moves uint8

const (
	computes   moves = iota // no move: the operator computes
	rearranges              // all entries, in another order, or repeated
	keeps                   // all entries in their order
	selects                 // some entries, maybe more than once
	joins                   // the entries of several operands
	pads                    // the entries, and constants around them
)

// Product tells which products of its first two operands an operator sums.
type Product uint8

const (
	NoProduct      Product = iota
	MatMulProduct          // of matrices, or stacks of them
	gemmProduct            // of two matrices, plus a third
	ConvProduct            // of kernels and the windows of images
	expertsProduct         // of rows and the matrices of the experts that they use
)

// operators is the table.
var operators = map[reflect.Type]operator{}

// register adds a type of operators to the table. The traits of an operator may depend on its fields.
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

// operatorOf returns the table's entry for an operator. Every operator that a graph may have has one.
func operatorOf(op graph.Op) operator {
	entry, ok := operators[reflect.TypeOf(op)]
	if !ok {
		panic(fmt.Sprintf("operator %T has no entry in the table of lowerings", op))
	}
	return entry
}

// TraitsOf returns an operator's traits.
func TraitsOf(op graph.Op) Traits { return operatorOf(op).traits(op) }
