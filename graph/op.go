package graph

import "fmt"

// Op is the operator of a node, a plain value of one of the types that the package
// documentation lists. An operator says how the shape and type of its result follow
// from its operands, and how the result is computed.
type Op interface {
	// Kind is the operator's name in messages.
	Kind() string
	// infer is the shape rule. It checks everything about the operands, and the
	// operator's own fields, that eval relies on.
	infer(in []operandType) (operandType, error)
	// eval computes the result, of the given shape: integers from integers
	// alone, anything else in float64.
	eval(in []operand, shape []int) (operand, error)
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

// arity checks the number of operands.
func arity(in []operandType, least, most int) error {
	if n := len(in); n < least || n > most {
		return fmt.Errorf("has %d operands; %d to %d are expected", n, least, most)
	}
	return nil
}

// floats checks that all operands are floats.
func floats(in ...operandType) error {
	for _, t := range in {
		if !t.dtype.IsFloat() {
			return fmt.Errorf("an operand has type %v", t.dtype)
		}
	}
	return nil
}

// alike checks that two operands are both floats or both integers.
func alike(a, b operandType) error {
	if a.dtype.IsFloat() != b.dtype.IsFloat() {
		return fmt.Errorf("its operands have types %v and %v", a.dtype, b.dtype)
	}
	return nil
}
