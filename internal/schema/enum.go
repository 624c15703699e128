// Package schema has the messages of keys and proofs as their schema has them
// (prover/proof/schema), and not as circuits: so that tests and tools can make files that no
// circuit gives.
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

// Progression is a Formula.Kind, the others are those of matrices.
const Progression Enum = 3

// Enum is the value of an enumeration, one that the schema names or another one.
type Enum int32
