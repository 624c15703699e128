package graph

import (
	"errors"
	"reflect"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Op is the operator of a node, a plain value of one of the types that the package
// documentation lists. An operator says how the shape and type of its result follow
// from its operands, and how the result is computed.
type Op interface {
	// infer is the shape rule. Of operands as the operator takes them, it checks everything
	// about them, and about the operator's own fields, that eval relies on.
	// What cannot be it refuses (refuse), as eval does.
	infer(in []operandType) operandType
	// eval computes the result, of the given shape: integers from integers
	// alone, anything else in float64.
	eval(in []operand, shape []int) operand
}

// constantsOnly is implemented by types some of whose operators cannot be proved.
// Those serve only to fold constants.
type constantsOnly interface{ constantsOnly() bool }

// foldOnly says whether op may not remain in a graph.
func foldOnly(op Op) bool {
	c, ok := op.(constantsOnly)
	return ok && c.constantsOnly()
}

// operandType is what a shape rule knows of an operand.
type operandType struct {
	shape []int
	dtype DType
	value *Tensor // nil if it depends on the model's inputs
}

// operands are what an operator takes: how many, and of what types, if that matters. An
// operator without a method takes takes one of any type.
type operands struct {
	least, most int
	types       func(in ...operandType)
}

// Kind is an operator's name in messages: that of its type, unless it has another one.
func Kind(op Op) string {
	if own, ok := op.(interface{ kind() string }); ok {
		return own.kind()
	}
	return reflect.TypeOf(op).Name()
}

// infer checks that an operator takes the operands, and applies its shape rule. The shape is
// within the limits.
func infer(op Op, in []operandType) (t operandType, err error) {
	err = refuse.Caught(func() { t = inferred(op, in) })
	return t, err
}

func inferred(op Op, in []operandType) operandType {
	takes := operands{least: 1, most: 1}
	if own, ok := op.(interface{ takes() operands }); ok {
		takes = own.takes()
	}
	n := len(in)
	refuse.If(n < takes.least || n > takes.most, "has %d operands; %d to %d are expected", n, takes.least, takes.most)
	if takes.types != nil {
		takes.types(in...)
	}
	t := op.infer(in)
	err := checkInts(t.shape)
	refuse.If(err != nil, "output: %w", err)
	return t
}

// evaluate computes an operator's result.
func evaluate(op Op, in []operand, shape []int) (out operand, err error) {
	err = refuse.Caught(func() { out = op.eval(in, shape) })
	return out, err
}

// refused is deferred by methods that refuse (package refuse), or need what is not there: the reason becomes the error of the
// current node, and the result the zero Value.
func (b *Builder) refused(result *Value) {
	if p := recover(); p != nil {
		*result = Value{}
		if err := must.Reason(p); err != errNoted {
			b.Failf("%v", err)
		}
	}
}

// errNoted ends a method where the builder has the error already.
var errNoted = errors.New("noted")

// need ends a method that defers refused unless all values could be made.
func (b *Builder) need(values ...Value) {
	if !b.valid(values...) {
		must.OK(errNoted)
	}
}

// needAxes ends it unless x could be made and has these axes, which ascend.
func (b *Builder) needAxes(x Value, axes ...int) {
	b.need(x)
	checkAxes(axes, len(b.Shape(x)))
}

// needRoom ends it unless there is Room.
func (b *Builder) needRoom(sizes ...int) {
	if !b.Room(sizes...) {
		must.OK(errNoted)
	}
}

// floats checks that all operands are floats.
func floats(in ...operandType) {
	for _, t := range in {
		refuse.If(!t.dtype.IsFloat(), "an operand has type %v", t.dtype)
	}
}

// alike checks that all operands are floats, or all integers.
func alike(in ...operandType) {
	for _, t := range in[1:] {
		refuse.If(t.dtype.IsFloat() != in[0].dtype.IsFloat(), "its operands have types %v and %v", in[0].dtype, t.dtype)
	}
}
