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
	// infer is the shape rule: it returns shape and type of the result. It checks everything
	// that eval relies on about the operands and the operator's own fields. It may assume
	// what takes (see operands) has checked. Both infer and eval report errors by package
	// refuse.
	infer(in []operandType) operandType
	// eval computes the result, of the given shape. It may compute in int64 if all operands
	// are integer constants; otherwise it computes in float64.
	eval(in []operand, shape []int) operand
}

// constantsOnly is implemented by operator types of which some operators cannot be
// proved. Its method returns true for those, which serve only to fold constants.
type constantsOnly interface{ constantsOnly() bool }

// foldOnly says whether op may not remain in a graph.
func foldOnly(op Op) bool {
	c, ok := op.(constantsOnly)
	return ok && c.constantsOnly()
}

// operandType is what a shape rule knows about an operand, and what it returns for the
// result.
type operandType struct {
	shape []int
	dtype DType
	value *Tensor // nil if it depends on the model's inputs
}

// operands says which operands an operator takes: at least least and at most most of
// them. If types is set, it refuses operands of wrong types. An operator without a method
// called takes has one operand of any type.
type operands struct {
	least, most int
	types       func(in ...operandType)
}

// Kind returns an operator's name for messages: the result of its method kind if it has
// one, else the name of its type.
func Kind(op Op) string {
	if own, ok := op.(interface{ kind() string }); ok {
		return own.kind()
	}
	return reflect.TypeOf(op).Name()
}

// infer checks that an operator takes the operands, and applies its shape rule. It returns
// an error if the resulting shape exceeds the limits.
func infer(op Op, in []operandType) (t operandType, err error) {
	err = refuse.Caught(func() { t = inferred(op, in) })
	return t, err
}

// inferred is infer for callers that catch refusals themselves.
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

// refused is deferred by methods that may refuse (package refuse) or call need and its like. On a refusal it records the
// reason as the error of the current node, and sets the result to the zero Value.
func (b *Builder) refused(result *Value) {
	if p := recover(); p != nil {
		*result = Value{}
		if err := must.Reason(p); err != errNoted {
			b.Failf("%v", err)
		}
	}
}

// errNoted ends a method (by a panic that refused recovers) whose error the builder has
// recorded already.
var errNoted = errors.New("noted")

// need ends the calling method, which must defer refused, if one of the values could not
// be made.
func (b *Builder) need(values ...Value) {
	if !b.valid(values...) {
		must.OK(errNoted)
	}
}

// needAxes ends the calling method, as need does, unless x could be made and axes are
// ascending axes of x.
func (b *Builder) needAxes(x Value, axes ...int) {
	b.need(x)
	checkAxes(axes, len(b.Shape(x)))
}

// needRoom ends the calling method, as need does, unless Room returns true for the sizes.
func (b *Builder) needRoom(sizes ...int) {
	if !b.Room(sizes...) {
		must.OK(errNoted)
	}
}

// floats refuses operands that are not floats.
func floats(in ...operandType) {
	for _, t := range in {
		refuse.If(!t.dtype.IsFloat(), "an operand has type %v", t.dtype)
	}
}

// alike refuses a mixture of float and integer operands.
func alike(in ...operandType) {
	for _, t := range in[1:] {
		refuse.If(t.dtype.IsFloat() != in[0].dtype.IsFloat(), "its operands have types %v and %v", in[0].dtype, t.dtype)
	}
}
