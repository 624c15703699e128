package model

import (
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/ints"
)

// Limits that every graph respects; Validate enforces them, so that a hostile
// key cannot make the verifier allocate or loop beyond them.
const (
	// Bound is the exclusive bound on the absolute value of every integer in the forward pass, accumulators included.
	// There are 2·Bound − 1 = p such integers, so each element of F stands for one of them, and nothing wraps.
	Bound = 1 << 30
	// MaxShift is the largest requantisation shift.
	MaxShift = 29
	// MaxTableBits is log2 of the number of rows of the largest table.
	MaxTableBits = 20
	// MaxRank is the largest number of axes of a tensor.
	MaxRank = 8
	// MaxVars is the largest number of variables of a tensor's MLE.
	MaxVars = 34
	// MaxNesting is the largest depth of virtual tensors that are defined by other virtual tensors. Evaluating
	// one may recurse to that depth.
	MaxNesting = 1 << 10
)

// TensorID indexes Graph.Tensors. None means "no tensor".
type TensorID int32

// None is the absent tensor or table.
const None = -1

// TableID indexes Graph.Tables.
type TableID int32

// Kind says where a tensor's values come from and what binds them.
type Kind uint8

const (
	// Input tensors are public: the verifier evaluates their MLE itself. (Hidden inputs of an
	// instance are witness tensors.)
	Input Kind = iota
	// Fixed tensors (weights, table columns) are committed once per model.
	Fixed
	// Witness tensors are committed with each proof.
	Witness
	// Virtual tensors are sums of views, or entrywise products of two tensors. They are not committed: a claim on one is reduced to
	// claims on its sources.
	Virtual
	// ByFormula tensors are functions of the index: the verifier evaluates their MLE
	// itself, whatever their size.
	ByFormula
	// Empty tensors have no entries: one of their dimensions is 0. They are inputs and
	// outputs of the graph, and nothing reads them.
	Empty
)

// Tensor is an integer tensor. An integer v stands for the real number
// v·2^(−Frac), except where it is a code (Numbers). Every entry lies in
// [Min, Max].
type Tensor struct {
	Name     string
	Shape    []int   // empty for a scalar
	Scales   []Scale // in a template: one for each axis; nil if no axis scales
	Kind     Kind
	Numbers  Numbers // for an input or output: which integers are codes (Finite)
	Frac     int
	Fracs    []int // for an input, instead of Frac: one for each index of the last axis; nil if Frac is for all
	Min, Max int64
	Chunk    int      // Witness: the chunk whose commitment holds it
	Def      []Linear // Virtual: the sum of views that defines it
	Product  *Product // Virtual, in place of Def: the product that defines it (IsProduct)
	Formula  *Formula // ByFormula
	Derived  *Derived // Input of an instance: how its entries are computed from what the statement has; nil if the statement has them
}

// FracAt returns the Frac of the entry with row-major index i.
func (t *Tensor) FracAt(i int) int {
	if len(t.Fracs) > 0 {
		return t.Fracs[i%len(t.Fracs)]
	}
	return t.Frac
}

// Linear is one summand Coef·View(Src) of a virtual tensor or accumulator.
// A nil View is the identity (shapes equal).
type Linear struct {
	Coef int64
	Src  TensorID
	View *View
}

// Product is one summand of an accumulator, an einsum of two tensors:
//
//	Coef · Σ_{contracted} A[…]·B[…]
//
// LabelsA and LabelsB have one label for each axis of A and of B. A label below the
// rank of the output names that output axis. The other labels are contracted, and each
// is in both operands. An output axis whose label is in both operands is a batch axis;
// along one whose label is in neither, the product repeats.
type Product struct {
	Coef             int64
	A, B             TensorID
	LabelsA, LabelsB []int
}

// Acc is an accumulator over the index space of a step:
// Const + Σ Linear + Σ Products. It is never committed.
type Acc struct {
	Const    int64
	Linear   []Linear
	Products []Product
}

// Sources yields the tensors by which a virtual tensor is defined. It yields none for other tensors.
func (t *Tensor) Sources(yield func(TensorID) bool) {
	for i := range t.Def {
		if !yield(t.Def[i].Src) {
			return
		}
	}
	if p := t.Product; p != nil {
		_ = yield(p.A) && yield(p.B)
	}
}

// Sources yields the tensors that a step reads.
func (s *Step) Sources(yield func(TensorID) bool) {
	for i := range s.Acc.Linear {
		if !yield(s.Acc.Linear[i].Src) {
			return
		}
	}
	for i := range s.Acc.Products {
		if !yield(s.Acc.Products[i].A) || !yield(s.Acc.Products[i].B) {
			return
		}
	}
	if s.Den != None {
		yield(s.Den)
	}
}

// StepKind tells how a step is executed and what it constrains.
type StepKind uint8

const (
	// StepLookup computes hi = acc >> Shift, Lo = acc mod 2^Shift and Out =
	// Table(hi), and constrains ((acc−Lo)/2^Shift, Out) to be a row of Table.
	// The range of Lo is a lookup step of its own. Lo and Out may be None (then
	// Shift is 0, or the table has no values).
	StepLookup StepKind = iota
	// StepExact computes Out = acc and constrains it to be.
	StepExact
	// StepZero constrains acc to be 0 everywhere; it computes nothing.
	StepZero
	// StepDivide computes Out = ⌊Acc/Den⌋ and Lo = Acc mod Den, and constrains
	// nothing. The steps that constrain Out and Lo must follow it (Division).
	StepDivide
	// StepMax computes Out, the greatest entry of every row of Den along its last axis, and
	// constrains nothing. The shape of Den is that of the step and then that axis. Acc is empty. The steps
	// that constrain Out must follow it (Maximum).
	StepMax
)

