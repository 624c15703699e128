package conformance

import (
	"context"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// A hook runs a pass, with something done before or after it, and returns its
// error or another.
type hook func(pass func() error) error

// through runs a pass with a result.
func through[R any](h hook, pass func() (R, error)) (v R, err error) {
	err = h(func() (err error) {
		v, err = pass()
		return err
	})
	return v, err
}

// hookedSums implements sumcheck.Tables.
type hookedSums struct {
	hook
	of sumcheck.Tables
}

func (s hookedSums) Round(ctx context.Context, round int, r field.QM31) ([]sumcheck.Sums, error) {
	return through(s.hook, func() ([]sumcheck.Sums, error) { return s.of.Round(ctx, round, r) })
}

func (s hookedSums) Ends(ctx context.Context, r field.QM31) ([][2]field.QM31, error) {
	return through(s.hook, func() ([][2]field.QM31, error) { return s.of.Ends(ctx, r) })
}

func (s hookedSums) Close() { s.of.Close() }

// hookedTree implements logup.Tree.
type hookedTree struct {
	hook
	of logup.Tree
}

func (s hookedTree) Top(ctx context.Context) (logup.Fractions, error) {
	return through(s.hook, func() (logup.Fractions, error) { return s.of.Top(ctx) })
}

func (s hookedTree) Begin(ctx context.Context, k int, eq []field.QM31, lambda field.QM31) error {
	return s.hook(func() error { return s.of.Begin(ctx, k, eq, lambda) })
}

func (s hookedTree) Round(ctx context.Context, round int, r field.QM31) (logup.Sums, error) {
	return through(s.hook, func() (logup.Sums, error) { return s.of.Round(ctx, round, r) })
}

func (s hookedTree) End(ctx context.Context, r field.QM31) (logup.Fractions, error) {
	return through(s.hook, func() (logup.Fractions, error) { return s.of.End(ctx, r) })
}

func (s hookedTree) Close() { s.of.Close() }

// hookedOpening implements whir.Passes.
type hookedOpening struct {
	hook
	of whir.Passes
}

func (s hookedOpening) Begin(ctx context.Context, q *whir.Functional) error {
	return s.hook(func() error { return s.of.Begin(ctx, q) })
}

func (s hookedOpening) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	return through(s.hook, func() ([][]field.M31, error) { return s.of.Columns(ctx, tree, positions) })
}

func (s hookedOpening) Round(ctx context.Context) (whir.Sums, error) {
	return through(s.hook, func() (whir.Sums, error) { return s.of.Round(ctx) })
}

func (s hookedOpening) Bind(ctx context.Context, r field.QM31) error {
	return s.hook(func() error { return s.of.Bind(ctx, r) })
}

func (s hookedOpening) Values(ctx context.Context) ([]field.QM31, error) {
	return through(s.hook, func() ([]field.QM31, error) { return s.of.Values(ctx) })
}

func (s hookedOpening) At(ctx context.Context, z field.QM31) (field.QM31, error) {
	return through(s.hook, func() (field.QM31, error) { return s.of.At(ctx, z) })
}

func (s hookedOpening) Add(ctx context.Context, c *whir.Constraints) error {
	return s.hook(func() error { return s.of.Add(ctx, c) })
}

func (s hookedOpening) Commit(ctx context.Context, l soundness.Level) (hash.Digest, error) {
	return through(s.hook, func() (hash.Digest, error) { return s.of.Commit(ctx, l) })
}

func (s hookedOpening) Leaves(ctx context.Context, n int, positions []uint64) (whir.Leaves, error) {
	return through(s.hook, func() (whir.Leaves, error) { return s.of.Leaves(ctx, n, positions) })
}

func (s hookedOpening) Salts(ctx context.Context, tree int, positions []uint64) ([]hash.Digest, error) {
	return through(s.hook, func() ([]hash.Digest, error) { return s.of.Salts(ctx, tree, positions) })
}

func (s hookedOpening) Auxiliary(ctx context.Context, n int) ([]field.M31, error) {
	return through(s.hook, func() ([]field.M31, error) { return s.of.Auxiliary(ctx, n) })
}

func (s hookedOpening) AuxiliaryRound(ctx context.Context, u []field.QM31) (whir.Sums, error) {
	return through(s.hook, func() (whir.Sums, error) { return s.of.AuxiliaryRound(ctx, u) })
}

func (s hookedOpening) BindAuxiliary(ctx context.Context, r field.QM31) error {
	return s.hook(func() error { return s.of.BindAuxiliary(ctx, r) })
}

func (s hookedOpening) Search(ctx context.Context, work hash.Work) (uint64, error) {
	return through(s.hook, func() (uint64, error) { return s.of.Search(ctx, work) })
}

func (s hookedOpening) Close() { s.of.Close() }

// hookedNodes implements whir.Nodes.
type hookedNodes struct {
	hook
	whir.Nodes
}

func (n hookedNodes) Path(ctx context.Context, positions []uint64) ([]hash.Digest, error) {
	return through(n.hook, func() ([]hash.Digest, error) { return n.Nodes.Path(ctx, positions) })
}

func (n hookedNodes) Layers(ctx context.Context) ([][]hash.Digest, error) {
	return through(n.hook, func() ([][]hash.Digest, error) { return n.Nodes.Layers(ctx) })
}
