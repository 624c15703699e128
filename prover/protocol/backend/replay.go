package backend

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// replayed are passes over data, on a device or on the CPU, that go on if the device
// fails (a Relay). What passes return depends on their data and on the calls so far alone.
// So when the device fails, the same data are prepared on the CPU, the calls that have
// changed them are made again there, and then the call that failed. This is the only place
// where work is done twice.
type replayed[T any] struct {
	b        *Fallback
	prepare  func(context.Context, Backend) (T, error) // makes the passes on a backend
	now      T                                         // the passes
	onDevice bool                                      // they are on the device
	calls    []func(context.Context, T) error          // the calls made there that have changed the data
}

// newReplayed prepares passes, on the device if a step over n entries is worth that.
func newReplayed[T any](ctx context.Context, b *Fallback, n int, prepare func(context.Context, Backend) (T, error)) (*replayed[T], error) {
	r := &replayed[T]{b: b, prepare: prepare}
	var err error
	r.now, err = run(ctx, b, b.worth(n), func(on Backend) (T, error) {
		r.onDevice = on == b.device
		return prepare(ctx, on)
	})
	return r, err
}

// Call implements Relay.
func (r *replayed[T]) Call(ctx context.Context, k Kind, f func(context.Context, T) error) error {
	if r.onDevice && !r.b.lost {
		err := f(ctx, r.now)
		if err == nil {
			if k.Changes {
				r.calls = append(r.calls, f)
			}
			return nil
		}
		if err := r.b.lose(ctx, err); err != nil {
			return err
		}
	}
	if r.onDevice {
		if err := r.move(ctx); err != nil {
			return err
		}
	}
	return f(ctx, r.now)
}

// move goes over to the CPU: it closes the device's passes, prepares new ones and makes the
// recorded calls.
func (r *replayed[T]) move(ctx context.Context) error {
	r.Close()
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

// Close implements Relay.
func (r *replayed[T]) Close() {
	if c, ok := any(r.now).(interface{ Close() }); ok {
		c.Close()
	}
}

// replayedNodes are the digests of a commitment made on the device (whir.Nodes), which is made
// again on the CPU if the device fails.
type replayedNodes struct {
	*replayed[whir.Nodes]
	root  hash.Digest
	depth int
}

// errDigests says that the CPU has found another root for the same commitment: the device has computed wrongly.
var errDigests = errors.New("the device computed a commitment that the CPU does not find")

// Depth implements whir.Nodes.
func (n *replayedNodes) Depth() int { return n.depth }

// Root implements whir.Nodes.
func (n *replayedNodes) Root() hash.Digest { return n.root }

// Path implements whir.Nodes.
func (n *replayedNodes) Path(ctx context.Context, positions []uint64) ([]hash.Digest, error) {
	return relayed(ctx, n, asks("path"), func(ctx context.Context, t whir.Nodes) ([]hash.Digest, error) { return t.Path(ctx, positions) })
}

// Layers implements whir.Nodes. From then on the digests are in this process's
// memory.
func (n *replayedNodes) Layers(ctx context.Context) ([][]hash.Digest, error) {
	layers, err := relayed(ctx, n, asks("layers"), func(ctx context.Context, t whir.Nodes) ([][]hash.Digest, error) { return t.Layers(ctx) })
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