// Step is one instruction of the forward pass, and the constraint on it.
type Step struct {
	Kind   StepKind
	Name   string  // the model node it comes from, for messages
	Shape  []int   // index space
	Scales []Scale // in a template: one for each axis; nil if no axis scales
	Acc    Acc
	Shift  int      // StepLookup: how many low bits of Acc are cut off
	Lo     TensorID // StepLookup: the bits that are cut off, None without a Shift; StepDivide: the remainder
	Table  TableID  // StepLookup, otherwise None
	Out    TensorID // the result
	Den    TensorID // StepDivide: same shape as the step, positive; StepMax: its operand
	Chunk  int
}

// TableKind says how a table's value column is known to the verifier.
type TableKind uint8

const (
	// TableRange has keys only.
	TableRange TableKind = iota
	// TablePiecewise has a value column that is linear on intervals of the key;
	// the verifier evaluates it in closed form.
	TablePiecewise
	// TableFunc has a fixed, committed value column.
	TableFunc
)

// Table is a lookup table of 2^Bits rows; row i has the key Min + i.
type Table struct {
	Name string
	Kind TableKind
	Bits int
	Min  int64
	// Drop > 0 makes a TablePiecewise table with Min = 0 a high-bits table: its values do not depend on the lowest Drop
	// bits of a key. Drop is less than Bits.
	Drop   int
	Pieces []Piece  // TablePiecewise: consecutive intervals, of which the last ends at 2^(Bits−Drop)
	Values TensorID // TableFunc: Fixed tensor of shape [2^Bits]
	// Saturated are the rows of keys beyond the range that the table was made for. Proofs state how many look-ups
	// hit them. The intervals are increasing and do not touch; nil if there are none.
	Saturated []Rows
}

// Piece is the interval of rows up to End (exclusive) on which value = Slope·key + Offset. In a
// high-bits table ⌊key/2^Drop⌋ takes the place of both the row and the key.
type Piece struct {
	End           int64
	Slope, Offset int64
}

// Mult is the witness tensor that counts how often a chunk's lookups use each
// row of a table. Shape [2^Bits].
type Mult struct {
	Chunk  int
	Table  TableID
	Tensor TensorID
}

// Graph is a quantised model: the circuit of one proof, or that of a template.
type Graph struct {
	Name    string
	Tensors []Tensor // the last ones are the multiplicities, in the order of Mults
	Tables  []Table
	Steps   []Step // in execution order
	Inputs  []TensorID
	Outputs []TensorID
	// Base is set if the circuit is an adapter to another model: it lists the fixed tensors of that model, whether the circuit
	// reads them or not, in the order of their stack. They are under a tree of their own, and all other fixed tensors are under a
	// second tree. Without a base all fixed tensors are under one tree.
	Base []TensorID

	// The fields from here on are set by Template.At or Finish. A template's graph has none of them.

	Instance Instance
	Chunks   int    // number of chunks, ≥ 1
	Mults    []Mult // ordered by chunk, then table

	// Texts is the number of texts that the circuit is of. Every tensor that depends on inputs then has a first axis with an index for
	// each text. 0 stands for one text, without that axis.
	Texts int
	// Reveals has the outputs in place of which the instance states indexes (Instance.Reveals).
	Reveals []Revealed
	// Stated is the number of Inputs, from the first on, whose values the statement has. It is used only with Reveals or Texts: then
	// the inputs behind these are computed from what the statement has.
	Stated int
	// Hidden are inputs of the template that the instance does not state; they are witness tensors. HiddenOutputs are the outputs
	// that it does not state.
	Hidden, HiddenOutputs []TensorID
	// Apart has the witness tensors that are committed in trees of their own, one element for each tree.
	Apart []Apart
}

// derives says whether some inputs are computed from what the statement has (Widen).
func (g *Graph) derives() bool { return len(g.Reveals) > 0 || g.Texts > 0 }

// Given returns the inputs whose values the statement has.
func (g *Graph) Given() []TensorID {
	if g.derives() {
		return g.Inputs[:g.Stated]
	}
	return g.Inputs
}

// Weights has the values of the fixed tensors by TensorID, row-major, each in the narrowest
// type that holds them. Elements for other tensors are nil.
type Weights []ints.Ints

// Log2Ceil returns ⌈log2 d⌉ for d ≥ 1.
func Log2Ceil(d int) int { return bits.Len(uint(d - 1)) }

// Size returns the number of entries of a shape.
func Size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Vars returns the number of variables of the MLE of a tensor of this shape:
// each axis is padded to a power of two.
func Vars(shape []int) int {
	n := 0
	for _, d := range shape {
		n += Log2Ceil(d)
	}
	return n
}

// Value returns the table's value for a key in its domain. values is the
// committed column of a TableFunc table; a TableRange table gives 0.
func (t *Table) Value(key int64, values []int32) int64 {
	row := key - t.Min
	switch t.Kind {
	case TablePiecewise:
		key >>= t.Drop // Min is 0 if this does anything
		for _, p := range t.Pieces {
			if key-t.Min < p.End {
				return p.Slope*key + p.Offset
			}
		}
	case TableFunc:
		return int64(values[row])
	}
	return 0
}

// Contains reports whether key is in the table's domain.
func (t *Table) Contains(key int64) bool {
	return key >= t.Min && key < t.Min+1<<t.Bits
}
