package prover

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Linked is one of two keys that are to be linked, with the tree of its weights (both from CommitMasked). Hiding must have the
// Weights that CommitMasked was given, and Reserve.
type Linked struct {
	Key    *proof.Key
	Tree   *whir.Tree
	Hiding *Hiding
}

// Link proves that two keys that hide weights commit to the same weights w (docs/protocol.md, "Links"). Like a proof, a link opens
// positions of both trees, which count against the budgets of both keys.
func Link(ctx context.Context, of [2]Linked, w model.Weights, opts Options) (*proof.Link, error) {
	p, err := proof.LinkPlan(of[0].Key, of[1].Key, nil)
	if err != nil {
		return nil, err
	}
	link := &proof.Link{Keys: [2][sha256.Size]byte{of[0].Key.Digest, of[1].Key.Digest}, Levels: p.Params.Levels}
	main := link.Statement(of[0].Key)
	o := p.Opening()
	levels := sha256.Sum256(fmt.Appendf(nil, "link %v", p.Params.Levels))
	var secrets []byte
	trees := make([]*whir.Tree, len(p.Trees))
	for i, k := range of {
		if k.Hiding == nil || k.Hiding.Weights == nil || k.Hiding.Reserve == nil || k.Tree.Root() != k.Key.FixedTree().Root {
			return nil, errors.New("a key is linked with the secret that was made with it")
		}
		o.Commitments[i].Secrets = &backend.Secrets{Key: *k.Hiding.Weights}
		trees[i] = k.Tree
		secrets = append(secrets, k.Hiding.Weights[:]...)
	}
	from := of[0].Hiding.circumstances(main, levels)
	from.hidden = secrets
	o.Commitments[2].Secrets = &backend.Secrets{Key: from.masks()}

	g, err := of[0].Key.Circuit.At(of[0].Key.Circuit.Unit())
	if err != nil {
		return nil, err
	}
	b := opts.backend(g, fixedOnly{w})
	defer b.Close()
	if trees[2], err = b.Commit(ctx, o.Commitments[2]); err != nil {
		return nil, err
	}
	out := transcript.NewWriter(main)
	out.SendDigest(trees[2].Root())
	point := out.Challenges(p.Vars())
	terms := p.Terms(point, out.Challenge())
	for _, k := range of {
		if err := k.Hiding.Reserve([16]byte(stateOf(out.Sponge)), p.Params.Levels[0].Queries); err != nil {
			return nil, err
		}
	}
	passes, err := b.Opening(ctx, o)
	if err != nil {
		return nil, err
	}
	defer passes.Close()
	if err := whir.Open(ctx, out, p.Params, trees, passes, o.RowOffsets, terms, field.Zero); err != nil {
		return nil, err
	}
	link.Body = out.Bytes()
	return link, nil
}
