// Package schema has the messages of keys and proofs as plain structs, one for each message
// of their schema (prover/proof/schema). Unlike circuits, they can be given any contents, so
// tests and tools can make files that no circuit would give.
package schema

// The values of enumerations.
const (
	Input Enum = iota // Tensor.Kind
	Fixed
	Witness
	Virtual
	ByFormula
	Empty
)

const (
	Affine Enum = iota // Group.Map
	Index
	Reshape
	PublicIndexes
)

const (
	Lookup Enum = iota // Step.Kind
	Exact
	Zero
	Divide
	Maximum
)

const (
	Range Enum = iota // Table.Kind
	Piecewise
	Func
)

// Progression is a Formula.Kind. The other kinds are those of matrices.
const Progression Enum = 3

// Enum is the value of an enumeration. It may be a value that the schema does not name.
type Enum int32
