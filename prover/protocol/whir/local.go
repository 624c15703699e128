package whir

import (
	"context"
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// local implements [Passes] in this process's memory.
type local struct {
	params *soundness.Params
	rows   *stackRows
	q      *Functional    // until rows are folded; then nil
	grid   grid           // for the rounds over the first row variables, gridVars at most
	point  []field.QM31   // the challenges that row variables are bound to so far
	pair   Pair           // f and q, for all later rounds
	folded []*foldedWords // the rows committed to; nil once opened
	u      []field.QM31   // the functional on the auxiliary row, from AuxiliaryRound on
	arena  *arena.Arena
}

// NewPasses returns passes in this process's memory. srcs[i] has the rows of the tree with
// layouts[i], whose slot 0 begins table row rowOffsets[i]. The passes read the sources three times:
// for the first rounds, to fold the rows, and to open columns.
//
// The two folded tables, f and q, take 2 bytes of memory for each value of the table. During the
// passes another 200 to 400 bytes are needed for each value of one row, depending on the parameters.
// The values of a tree whose rows are much shorter than the table's (Keeps) are kept as well, each
// table row with as many bytes a value as its largest value needs. Kept rows and tables are in memory
// of the arena, if there is one, and Close gives them back to it.
func NewPasses(a *arena.Arena, params *soundness.Params, layouts []Layout, srcs []RowSource, rowOffsets []uint64) Passes {
	first := params.Levels[0]
	return &local{params: params, rows: loadRows(a, first.RowVars, first.FoldVars, layouts, srcs, rowOffsets), arena: a}
}

// Begin implements Passes.
func (l *local) Begin(ctx context.Context, q *Functional) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.q = q
	l.grid = productGrid(l.rows, min(gridVars, bits.TrailingZeros(uint(len(l.rows.rows)))), q)
	l.fold()
	return nil
}

// fold makes f and q, the tables folded with the challenges so far, if the grid has no variables
// left. Otherwise it does nothing.
func (l *local) fold() {
	if l.grid.vars > 0 {
		return
	}
	weights := poly.EqTable(l.point)
	l.pair = Pair{F: l.rows.fold(l.arena, weights), Q: l.q.folded(l.arena, weights, len(l.rows.rows))}
	l.q = nil
}

// Columns implements Passes.
func (l *local) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return l.rows.columns(tree, positions), nil
}

// Round implements Passes.
func (l *local) Round(ctx context.Context) (Sums, error) {
	if err := ctx.Err(); err != nil {
		return Sums{}, err
	}
	if l.grid.vars > 0 {
		return l.grid.round(), nil
	}
	return l.pair.Round(), nil
}

// Bind implements Passes.
func (l *local) Bind(ctx context.Context, r field.QM31) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	grid := l.grid.vars > 0
	if len(l.point) < l.params.Levels[0].FoldVars {
		l.point = append(l.point, r)
	}
	if grid {
		l.grid.bind(r)
		l.fold()
		return nil
	}
	l.pair.Bind(r)
	return nil
}

// Values implements Passes.
func (l *local) Values(ctx context.Context) ([]field.QM31, error) { return l.pair.F, ctx.Err() }

// At implements Passes.
func (l *local) At(ctx context.Context, z field.QM31) (field.QM31, error) {
	if err := ctx.Err(); err != nil {
		return field.Zero, err
	}
	return code.EvalAt(l.pair.F, z), nil
}

// Add implements Passes.
func (l *local) Add(ctx context.Context, c *Constraints) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.addTo(l.pair.Q)
	return nil
}

// Commit implements Passes.
func (l *local) Commit(ctx context.Context, level soundness.Level) (hash.Digest, error) {
	if err := ctx.Err(); err != nil {
		return hash.Digest{}, err
	}
	row := commitFolded(l.params.Config.Hash, l.pair.F, level, l.params.LeafRows(len(l.folded)+1))
	l.folded = append(l.folded, row)
	return row.nodes.Root(), nil
}

// Leaves implements Passes.
func (l *local) Leaves(ctx context.Context, n int, positions []uint64) (Leaves, error) {
	if err := ctx.Err(); err != nil {
		return Leaves{}, err
	}
	row := l.folded[n]
	l.folded[n] = nil
	return Leaves{Values: row.columns(positions), Path: row.nodes.Siblings(positions)}, nil
}

// Search implements Passes.
func (l *local) Search(ctx context.Context, work hash.Work) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return transcript.SearchNonce(work), nil
}

// Close implements Passes.
func (l *local) Close() {
	if l.rows != nil {
		l.rows.free(l.arena)
	}
	arena.Free(l.arena, l.pair.F)
	arena.Free(l.arena, l.pair.Q)
	*l = local{}
}

// localNodes implements [Nodes] in this process's memory.
type localNodes struct{ *merkle.Tree }

// LocalNodes returns the digests of a tree as Nodes.
func LocalNodes(t *merkle.Tree) Nodes { return localNodes{t} }

// Path implements Nodes.
func (n localNodes) Path(ctx context.Context, positions []uint64) ([]hash.Digest, error) {
	return n.Siblings(positions), ctx.Err()
}

// Layers implements Nodes.
func (n localNodes) Layers(ctx context.Context) ([][]hash.Digest, error) {
	return n.Tree.Layers(), ctx.Err()
}
