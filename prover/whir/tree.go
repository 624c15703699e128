package whir

import (
	"context"
	"fmt"

	"github.com/prove-model/prove-model/prover/code"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/merkle"
	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/poseidon2"
)

// Tree is the commitment to a stack. Leaf p is the sponge digest of column p,
// the p-th value of every row's codeword. The codewords themselves are not
// kept: opening encodes the rows again.
type Tree struct {
	rowVars   int
	logBlowup int
	rows      int
	nodes     Nodes
}

// rowsAtOnce is how many rows are encoded before their columns are absorbed:
// the rate of the leaf sponge.
const rowsAtOnce = poseidon2.Rate

// Commit commits to the rows of src, each of 2^rowVars values, encoded at the
// rate 2^(−logBlowup). rowVars + logBlowup is at most 29 and src has at least one
// row, it panics otherwise. Memory is that of eight codewords, 64 bytes a column
// and the tree. The error is that of the context.
func Commit(ctx context.Context, rowVars, logBlowup int, src RowSource) (*Tree, error) {
	rows := src.Rows()
	if rows < 1 {
		panic("whir: a stack without rows")
	}
	columns := 1 << (rowVars + logBlowup)
	hasher := poseidon2.NewColumnHasher(columns, rows)
	words := make([][]field.M31, min(rows, rowsAtOnce))
	for i := range words {
		words[i] = make([]field.M31, columns)
	}
	for first := 0; first < rows; first += rowsAtOnce {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		batch := words[:min(rowsAtOnce, rows-first)]
		parallel.For(len(batch), 1, func(lo, hi int) {
			values := make([]int32, 1<<rowVars)
			coeffs := make([]field.M31, 1<<rowVars)
			for i := lo; i < hi; i++ {
				src.FillRow(first+i, values)
				field.FromInt32Vec(coeffs, values)
				code.Encode(batch[i], coeffs)
			}
		})
		hasher.AbsorbRows(batch)
	}
	leaves := make([]poseidon2.Digest, columns)
	hasher.Sum(leaves)
	return &Tree{rowVars, logBlowup, rows, localNodes{merkle.New(leaves)}}, nil
}

// NewTree returns the commitment with the given nodes to a stack of that many
// rows of 2^rowVars values, encoded at the rate 2^(−logBlowup): what [Commit]
// returns, with nodes from elsewhere. It panics if the nodes have another depth.
func NewTree(rowVars, logBlowup, rows int, nodes Nodes) *Tree {
	if nodes.Depth() != rowVars+logBlowup {
		panic("whir: a tree of another depth than the code's")
	}
	return &Tree{rowVars, logBlowup, rows, nodes}
}

// FromLayers returns the tree over a stack of the given shape with layers that
// [Tree.Layers] gave. Wrong digests are not noticed here; they give proofs that
// no verifier accepts.
func FromLayers(rowVars, logBlowup, rows int, layers [][]poseidon2.Digest) (*Tree, error) {
	if rows < 1 {
		return nil, fmt.Errorf("whir: a stack of %d rows", rows)
	}
	nodes, err := merkle.FromLayers(layers)
	if err != nil {
		return nil, err
	}
	if nodes.Depth() != rowVars+logBlowup {
		return nil, fmt.Errorf("whir: a tree of depth %d for rows of 2^%d values at rate 2^-%d", nodes.Depth(), rowVars, logBlowup)
	}
	return &Tree{rowVars, logBlowup, rows, localNodes{nodes}}, nil
}

// Root returns the commitment.
func (t *Tree) Root() poseidon2.Digest { return t.nodes.Root() }

// Nodes returns the digests.
func (t *Tree) Nodes() Nodes { return t.nodes }

// Rows returns the number of rows.
func (t *Tree) Rows() int { return t.rows }

// Layers returns the tree's layers, leaves first. They must not be changed. A
// tree whose layers have been asked for is in this process's memory.
func (t *Tree) Layers(ctx context.Context) ([][]poseidon2.Digest, error) { return t.nodes.Layers(ctx) }
