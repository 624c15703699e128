package backend

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// replayed are passes over data on a device, or on the CPU, that survive the
// device. What they return depends on their data and on the calls so far alone:
// when the device fails, the same data are prepared on the CPU, the calls that
// changed them are made again there, and the call in hand goes on as if nothing
// had happened. This is the only place where work is done twice.
type replayed[T any] struct {
	b        *Fallback
	prepare  func(context.Context, Backend) (T, error)
	now      T
	onDevice bool
	calls    []func(context.Context, T) error // that changed the data, on the device
}

// newReplayed prepares passes over n entries.
func newReplayed[T any](ctx context.Context, b *Fallback, n int, prepare func(context.Context, Backend) (T, error)) (*replayed[T], error) {
	r := &replayed[T]{b: b, prepare: prepare}
	var err error
	r.now, err = run(ctx, b, b.worth(n), func(on Backend) (T, error) {
		r.onDevice = on == b.device
		return prepare(ctx, on)
	})
	return r, err
}

// A kind of call says whether it changes the data.
type kind bool

const (
	asks    kind = false
	changes kind = true
)

// call makes a call.
func call[T, R any](ctx context.Context, r *replayed[T], k kind, f func(context.Context, T) (R, error)) (R, error) {
	if r.onDevice && !r.b.lost {
		v, err := f(ctx, r.now)
		if err == nil {
			if k == changes {
				r.calls = append(r.calls, func(ctx context.Context, on T) error { _, err := f(ctx, on); return err })
			}
			return v, nil
		}
		if err := r.b.lose(ctx, err); err != nil {
			return v, err
		}
	}
	if r.onDevice {
		if err := r.move(ctx); err != nil {
			var none R
			return none, err
		}
	}
	return f(ctx, r.now)
}

// move brings the passes to the CPU.
func (r *replayed[T]) move(ctx context.Context) error {
	r.close()
	on, err := r.prepare(ctx, r.b.cpu)
	if err != nil {
		return err
	}
	for _, again := range r.calls {
		if err := again(ctx, on); err != nil {
			return err
		}
	}
	r.now, r.onDevice, r.calls = on, false, nil
	return nil
}

// close gives back what the passes hold.
func (r *replayed[T]) close() {
	if c, ok := any(r.now).(interface{ Close() }); ok {
		c.Close()
	}
}

// do is call for calls without a result.
func do[T any](ctx context.Context, r *replayed[T], f func(context.Context, T) error) error {
	_, err := call(ctx, r, changes, func(ctx context.Context, t T) (struct{}, error) { return struct{}{}, f(ctx, t) })
	return err
}

// replayedSums implements sumcheck.Tables.
type replayedSums struct{ *replayed[sumcheck.Tables] }

func (s replayedSums) Round(ctx context.Context, round int, r field.QM31) ([]sumcheck.Sums, error) {
	return call(ctx, s.replayed, changes, func(ctx context.Context, t sumcheck.Tables) ([]sumcheck.Sums, error) { return t.Round(ctx, round, r) })
}

func (s replayedSums) Ends(ctx context.Context, r field.QM31) ([][2]field.QM31, error) {
	return call(ctx, s.replayed, changes, func(ctx context.Context, t sumcheck.Tables) ([][2]field.QM31, error) { return t.Ends(ctx, r) })
}

func (s replayedSums) Close() { s.close() }

// replayedTree implements logup.Tree.
type replayedTree struct{ *replayed[logup.Tree] }

func (s replayedTree) Top(ctx context.Context) (logup.Fractions, error) {
	return call(ctx, s.replayed, asks, func(ctx context.Context, t logup.Tree) (logup.Fractions, error) { return t.Top(ctx) })
}

func (s replayedTree) Begin(ctx context.Context, k int, eq []field.QM31, lambda field.QM31) error {
	return do(ctx, s.replayed, func(ctx context.Context, t logup.Tree) error { return t.Begin(ctx, k, eq, lambda) })
}

func (s replayedTree) Round(ctx context.Context, round int, r field.QM31) (logup.Sums, error) {
	return call(ctx, s.replayed, changes, func(ctx context.Context, t logup.Tree) (logup.Sums, error) { return t.Round(ctx, round, r) })
}

func (s replayedTree) End(ctx context.Context, r field.QM31) (logup.Fractions, error) {
	return call(ctx, s.replayed, changes, func(ctx context.Context, t logup.Tree) (logup.Fractions, error) { return t.End(ctx, r) })
}

func (s replayedTree) Close() { s.close() }

// replayedOpening implements whir.Passes.
type replayedOpening struct{ *replayed[whir.Passes] }

