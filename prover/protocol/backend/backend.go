// Package backend is the interface between the protocol and the machine that
// runs it. A backend is tables and passes over them. It owns the witness and
// knows no transcript: what is sent, and in what order, is decided above it
// (packages reduce, sumcheck, logup and whir), from the few numbers that a pass
// returns. Passes are coarse: a round of all sums of a batch is one call. Every
// backend gives the same numbers, which [conformance] checks.
//
// A backend reads its arguments and the witness and does not change them. An
// error is the context's, or says that a machine let the backend down: no memory
// left, a failed launch, a lost device. The backend, and whatever it had made,
// may still be closed then, and [Fallback] goes on elsewhere.
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
	// Fixed returns those of a fixed tensor, or of one by formula: the same list at
	// every call.
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
	// Total returns the sum of a tensor's entries in ranges of them.
	Total(ctx context.Context, id model.TensorID, of []model.Rows) (field.M31, error)
	// Restrict binds some axes of each tensor and returns the tables over the
	// others, each padded to a power of two.
	Restrict(ctx context.Context, list []Restriction) ([]Table, error)
	// Upload returns a table with the given values, of a power-of-two length.
	// A backend in the same memory may keep and overwrite them.
	Upload(ctx context.Context, values []field.QM31) (Table, error)
	// Download returns a copy of the values of a table.
	Download(ctx context.Context, t Table) ([]field.QM31, error)
	// Copy returns a table of its own with the values of a table.
	Copy(ctx context.Context, t Table) (Table, error)
	// Inner returns the sums of instances.
	Inner(ctx context.Context, list []Instance) ([]field.QM31, error)
	// Sums returns the passes of a batched sumcheck over at least one instance.
	// The tables of the instances are theirs from then on, after an error too.
	Sums(ctx context.Context, instances []Instance) (sumcheck.Tables, error)
	// Fractions returns the passes over the tree of the given leaves, of
	// logup.NumVars(l.Size) variables.
	Fractions(ctx context.Context, l Leaves) (logup.Tree, error)
	// RowSums and ColumnSums are the passes of a sum over the columns of look-up
	// steps (package colsum): they return the sums of each job, for RowSums that of
	// part p over row x at x·parts + p, for ColumnSums those of all columns. They
	// are the caller's to overwrite.
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

// Parallel is a Backend that several goroutines can use, each a worker of it.
type Parallel interface {
	Backend
	// Worker returns a backend for worker n of the machine, from 0 on, over the same
	// witness. What it makes is its own; it is closed before this one is.
	Worker(n int) (Backend, error)
}

// Measured is a Backend that knows what memory it took.
type Measured interface {
	// Peak returns the most bytes of a device that it has taken at once for itself.
	Peak() int64
}

// Sender is a Backend whose tables are in another memory: Send is Upload of several values that stay
// the caller's.
type Sender interface {
	Send(ctx context.Context, list [][]field.QM31) ([]Table, error)
}

// Holder is a Backend whose tables are in this process's memory: Held returns the values of one,
// which stay the table's.
type Holder interface {
	Held(t Table) []field.QM31
}

// Preparer is a Backend that can do what an opening takes whatever its claims are before these are
// known.
type Preparer interface {
	// Prepare starts that work and returns at once, if every device has room for it and for
	// another `beside` bytes. Workers may be running. The backend's next call is Opening for the
	// same opening, or Close.
	Prepare(ctx context.Context, o Opening, beside int64)
}

// Commitment is what one tree commits to: rows of stacks of tensors, in the groups
// of a layout, group i being part of Parts[i].
type Commitment struct {
	whir.Layout
	Parts []Part
	// Secrets are those of a tree that hides (Layout.Salted), nil in a plan.
	Secrets *Secrets
	// Keep says that all digests will be asked for (whir.Nodes.Layers), so memory for them can be made ready beforehand.
	Keep bool
}

// Part is a stack cut into rows of a tree's length, zero beyond the stack's end,
// from row First on. Of a tree that hides, there are parts that are no tensors.
type Part struct {
	Stack *model.Stack // of masks and the auxiliary row, nil
	First int
	Kind  PartKind
}

// PartKind says what a part's values are.
type PartKind uint8

const (
	// Tensors are those of the stack.
	Tensors PartKind = iota
	// Pads are those of Secrets, in a stack of their size.
	Pads
	// Masks and Auxiliary are random rows.
	Masks
	Auxiliary
)

// Secrets are what makes a tree hide: a key from which its tails, salts, masks and auxiliary row follow, and
// the pads under it.
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

// Blocks yields the blocks of which a group has entries, in order, and for each how many of its first entries are not behind the
// group. A group that is no tensors has none.
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

// Opening is what passes of an opening work on: the table in which slot 0 of
// Commitments[i] begins at table row RowOffsets[i].
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

// Evaluation is a tensor at a point: the coordinates of the axes one after the other,
// ⌈log2 d⌉ each.
type Evaluation struct {
	Tensor model.TensorID
	Point  []field.QM31
}

// Restriction is T(…) with axis i bound to Bound[i], for those i with
// Bound[i] ≠ nil, and the other axes in the order Keep (a permutation of them).
// An axis of one variable-free index (dimension 1) may be bound to an empty,
// non-nil point.
type Restriction struct {
	Tensor model.TensorID
	Bound  [][]field.QM31
	Keep   []int
}

// Instance is the sum Σ_x eq(Eq, x_0…)·A(x)·B(x).
type Instance struct {
	Eq   []field.QM31
	A, B Table
}
