package prover

import (
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Results stores the results of finished parts of a proof, so that a later run for the same key, sizes and
// witness need not repeat them. An implementation must be safe for concurrent use. Its methods report no
// errors: what could not be stored is computed again.
type Results interface {
	// Tree returns the layers that KeepTree was given for a tree of the plan, or nil.
	// With wrong digests the proof does not verify.
	Tree(tree int) [][]hash.Digest
	KeepTree(tree int, layers [][]hash.Digest)
	// Fork returns the bytes that KeepFork was given for a sub-transcript of the plan,
	// or nil. Prove verifies them.
	Fork(fork int) []byte
	KeepFork(fork int, bytes []byte)
}

// commitTree commits to a tree of the witness, or takes it from the stored results.
func (r *run) commitTree(i int) (*whir.Tree, error) {
	c := r.plan.Trees[i].Commitment
	if r.hiding != nil {
		c.Secrets = r.hiding.secrets
	}
	kept := r.opts.Results
	if kept == nil {
		return r.backend.Commit(r.ctx, c)
	}
	if layers := kept.Tree(i); layers != nil {
		if tree, err := whir.FromLayers(c.Layout, layers); err == nil {
			r.stats.Resumed++
			return tree, nil
		}
	}
	tree, err := r.backend.Commit(r.ctx, c)
	if err != nil {
		return nil, err
	}
	layers, err := tree.Layers(r.ctx)
	if err != nil {
		return nil, err
	}
	kept.KeepTree(i, layers)
	return tree, nil
}

// resume takes sub-transcript i from the stored results, if it is there and the verifier's code accepts it. Only the bytes are stored:
// reading them gives the claims and the state at the end.
func (r *run) resume(i int, main *transcript.Sponge, public reduce.Public) (result forked, ok bool) {
	if r.opts.Results == nil {
		return forked{}, false
	}
	bytes := r.opts.Results.Fork(i)
	if bytes == nil {
		return forked{}, false
	}
	result, err := r.read(i, main, bytes, public)
	if err != nil {
		return forked{}, false
	}
	r.stats.Resumed++
	return result, true
}