func (s replayedOpening) Begin(ctx context.Context, q *whir.Functional) error {
	return do(ctx, s.replayed, func(ctx context.Context, p whir.Passes) error { return p.Begin(ctx, q) })
}

func (s replayedOpening) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	return call(ctx, s.replayed, asks, func(ctx context.Context, p whir.Passes) ([][]field.M31, error) {
		return p.Columns(ctx, tree, positions)
	})
}

func (s replayedOpening) Round(ctx context.Context) (whir.Sums, error) {
	return call(ctx, s.replayed, asks, func(ctx context.Context, p whir.Passes) (whir.Sums, error) { return p.Round(ctx) })
}

func (s replayedOpening) Bind(ctx context.Context, r field.QM31) error {
	return do(ctx, s.replayed, func(ctx context.Context, p whir.Passes) error { return p.Bind(ctx, r) })
}

func (s replayedOpening) Values(ctx context.Context) ([]field.QM31, error) {
	return call(ctx, s.replayed, asks, func(ctx context.Context, p whir.Passes) ([]field.QM31, error) { return p.Values(ctx) })
}

func (s replayedOpening) At(ctx context.Context, z field.QM31) (field.QM31, error) {
	return call(ctx, s.replayed, asks, func(ctx context.Context, p whir.Passes) (field.QM31, error) { return p.At(ctx, z) })
}

func (s replayedOpening) Add(ctx context.Context, c *whir.Constraints) error {
	return do(ctx, s.replayed, func(ctx context.Context, p whir.Passes) error { return p.Add(ctx, c) })
}

func (s replayedOpening) Commit(ctx context.Context, l soundness.Level) (hash.Digest, error) {
	return call(ctx, s.replayed, changes, func(ctx context.Context, p whir.Passes) (hash.Digest, error) { return p.Commit(ctx, l) })
}

func (s replayedOpening) Leaves(ctx context.Context, n int, positions []uint64) (whir.Leaves, error) {
	return call(ctx, s.replayed, asks, func(ctx context.Context, p whir.Passes) (whir.Leaves, error) { return p.Leaves(ctx, n, positions) })
}

func (s replayedOpening) Salts(ctx context.Context, tree int, positions []uint64) ([]hash.Digest, error) {
	return call(ctx, s.replayed, asks, func(ctx context.Context, p whir.Passes) ([]hash.Digest, error) { return p.Salts(ctx, tree, positions) })
}

func (s replayedOpening) Auxiliary(ctx context.Context, n int) ([]field.M31, error) {
	return call(ctx, s.replayed, asks, func(ctx context.Context, p whir.Passes) ([]field.M31, error) { return p.Auxiliary(ctx, n) })
}

func (s replayedOpening) AuxiliaryRound(ctx context.Context, u []field.QM31) (whir.Sums, error) {
	return call(ctx, s.replayed, changes, func(ctx context.Context, p whir.Passes) (whir.Sums, error) { return p.AuxiliaryRound(ctx, u) })
}

func (s replayedOpening) BindAuxiliary(ctx context.Context, r field.QM31) error {
	return do(ctx, s.replayed, func(ctx context.Context, p whir.Passes) error { return p.BindAuxiliary(ctx, r) })
}

func (s replayedOpening) Search(ctx context.Context, work hash.Work) (uint64, error) {
	return call(ctx, s.replayed, asks, func(ctx context.Context, p whir.Passes) (uint64, error) { return p.Search(ctx, work) })
}

func (s replayedOpening) Close() { s.close() }

// replayedNodes implements whir.Nodes.
type replayedNodes struct {
	*replayed[whir.Nodes]
	root  hash.Digest
	depth int
}

// errDigests cannot happen to a device that computes what it is told.
var errDigests = errors.New("the device computed a commitment that the CPU does not find")

func (n *replayedNodes) Depth() int { return n.depth }

func (n *replayedNodes) Root() hash.Digest { return n.root }

func (n *replayedNodes) Path(ctx context.Context, positions []uint64) ([]hash.Digest, error) {
	return call(ctx, n.replayed, asks, func(ctx context.Context, t whir.Nodes) ([]hash.Digest, error) { return t.Path(ctx, positions) })
}

// Layers implements whir.Nodes. From then on the digests are in this process's
// memory.
func (n *replayedNodes) Layers(ctx context.Context) ([][]hash.Digest, error) {
	layers, err := call(ctx, n.replayed, asks, func(ctx context.Context, t whir.Nodes) ([][]hash.Digest, error) { return t.Layers(ctx) })
	if err != nil || !n.onDevice {
		return layers, err
	}
	tree, err := merkle.FromLayers(layers)
	if err != nil {
		return nil, err
	}
	n.now, n.onDevice = whir.LocalNodes(tree), false
	return layers, nil
}
