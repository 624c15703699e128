// Package backend is the interface between the protocol and the machine that
// runs it, a CPU or a device. A backend has the witness and tables made from it, and
// makes passes over them: computations on large data that return few numbers. It
// does not know the transcript. Packages reduce, sumcheck, logup and whir decide what is
// sent, and in what order, from what passes return. Passes are coarse: a round of all
// sums of a batch is one call. Every backend returns the same numbers, which
// [conformance] checks.
//
// A backend reads its arguments and the witness and does not change them. An
// error is the context's, or says that the machine has failed: no memory
// left, a failed launch, a lost device. After an error the backend, and whatever it has
// made, may still be closed, and [Fallback] goes on with another backend.
//
// [conformance]: https://pkg.go.dev/github.com/prove-model/prove-model/prover/machine/conformance
package backend

import (
	"context"
	"iter"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Witness gives a backend the values of one forward pass.
type Witness interface {
	// Tensor returns the dense values of a tensor that is not fixed.
	Tensor(id model.TensorID) []int32
	// Fixed returns the dense values of a fixed tensor, or of one by formula. It returns
	// the same list at every call.
	Fixed(id model.TensorID) ints.Ints
	// StepKeys returns the dense look-up keys of a lookup step.
	StepKeys(step int) []int32
}

// Values returns the dense values of a tensor of g of any kind.
func Values(g *model.Graph, w Witness, id model.TensorID) ints.Ints {
	if g.Tensors[id].Kind.Constant() {
		return w.Fixed(id)
	}
	return ints.Int32s(w.Tensor(id))
}

// Backend has the tables of one witness and the passes over them.
type Backend interface {
	// Eval returns the MLEs of tensors at points.
	Eval(ctx context.Context, list []Evaluation) ([]field.QM31, error)
	// Total returns the sum of a tensor's entries in the given ranges.
	Total(ctx context.Context, id model.TensorID, of []model.Rows) (field.M31, error)
	// Restrict binds some axes of each tensor and returns the tables over the
	// others, each padded to a power of two.
	Restrict(ctx context.Context, list []Restriction) ([]Table, error)
	// Upload returns a table with the given values, whose number is a power of two.
	// A backend in this process's memory may keep the slice and overwrite it.
	Upload(ctx context.Context, values []field.QM31) (Table, error)
	// Download returns a copy of the values of a table.
	Download(ctx context.Context, t Table) ([]field.QM31, error)
	// Copy returns a new table with the values of a table.
	Copy(ctx context.Context, t Table) (Table, error)
	// Inner returns the values of the sums that the instances are.
	Inner(ctx context.Context, list []Instance) ([]field.QM31, error)
	// Sums returns the passes of a batched sumcheck over at least one instance. It uses
	// up the tables of the instances, even if it returns an error.
	Sums(ctx context.Context, instances []Instance) (sumcheck.Tables, error)
	// Fractions returns the passes over the tree of the given leaves, of
	// logup.NumVars(l.Size) variables.
	Fractions(ctx context.Context, l Leaves) (logup.Tree, error)
	// RowSums and ColumnSums are the passes of the column sum of look-up steps
	// (package colsum). They return the sums of each job. RowSums has the sum of part p
	// of row x at x·(number of parts) + p, ColumnSums that of column y at y. The caller may
	// overwrite the results.
	RowSums(ctx context.Context, jobs []RowSum) ([][]field.QM31, error)
	ColumnSums(ctx context.Context, jobs []ColumnSum) ([][]field.QM31, error)
	// Commit commits to the rows of stacks.
	Commit(ctx context.Context, c Commitment) (*whir.Tree, error)
	// Opening returns the passes of an opening.
	Opening(ctx context.Context, o Opening) (whir.Passes, error)
	// Close gives back what the backend holds outside of the process's memory,
	// tables that were never used included. Nothing of the backend may be used
	// afterwards but trees whose layers have been asked for.
	Close()
}

// Parallel is a Backend that several goroutines can use, each with a worker of its own.
type Parallel interface {
	Backend
	// Worker returns a backend for worker n of the machine, from 0 on, over the same
	// witness. Only the worker may use what it makes. It must be closed before this backend
	// is.
	Worker(n int) (Backend, error)
}

// Measured is a Backend that knows how much memory it has taken.
type Measured interface {
	// Peak returns the largest number of bytes of a device's memory that the backend has held at once.
	Peak() int64
}

// Sender is a Backend whose tables are in another memory than this process's. Send makes a table of each
// list of values, as Upload does, but does not keep or change the lists.
type Sender interface {
	Send(ctx context.Context, list [][]field.QM31) ([]Table, error)
}

// Holder is a Backend whose tables are in this process's memory. Held returns the values of a table
// without copying them. The caller must not change them.
type Holder interface {
	Held(t Table) []field.QM31
}

// Preparer is a Backend that can do that part of the work of an opening which does not depend on its
// claims before these are known.
type Preparer interface {
	// Prepare starts that work, if every device has room for it and for another `beside` bytes, and
	// returns at once. Workers may be running. The next call of the backend must be Opening for the
	// same opening, or Close.
	Prepare(ctx context.Context, o Opening, beside int64)
}

// Commitment describes what one tree commits to: rows of stacks of tensors, in the groups
// of a layout. The rows of group i are those of Parts[i].
type Commitment struct {
	whir.Layout
	Parts []Part
	// Secrets are those of a tree that hides (Layout.Salted). They are nil in a plan.
	Secrets *Secrets
	// Keep says that all digests will be asked for (whir.Nodes.Layers), so that the backend can have memory ready for them.
	Keep bool
}

// Part is the source of a group's rows: a stack cut into rows of the tree's length, from its
// row First on, with zeros behind the stack's end. In a tree that hides, some groups are not
// of tensors (PartKind).
type Part struct {
	Stack *model.Stack // nil for masks and the auxiliary row
	First int
	Kind  PartKind
}

// PartKind says what a part's values are.
type PartKind uint8

const (
	// Tensors are the tensors of the stack.
	Tensors PartKind = iota
	// Pads are Secrets.Pads, as limbs. The stack has their size and no tensors.
	Pads
	// Masks and Auxiliary are random rows.
	Masks
	Auxiliary
)

// Secrets are what makes a tree hide: the key from which its tails, salts, mask rows and auxiliary row follow, and
// the pads that it commits to.
type Secrets struct {
	Key  prf.Key
	Pads []field.QM31
}

// SingleStack returns the commitment to a stack alone (whir.SingleStack).
func SingleStack(suite hash.Suite, s *model.Stack, rowVars, logBlowup int) Commitment {
	rows := int((s.Size + 1<<rowVars - 1) >> rowVars)
	c := Commitment{Layout: whir.SingleStack(suite, rowVars, logBlowup, rows)}
	for _, g := range c.Groups {
		c.Parts = append(c.Parts, Part{Stack: s, First: int(g.First)})
	}
	return c
}

// values returns the number of values in all rows.
func (c *Commitment) values() int { return c.Rows() << c.RowVars }

// Blocks yields the blocks of tensors that have entries in the rows of a group, in order. With each it yields the number of the
// block's entries up to the end of the group's rows. It yields nothing for a group whose Part is of another kind than Tensors.
func (c *Commitment) Blocks(group int) iter.Seq2[*model.Block, int] {
	return func(yield func(*model.Block, int) bool) {
		part := c.Parts[group]
		if part.Kind != Tensors {
			return
		}
		begin := uint64(part.First) << c.RowVars
		end := begin + uint64(c.Groups[group].Rows)<<c.RowVars
		for i := range part.Stack.Blocks {
			b := &part.Stack.Blocks[i]
			size := uint64(1) << b.Bits
			if b.Offset < end && begin < b.Offset+size && !yield(b, int(min(end-b.Offset, size))) {
				return
			}
		}
	}
}

// Opening describes the table that the passes of an opening work on: slot 0 of the tree of
// Commitments[i] begins table row RowOffsets[i] (whir.Layout).
type Opening struct {
	Params      *soundness.Params
	Commitments []Commitment
	RowOffsets  []uint64
}

// values returns the number of values in all rows.
func (o *Opening) values() int {
	n := 0
	for i := range o.Commitments {
		n += o.Commitments[i].values()
	}
	return n
}

// Table is a table over {0,1}^n that lives in the backend.
type Table any

// Evaluation is the MLE of a tensor at a point, which has the coordinates of the axes one after the
// other, ⌈log2 d⌉ for an axis of dimension d.
type Evaluation struct {
	Tensor model.TensorID
	Point  []field.QM31
}

// Restriction is the table over some axes of a tensor that is left when the MLE's other
// axes are bound to points. Axis i is bound to Bound[i] if Bound[i] is not nil. The other
// axes are those in Keep, in that order. An axis of dimension 1 has no variables: it may
// be bound to an empty point that is not nil.
type Restriction struct {
	Tensor model.TensorID
	Bound  [][]field.QM31
	Keep   []int
}

// Instance is the sum Σ_x eq(Eq, first len(Eq) coordinates of x)·A(x)·B(x).
type Instance struct {
	Eq   []field.QM31
	A, B Table
}
