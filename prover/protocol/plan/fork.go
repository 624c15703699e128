package plan

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Fork is the plan of one sub-transcript, of a chunk or of the public outputs: which
// values are found and sent and in what order, which sums are proved, and which claims
// on committed tensors are left (docs/protocol.md, "Claim reduction"). Prover and verifier
// follow it (package reduce).
type Fork struct {
	Chunk int // −1 for the outputs
	// Leaves describes the look-up tree; it has no blocks if there are no look-ups.
	// Alpha and Beta are zero.
	Leaves backend.Leaves
	// Steps and Tables are the values of every step and every table of Leaves that the
	// end of the tree is checked with. A step in one block, or a table, is evaluated at the
	// point where the tree ends. A step that is cut into several blocks is evaluated
	// where the sum over such steps ends (package colsum). That sum has JoinVars rounds;
	// JoinVars is 0 if there is no such step.
	Steps, Tables []Row
	JoinVars      int
	// Tau is the number of challenges in the list EquationPoint.
	Tau       int
	Equations []Equation
	// Nodes are the values in the order in which they are found:
	//   - the first RowNodes before the sum over the steps that are cut,
	//   - the first JoinNodes before the end of that sum and the look-ups are checked,
	//   - the first EquationNodes before the equations are checked,
	//   - the others after the batches, those up to Batch.Nodes after each.
	Nodes                              []Node
	RowNodes, JoinNodes, EquationNodes int
	Sums                               []Sum
	Batches                            []Batch
	// Claims are the nodes that are claims on committed tensors, in their order.
	Claims []Value
	// Bytes is the length of the sub-transcript's stream.
	Bytes int64
}

// Value is the index of a Node, or None.
type Value int32

// None is the absent value.
const None Value = -1

// NodeKind says how a value is found.
type NodeKind uint8

const (
	// Public is an input tensor, or one by formula, at a point: the verifier evaluates
	// it.
	Public NodeKind = iota
	// Sent is a committed tensor at a point: sent, and a claim.
	Sent
	// End is a committed tensor at a point where a sum has ended. It is a claim; the
	// end of the sum gives the value.
	End
	// SumValue is the value of a sum: sent, and proved by a later batch.
	SumValue
	// Combination is a virtual tensor or an accumulator at a point: computed from other
	// values, as Combined says.
	Combination
	// Count is the sum of a table's multiplicities over its saturated rows: sent as
	// an element of F, and a claim.
	Count
)

// Node is a value that a sub-transcript finds. Which fields are set depends on its kind, as
// the comments say.
type Node struct {
	Kind      NodeKind
	IsB       bool           // End: the end is that of the sum's second operand
	Tensor    model.TensorID // Public, Sent, End, Count
	Table     model.TableID  // Count
	Sum       int32          // SumValue, End
	At        Point          // of all but Count and SumValue
	*Combined                // Combination; nil for the other kinds, which most nodes are of
}

// Combined is the value Const·mask~(At) + Σ Terms, where mask is 1 on the index space Shape.
type Combined struct {
	Shape []int
	Const int64
	Terms []Term
}

// Term is a summand of a Combination: Coef times Value, times the factor of the
// view or the mask of the product that it comes from, plus the view's fill.
type Term struct {
	Coef    int64
	Value   Value // None if the view is wired to nothing
	View    *Wiring
	Product *Product
}

// If a table's saturated rows make ManyBlocks blocks or more, the prover computes a
// Count by adding up multiplicities. With fewer blocks one evaluation for each block is
// cheaper.
const ManyBlocks = 16

// Row has the values of the columns of a step or a table that the end of the look-up tree is
// checked with (docs/protocol.md, "Look-ups"), None for what it has not.
type Row struct {
	Num      Value // of a table: the multiplicities
	Acc, Out Value // of a step: the accumulator and the output; Out is also a table's committed value column
	Lo       Value // of a step: the remainder that is subtracted from the accumulator
}

// Equation says that two values are equal. For a step, Left is its accumulator and Right
// its output, or None for a zero step, whose accumulator is zero. For an output, Left is
// the output tensor and Right is None: the verifier evaluates the public output.
type Equation struct {
	Step        int // −1 for an output
	Output      int // of an output: its number
	Left, Right Value
}

// Sum is Σ_x eq(Eq, first len(Eq) coordinates of x)·A(x)·B(x) over Vars variables. If View
// is nil, B is an operand as A is; otherwise it is the wiring of View at the point At.
type Sum struct {
	Value Value // the node that has the value of the sum
	Vars  int
	Eq    Point
	A, B  Operand
	View  *Wiring
	At    Point
}

// Operand is a tensor some of whose axes are bound to points: a table over the other axes,
// in the order Keep. When the sum has ended, the tensor's MLE is needed at the point End.
type Operand struct {
	Tensor model.TensorID
	Bound  []Point // by axis; nil for those in Keep
	Keep   []int
	End    Point
}

// Batch is a range of sums that are proved together.
type Batch struct {
	From, To int // of Fork.Sums
	Rounds   int
	Degree   int // bounds the degree of the round polynomials
	// Checks are done when the first Nodes nodes of the fork are known.
	Nodes  int
	Checks []Check
}

// Check says that the value with which a sum has ended for one of its operands (B if IsB)
// equals the node Value, which is found in another way.
type Check struct {
	Sum   int
	IsB   bool
	Value Value
}

// Operand returns one of the two operands.
func (s *Sum) Operand(isB bool) *Operand {
	if isB {
		return &s.B
	}
	return &s.A
}
