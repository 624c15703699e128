package conformance

import (
	"context"
	"errors"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// cancelled checks that every operation and every pass of a backend returns the
// context's error once that has ended.
func cancelled(t *testing.T, open Open) {
	rng := newRandom(40)
	ended, cancel := context.WithCancel(background)
	cancel()
	check := func(what string) func(any, error) {
		return func(_ any, err error) {
			t.Helper()
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}

	c := newBatch(rng, []size{{10, 2}, {3, 0}})
	l := newLookups(rng, 5, [][]int{{40}, {7, 9}})
	leaves := l.leaves(rng, 0)
	b := open(&l.graph, &l.witness)
	defer b.Close()
	table := must(b.Upload(background, rng.elements(8)))(t)
	check("Eval")(b.Eval(ended, []backend.Evaluation{{Tensor: 0, Point: rng.elements(5)}}))
	check("Restrict")(b.Restrict(ended, []backend.Restriction{{Tensor: 0, Bound: make([][]field.QM31, 1), Keep: []int{0}}}))
	check("Upload")(b.Upload(ended, rng.elements(8)))
	check("Download")(b.Download(ended, table))
	check("Inner")(b.Inner(ended, []backend.Instance{{A: table, B: table}}))
	check("Sums")(c.on(ended, b))
	check("Fractions")(b.Fractions(ended, leaves))
	check("RowSums")(b.RowSums(ended, []backend.RowSum{{Column: backend.Column{Rows: 1}, Order: rng.Perm(40), Ends: []int{40}, Weights: rng.elements(40)}}))
	check("ColumnSums")(b.ColumnSums(ended, []backend.ColumnSum{{Column: backend.Column{Rows: 1}, Weights: rng.elements(1)}}))

	stops(t, "sums", func(ctx context.Context, h hook) error {
		_, err := c.prove(ctx, backend.Sums{Relay: hooked[sumcheck.Tables]{h, must(c.on(background, b))(t)}})
		return err
	})
	stops(t, "fractions", func(ctx context.Context, h hook) error {
		_, err := proveFractions(ctx, leaves.Size, backend.Fractions{Relay: hooked[logup.Tree]{h, must(b.Fractions(background, leaves))(t)}})
		return err
	})

	s := newStacks(t, rng, hash.Blake3, soundness.Johnson, [2]int{6, 7})
	onStacks := open(&s.graph, &s.witness)
	defer onStacks.Close()
	check("Commit")(s.commit(ended, onStacks))
	check("Opening")(onStacks.Opening(ended, s.opening))
	trees := must(s.commit(background, onStacks))(t)
	check("Path")(trees[0].Nodes().Path(ended, []uint64{0}))
	check("Layers")(trees[0].Layers(ended))
	stops(t, "opening", func(ctx context.Context, h hook) error {
		_, err := s.prove(ctx, trees, backend.Openings{Relay: hooked[whir.Passes]{h, must(onStacks.Opening(background, s.opening))(t)}})
		return err
	})
}

// stops calls prove again and again, and ends its context before pass 0, pass 1, and so on; of the later
// passes only before some. prove must then fail without further passes.
func stops(t *testing.T, what string, prove func(context.Context, hook) error) {
	t.Helper()
	for at := 0; ; at += 1 + at/4 {
		ctx, cancel := context.WithCancel(background)
		passes := 0
		err := prove(ctx, func(pass func() error) error {
			if passes == at {
				cancel()
			}
			passes++
			return pass()
		})
		cancel()
		if passes <= at { // the proof was complete before pass number at
			if err != nil || at == 0 {
				t.Errorf("%s, %d passes: %v", what, passes, err)
			}
			return
		}
		if !errors.Is(err, context.Canceled) || passes > at+1 {
			t.Errorf("%s, cancelled before pass %d of %d: %v", what, at, passes, err)
			return
		}
	}
}
