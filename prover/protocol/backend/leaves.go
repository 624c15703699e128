package backend

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Leaves are the leaves of one LogUp tree: the blocks of look-up steps and tables,
// by decreasing size, one after the other, and nothing between them
// (docs/protocol.md, "Look-ups").
type Leaves struct {
	Steps       []LeafStep
	Tables      []LeafTable
	Size        int // number of leaves: look-ups and table rows
	Alpha, Beta field.QM31
}

// LeafStep is a look-up step, whose index space is cut as model.Cut does. Its entry
// x has the leaf 1/(α − key(x) − β·out(x) − β²·tag).
type LeafStep struct {
	Step   int
	Table  model.TableID
	Blocks []LeafBlock // in the order of model.Cut
}

// IsCut says whether the step is in several blocks.
func (s *LeafStep) IsCut() bool { return len(s.Blocks) > 1 }

// LeafTable is a table with the multiplicities Mult. Its row i has the leaf
// −mult(i)/(α − key(i) − β·value(i) − β²·tag).
type LeafTable struct {
	Table model.TableID
	Mult  model.TensorID
	Block LeafBlock
}

// LeafBlock is a block of 2^Bits leaves.
type LeafBlock struct {
	*model.Box     // the part of the step's index space; of a table's block only Bits is set
	Offset     int // index of the first leaf in the tree, a multiple of 2^Bits
}

// Tag is the third column of a table's rows, which keeps tables apart.
func Tag(t model.TableID) field.M31 { return field.M31(t + 1) }

// Column is the column key + Beta·out of a look-up step, dense and row-major, as a
// matrix of a number of rows that divides its length.
type Column struct {
	Step, Rows int
	Beta       field.QM31
}

// RowSum asks for Σ_{y in p} w(y)·column(x, y), for every row x and every part p of the
// columns y of the matrix.
type RowSum struct {
	Column
	// Order lists the columns of the matrix, part by part. Ends[p] is where part p ends in this
	// list, and Weights has the weights w in the order of the list.
	Order   []int
	Ends    []int
	Weights []field.QM31
}

// ColumnSum asks for Σ_x Weights[x]·column(x, y) over all rows x, for every column y.
type ColumnSum struct {
	Column
	Weights []field.QM31
}
