package backend

import (
	"context"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// A Relay forwards calls to passes of type T. It may do something before each call, or make calls again on another backend after a
// device has failed. [Sums], [Fractions] and [Openings] implement the passes of a batch of sums, of a look-up tree and of an
// opening by a Relay.
type Relay[T any] interface {
	// Call calls f with the passes. It may do so more than once: the results of f's last call are the valid ones.
	Call(ctx context.Context, k Kind, f func(context.Context, T) error) error
	// Close gives back what the passes hold.
	Close()
}

// A Kind says what kind of call a Relay forwards.
type Kind struct {
	Name    string
	Changes bool // the call changes the data that later calls depend on
}

// asks returns the Kind of a call that leaves the data as they are.
func asks(name string) Kind { return Kind{Name: name} }

// changes returns the Kind of a call that changes the data.
func changes(name string) Kind { return Kind{Name: name, Changes: true} }

// relayed is Relay.Call for calls with a result.
func relayed[T, R any](ctx context.Context, r Relay[T], k Kind, f func(context.Context, T) (R, error)) (v R, err error) {
	err = r.Call(ctx, k, func(ctx context.Context, on T) (err error) {
		v, err = f(ctx, on)
		return err
	})
	return v, err
}

// Sums implements sumcheck.Tables.
type Sums struct{ Relay[sumcheck.Tables] }

// Round implements sumcheck.Tables.
func (s Sums) Round(ctx context.Context, round int, r field.QM31) ([]sumcheck.Sums, error) {
	return relayed(ctx, s, changes("round"), func(ctx context.Context, t sumcheck.Tables) ([]sumcheck.Sums, error) { return t.Round(ctx, round, r) })
}

// Ends implements sumcheck.Tables.
func (s Sums) Ends(ctx context.Context, r field.QM31) ([][2]field.QM31, error) {
	return relayed(ctx, s, changes("ends"), func(ctx context.Context, t sumcheck.Tables) ([][2]field.QM31, error) { return t.Ends(ctx, r) })
}

// Fractions implements logup.Tree.
type Fractions struct{ Relay[logup.Tree] }

// Top implements logup.Tree.
func (s Fractions) Top(ctx context.Context) (logup.Fractions, error) {
	return relayed(ctx, s, asks("top"), func(ctx context.Context, t logup.Tree) (logup.Fractions, error) { return t.Top(ctx) })
}

// Begin implements logup.Tree.
func (s Fractions) Begin(ctx context.Context, k int, eq []field.QM31, lambda field.QM31) error {
	return s.Call(ctx, changes("begin"), func(ctx context.Context, t logup.Tree) error { return t.Begin(ctx, k, eq, lambda) })
}

// Round implements logup.Tree.
func (s Fractions) Round(ctx context.Context, round int, r field.QM31) (logup.Sums, error) {
	return relayed(ctx, s, changes("round"), func(ctx context.Context, t logup.Tree) (logup.Sums, error) { return t.Round(ctx, round, r) })
}

// End implements logup.Tree.
func (s Fractions) End(ctx context.Context, r field.QM31) (logup.Fractions, error) {
	return relayed(ctx, s, changes("end"), func(ctx context.Context, t logup.Tree) (logup.Fractions, error) { return t.End(ctx, r) })
}

// Openings implements whir.Passes.
type Openings struct{ Relay[whir.Passes] }

// Begin implements whir.Passes.
func (s Openings) Begin(ctx context.Context, q *whir.Functional) error {
	return s.Call(ctx, changes("begin"), func(ctx context.Context, p whir.Passes) error { return p.Begin(ctx, q) })
}

// Columns implements whir.Passes.
func (s Openings) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	return relayed(ctx, s, asks("columns"), func(ctx context.Context, p whir.Passes) ([][]field.M31, error) {
		return p.Columns(ctx, tree, positions)
	})
}

// Round implements whir.Passes.
func (s Openings) Round(ctx context.Context) (whir.Sums, error) {
	return relayed(ctx, s, asks("round"), func(ctx context.Context, p whir.Passes) (whir.Sums, error) { return p.Round(ctx) })
}

// Bind implements whir.Passes.
func (s Openings) Bind(ctx context.Context, r field.QM31) error {
	return s.Call(ctx, changes("bind"), func(ctx context.Context, p whir.Passes) error { return p.Bind(ctx, r) })
}

// Values implements whir.Passes.
func (s Openings) Values(ctx context.Context) ([]field.QM31, error) {
	return relayed(ctx, s, asks("values"), func(ctx context.Context, p whir.Passes) ([]field.QM31, error) { return p.Values(ctx) })
}

// At implements whir.Passes.
func (s Openings) At(ctx context.Context, z field.QM31) (field.QM31, error) {
	return relayed(ctx, s, asks("at"), func(ctx context.Context, p whir.Passes) (field.QM31, error) { return p.At(ctx, z) })
}

// Add implements whir.Passes.
func (s Openings) Add(ctx context.Context, c *whir.Constraints) error {
	return s.Call(ctx, changes("add"), func(ctx context.Context, p whir.Passes) error { return p.Add(ctx, c) })
}

// Commit implements whir.Passes.
func (s Openings) Commit(ctx context.Context, l soundness.Level) (hash.Digest, error) {
	return relayed(ctx, s, changes("commit"), func(ctx context.Context, p whir.Passes) (hash.Digest, error) { return p.Commit(ctx, l) })
}

// Leaves implements whir.Passes.
func (s Openings) Leaves(ctx context.Context, n int, positions []uint64) (whir.Leaves, error) {
	return relayed(ctx, s, asks("leaves"), func(ctx context.Context, p whir.Passes) (whir.Leaves, error) { return p.Leaves(ctx, n, positions) })
}

// Salts implements whir.Passes.
func (s Openings) Salts(ctx context.Context, tree int, positions []uint64) ([]hash.Digest, error) {
	return relayed(ctx, s, asks("salts"), func(ctx context.Context, p whir.Passes) ([]hash.Digest, error) { return p.Salts(ctx, tree, positions) })
}

// Auxiliary implements whir.Passes.
func (s Openings) Auxiliary(ctx context.Context, n int) ([]field.M31, error) {
	return relayed(ctx, s, asks("auxiliary"), func(ctx context.Context, p whir.Passes) ([]field.M31, error) { return p.Auxiliary(ctx, n) })
}

// AuxiliaryRound implements whir.Passes.
func (s Openings) AuxiliaryRound(ctx context.Context, u []field.QM31) (whir.Sums, error) {
	return relayed(ctx, s, changes("auxiliary round"), func(ctx context.Context, p whir.Passes) (whir.Sums, error) { return p.AuxiliaryRound(ctx, u) })
}

// BindAuxiliary implements whir.Passes.
func (s Openings) BindAuxiliary(ctx context.Context, r field.QM31) error {
	return s.Call(ctx, changes("bind auxiliary"), func(ctx context.Context, p whir.Passes) error { return p.BindAuxiliary(ctx, r) })
}

// Search implements whir.Passes.
func (s Openings) Search(ctx context.Context, work hash.Work) (uint64, error) {
	return relayed(ctx, s, asks("search"), func(ctx context.Context, p whir.Passes) (uint64, error) { return p.Search(ctx, work) })
}
