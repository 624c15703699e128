package whir

import (
	"context"

	"github.com/prove-model/prove-model/prover/code"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/merkle"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/transcript"
)

// local implements [Passes] in this process's memory.
type local struct {
	rows   *stackRows
	pair   pair
	folded []*foldedWords
}

// NewPasses reads every row of the sources once and returns the passes over them.
// srcs[i] has the rows of layouts[i], of which slot 0 begins in table row
// rowOffsets[i]. Memory is 6 bytes
// for each value of the stack and, in the course of the passes, some 200 to 400,
// depending on the parameters, for each value of one row.
func NewPasses(params *soundness.Params, layouts []Layout, srcs []RowSource, rowOffsets []uint64) Passes {
	first := params.Levels[0]
	return &local{rows: loadRows(first.RowVars, first.FoldVars, layouts, srcs, rowOffsets)}
}

// Grid implements Passes.
func (l *local) Grid(ctx context.Context, vars int, q *Functional) ([]field.QM31, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return productGrid(l.rows, vars, q).values, nil
}

// Fold implements Passes.
func (l *local) Fold(ctx context.Context, weights []field.QM31, q *Functional) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.pair = pair{f: l.rows.fold(weights), q: q.folded(weights, len(l.rows.rows))}
	return nil
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
	return l.pair.round(), nil
}

// Bind implements Passes.
func (l *local) Bind(ctx context.Context, r field.QM31) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.pair.bind(r)
	return nil
}

// Values implements Passes.
func (l *local) Values(ctx context.Context) ([]field.QM31, error) { return l.pair.f, ctx.Err() }

// At implements Passes.
func (l *local) At(ctx context.Context, z field.QM31) (field.QM31, error) {
	if err := ctx.Err(); err != nil {
		return field.Zero, err
	}
	return code.EvalAt(l.pair.f, z), nil
}

// Add implements Passes.
func (l *local) Add(ctx context.Context, c *Constraints) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.addTo(l.pair.q)
	return nil
}

// Commit implements Passes.
func (l *local) Commit(ctx context.Context, level soundness.Level) (poseidon2.Digest, error) {
	if err := ctx.Err(); err != nil {
		return poseidon2.Digest{}, err
	}
	row := commitFolded(l.pair.f, level)
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
	return Leaves{row.columns(positions), row.nodes.Siblings(positions)}, nil
}

// Search implements Passes.
func (l *local) Search(ctx context.Context, start poseidon2.State, bits int) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return transcript.SearchNonce(start, bits), nil
}

// Close implements Passes: there is nothing to give back.
func (l *local) Close() {}

// localNodes implements [Nodes] in this process's memory.
type localNodes struct{ *merkle.Tree }

// LocalNodes returns the digests of a tree as Nodes.
func LocalNodes(t *merkle.Tree) Nodes { return localNodes{t} }

// Path implements Nodes.
func (n localNodes) Path(ctx context.Context, positions []uint64) ([]poseidon2.Digest, error) {
	return n.Siblings(positions), ctx.Err()
}

// Layers implements Nodes.
func (n localNodes) Layers(ctx context.Context) ([][]poseidon2.Digest, error) {
	return n.Tree.Layers(), ctx.Err()
}
