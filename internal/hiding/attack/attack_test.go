package attack

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
)

// TestProofsOfAKey: as many proofs of a key as its budget is for tell nothing of its rows, exactly; the first position beyond tells
// something; and enough of them give all weights. So do proofs of a key without tails, from the first on.
func TestProofsOfAKey(t *testing.T) {
	c, err := golden.Read("../../../testdata/golden/digits")
	if err != nil {
		t.Fatal(err)
	}
	sec := proof.Security{TargetBits: 40, GrindBits: 8}
	p, err := prover.PlanMaskedAs(c.Template, sec, 9, 2)
	if err != nil {
		t.Fatal(err)
	}
	tails, err := prover.TailsKey(c.Template, p, c.Weights, sec, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	key, tree, err := prover.CommitMasked(t.Context(), c.Template, p, c.Weights, sec, tails, prover.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.Template.At(c.Instance)
	if err != nil {
		t.Fatal(err)
	}
	fixed := p.FixedTree()
	rows := Rows{fixed.RowVars, fixed.Groups[0].Tail}
	budget := soundness.Budget(fixed.RowVars, p.Choice.FixedTailLog)
	columns := map[uint64][]field.M31{}
	var positions []uint64
	reserved := uint64(0)
	for n := 0; len(columns) < 1<<rows.Vars+rows.Tail; n++ {
		wit, err := forward.Run(t.Context(), g, c.Weights, c.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		_, err = prover.Prove(t.Context(), key, c.Instance, tree, wit.Final(), &file, prover.Options{Hiding: &prover.Hiding{
			Weights: tails, Reserve: func(_ [16]byte, n int) error { reserved += uint64(n); return nil },
		}})
		wit.Close()
		if err != nil {
			t.Fatal(err)
		}
		err = verifier.Opened(key, &file, func(at []uint64, opened [][]field.M31) {
			for i := range at {
				if _, known := columns[at[i]]; !known {
					positions = append(positions, at[i])
				}
				columns[at[i]] = opened[i]
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if reserved <= budget {
			if leak := rows.Leak(positions); leak != 0 {
				t.Fatalf("%d proofs, %d positions of a budget of %d: %d relations of every row", n+1, len(positions), budget, leak)
			}
			if leak := (Rows{rows.Vars, 0}).Leak(positions); leak != len(positions) {
				t.Fatalf("%d positions of rows without tails: %d relations", len(positions), leak)
			}
			if _, err := rows.Solve(columns); !errors.Is(err, ErrUnknown) {
				t.Fatalf("the rows are known within the budget: %v", err)
			}
		}
		if n > 1000 {
			t.Fatal("positions do not come")
		}
	}
	if uint64(rows.Tail) != budget || reserved <= budget {
		t.Fatalf("tails of %d elements, a budget of %d, of which %d were used", rows.Tail, budget, reserved)
	}
	for _, beyond := range []int{0, 1, 5} {
		if leak := rows.Leak(positions[:rows.Tail+beyond]); leak != beyond {
			t.Errorf("%d positions beyond the budget: %d relations of every row", beyond, leak)
		}
	}
	found, err := rows.Solve(columns)
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	for i, part := range fixed.Parts {
		for k := range fixed.Groups[i].Rows {
			want := make([]int32, 1<<rows.Vars)
			part.Stack.Fill(p.Graph, c.Weights, uint64(part.First+k)<<rows.Vars, want)
			own := make([]field.M31, len(want))
			field.FromInt32Vec(own, want)
			if !slices.Equal(found[row][:len(own)], own) {
				t.Fatalf("row %d is not the weights'", row)
			}
			row++
		}
	}
}
