package prover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/verifier"
)

// fillsRow is a backend that commits to, and opens, a witness with one value changed
// in its rows, where no tensor need be.
type fillsRow struct {
	backend.Backend
	plan *plan.Plan
	wit  backend.Witness
	row  int // of the witness's tree
	col  int
}

// filled are rows with the value changed.
type filled struct {
	whir.RowSource
	row, col int
}

func (f filled) FillRow(i, from int, dst []int32) {
	f.RowSource.FillRow(i, from, dst)
	if i == f.row && f.col >= from && f.col < from+len(dst) {
		dst[f.col-from]++
	}
}

func (f *fillsRow) rows(c backend.Commitment) whir.RowSource {
	return filled{cpu.NewRows(f.plan.Graph, f.wit, c), f.row, f.col}
}

func (f *fillsRow) Commit(ctx context.Context, c backend.Commitment) (*whir.Tree, error) {
	return whir.Commit(ctx, c.Layout, f.rows(c))
}

func (f *fillsRow) Opening(_ context.Context, o backend.Opening) (whir.Passes, error) {
	var srcs []whir.RowSource
	for i, c := range o.Commitments {
		if f.plan.Trees[i].Fixed {
			srcs = append(srcs, cpu.NewRows(f.plan.Graph, f.wit, c))
		} else {
			srcs = append(srcs, f.rows(c))
		}
	}
	return whir.NewPasses(nil, o.Params, f.plan.Layouts(), srcs, o.RowOffsets), nil
}

// TestUnusedEndsAreZero: in no chunk can a prover put anything behind the last value
// of its witness, so that there is one commitment to a witness.
func TestUnusedEndsAreZero(t *testing.T) { eachSuite(t, unusedEndsAreZero) }

func unusedEndsAreZero(t *testing.T, suite hash.Suite) {
	f := newFixture(t, suite, 400)
	p, err := f.key.Plan(f.b.g.Instance)
	if err != nil {
		t.Fatal(err)
	}
	wit, err := forward.Run(context.Background(), &f.b.g, f.b.w, f.in)
	if err != nil {
		t.Fatal(err)
	}
	prove := func(row, col int) error {
		r := newRun(context.Background(), f.key, p, f.tree, wit, Options{})
		defer r.close()
		if row >= 0 {
			r.backend = &fillsRow{r.backend, p, wit, row, col}
		}
		var buf bytes.Buffer
		if err := r.prove(&buf); errors.Is(err, proof.ErrPublic) {
			return fmt.Errorf("%w: %w", verifier.ErrInvalid, err) // no file says so
		} else if err != nil {
			t.Fatal(err)
		}
		_, err := verifier.Verify(f.key, &buf)
		return err
	}
	if err := prove(-1, 0); err != nil {
		t.Fatal(err)
	}
	tree := p.WitnessTree()
	if len(tree.Groups) < 2 {
		t.Fatal("the witness has one chunk")
	}
	tried, row := 0, 0
	for i, g := range tree.Groups {
		used := int(tree.Parts[i].Stack.Size)
		end := g.Rows << tree.RowVars
		last := row + g.Rows - 1
		row += g.Rows
		if used == end {
			continue
		}
		// The first unused value, the last one, and one in between.
		for _, at := range []int{used, (used + end) / 2, end - 1} {
			tried++
			what := fmt.Sprintf("value %d of chunk %d, which has %d in %d", at, i, used, end)
			if err := prove(last, at&(1<<tree.RowVars-1)); !errors.Is(err, verifier.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	if tried == 0 {
		t.Fatal("no row has an unused end")
	}
}
