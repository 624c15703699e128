// Package backend is the interface between the protocol and the machine that
// runs it. The protocol (package sites) decides what is sent and in what
// order; a backend owns the witness and does the work on data that never
// leaves it: tables are opaque handles, and whole sub-protocols (LogUp, a
// batched sumcheck, the openings) are single calls. Every backend gives the
// same bytes.
//
// A backend reads its arguments and the witness and does not change them.
package backend

import (
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/sumcheck"
	"github.com/prove-model/prove-model/prover/transcript"
	"github.com/prove-model/prove-model/prover/whir"
)

// Witness gives a backend the values of one forward pass.
type Witness interface {
	// Tensor returns the dense values of a tensor of any kind.
	Tensor(id model.TensorID) []int32
	// StepKeys returns the dense look-up keys of a lookup step.
	StepKeys(step int) []int32
}

// Backend runs the prover's side of the sub-protocols over one witness.
type Backend interface {
	// Eval returns the MLE of a tensor at a point: the coordinates of the
	// axes one after the other, ⌈log2 d⌉ each.
	Eval(id model.TensorID, point []field.QM31) field.QM31
	// Restrict binds some axes of a tensor and returns the table over the
	// others, each padded to a power of two.
	Restrict(Restriction) Table
	// Upload returns a table with the given values, of a power-of-two length.
	// A backend in the same memory may keep and overwrite them.
	Upload([]field.QM31) Table
	// Download returns a copy of the values of a table.
	Download(Table) []field.QM31
	// Inner returns Σ_x eq(eq, x_0…)·a(x)·b(x).
	Inner(eq []field.QM31, a, b Table) field.QM31
	// Sumcheck proves all instances in one batch and consumes their tables.
	Sumcheck(w *transcript.Writer, instances []Instance) []sumcheck.Final
	// LogUp proves that the fractions of the given blocks sum to zero.
	LogUp(w *transcript.Writer, l Leaves) (point []field.QM31, num, den field.QM31)
	// Commit commits to a stack.
	Commit(Stack) *whir.Tree
	// Open proves a claim on committed stacks (whir.Open).
	Open(w *transcript.Writer, o Opening)
	// Close gives back what the backend holds outside of the process's memory,
	// tables that were never used included. Nothing of the backend may be used
	// afterwards but trees whose layers have been asked for.
	Close()
}

// Stack is a stack of tensors cut into Rows rows of 2^RowVars values, zero
// beyond the layout's end, which are encoded at the rate 2^(−LogBlowup).
type Stack struct {
	Layout                   *model.Stack
	Rows, RowVars, LogBlowup int
}

// Opening is the claim Σ_x Stack(x)·Q(x) = Value on the table in which
// Stacks[i], with the commitment Trees[i], begins at row RowOffsets[i]. Q is the
// sum of the terms.
type Opening struct {
	Params     *soundness.Params
	Trees      []*whir.Tree
	Stacks     []Stack
	RowOffsets []uint64
	Terms      []whir.Term
	Value      field.QM31
}

// Table is a table over {0,1}^n that lives in the backend.
type Table any

// Restriction is T(…) with axis i bound to Bound[i], for those i with
// Bound[i] ≠ nil, and the other axes in the order Keep (a permutation of them).
// An axis of one variable-free index (dimension 1) may be bound to an empty,
// non-nil point.
type Restriction struct {
	Tensor model.TensorID
	Bound  [][]field.QM31
	Keep   []int
}

// Instance is the sumcheck claim Claim = Σ_x eq(Eq, x_0…)·A(x)·B(x).
type Instance struct {
	Claim field.QM31
	Eq    []field.QM31
	A, B  Table
}

// Leaves are the leaves of one LogUp tree: blocks of decreasing size, one
// after the other. Entry i of a block over a lookup step is
// 1/(α − key_i − β·out_i − β²·tag) on the step's index space, each axis padded
// to a power of two, with the numerator 0 in the padding; of a block over a
// table, −mult_i in place of 1 (docs/protocol.md, "Look-ups").
type Leaves struct {
	Blocks      []LeafBlock
	Size        int // Σ 2^Bits
	Alpha, Beta field.QM31
}

// LeafBlock is a block over the lookup step with index Step, or over Table
// with the multiplicities Mult if Step is negative.
type LeafBlock struct {
	Bits   int
	Offset int
	Step   int
	Table  model.TableID
	Mult   model.TensorID
}

// Tag is the third column of a table's rows, which keeps tables apart.
func Tag(t model.TableID) field.M31 { return field.M31(t + 1) }
