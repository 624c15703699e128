package conformance

import (
	"context"

	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// A hook calls pass, may do something before and after it, and returns its
// error or another one.
type hook func(pass func() error) error

// through calls a pass that has a result through a hook.
func through[R any](h hook, pass func() (R, error)) (v R, err error) {
	err = h(func() (err error) {
		v, err = pass()
		return err
	})
	return v, err
}

// hooked implements backend.Relay: it calls every pass of `of` through the hook.
type hooked[T interface{ Close() }] struct {
	hook
	of T
}

// Call implements backend.Relay, as Close does.
func (h hooked[T]) Call(ctx context.Context, _ backend.Kind, f func(context.Context, T) error) error {
	return h.hook(func() error { return f(ctx, h.of) })
}

func (h hooked[T]) Close() { h.of.Close() }

// hookedNodes implements whir.Nodes, with the methods that may read digests from a device called through the hook.
type hookedNodes struct {
	hook
	whir.Nodes
}

// Path implements whir.Nodes, as Layers does.
func (n hookedNodes) Path(ctx context.Context, positions []uint64) ([]hash.Digest, error) {
	return through(n.hook, func() ([]hash.Digest, error) { return n.Nodes.Path(ctx, positions) })
}

func (n hookedNodes) Layers(ctx context.Context) ([][]hash.Digest, error) {
	return through(n.hook, func() ([][]hash.Digest, error) { return n.Nodes.Layers(ctx) })
}
