package hiding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/regular"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/ledger"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/prover"
)

// SecretOf returns the file of the secret of a commitment in a file.
func SecretOf(file string) string { return file + ".secret" }

// Input is a commitment to an input, with its secret.
type Input struct {
	*proof.InputCommitment
	ledger *ledger.Ledger
}

// CommitInput commits to an input of the given shape, whose values are integers in units of 2^(−frac). The commitment is good for so many
// proofs under keys of the given security; 0 is usualProofs. It is written to file, and its secret to SecretOf(file); neither file may
// exist.
func CommitInput(ctx context.Context, sec proof.Security, shape []int, frac int, values []int32, proofs int, file string) (_ *Input, err error) {
	defer must.Catch(&err)
	c := must.Get(prover.PlanInput(sec, shape, frac, cmp.Or(proofs, usualProofs)))
	seed := ledger.NewSeed()
	must.OK(prover.CommitInput(ctx, c, values, prover.InputKey(c, values, seed)))
	f := must.Get(os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644))
	_, err = f.Write(c.Encode())
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		var l *ledger.Ledger
		l, err = ledger.Create(SecretOf(file), ledger.Secret{Seed: seed, Key: c.Digest(), RowVars: c.RowVars, TailLog: c.TailLog, Positions: soundness.Budget(c.RowVars, c.TailLog)})
		if err == nil {
			return &Input{c, l.OfInput()}, nil
		}
	}
	_ = os.Remove(file)
	return nil, err
}

// CommitInputOf commits to an array of real numbers, as CommitInput does. The array is an input of a key's model: the one of the given
// name, or the only one if name is "". It is rounded and clamped as the model does; clamped is the number of entries that were out of
// range.
func CommitInputOf(ctx context.Context, key *proof.Key, name string, in onnx.Inputs, proofs int, file string) (c *Input, clamped int, err error) {
	defer must.Catch(&err)
	g := must.Get(key.Circuit.At(key.Circuit.Unit()))
	at := slices.IndexFunc(g.Inputs, func(id model.TensorID) bool { return g.Tensors[id].Name == name })
	if name == "" && len(g.Inputs) == 1 {
		at = 0
	}
	if at < 0 {
		return nil, 0, fmt.Errorf("the model of the key has %d inputs, and none is %q", len(g.Inputs), name)
	}
	id := g.Inputs[at]
	t := g.Tensors[id]
	switch {
	case key.Text() != nil || g.IsIds(id):
		return nil, 0, fmt.Errorf("input %q: entries that are indexes, as tokens are, cannot be hidden", t.Name)
	case len(t.Fracs) > 0 || t.Numbers != model.FiniteNumbers || t.Kind != model.Input:
		return nil, 0, fmt.Errorf("input %q: its entries are on several scales, need not be finite, or there are none", t.Name)
	case proofs < 0:
		return nil, 0, fmt.Errorf("a commitment for %d proofs", proofs)
	}
	list := must.Get(in.For([]graph.Input{{Name: t.Name, Shape: t.Shape}}))
	one := &model.Graph{Tensors: []model.Tensor{t}, Inputs: []model.TensorID{0}}
	ints, clamped, err := one.RoundInputs([][]float64{list[0].Values})
	must.OK(err)
	c, err = CommitInput(ctx, key.Security, t.Shape, t.Frac, ints[0], proofs, file)
	return c, clamped, err
}

// ReadInput reads a commitment to an input from a file.
func ReadInput(file string) (_ *proof.InputCommitment, err error) {
	defer must.Catch(&err)
	f := must.Get(regular.Open(file))
	defer f.Close()
	b := make([]byte, proof.MaxInputSize+1)
	n := must.GetAs(f.Read(b))("%s", file)
	return must.GetAs(proof.DecodeInput(b[:n]))("%s", file), nil
}

// OpenInput reads a commitment to an input from a file, and its secret from the file beside it.
func OpenInput(file string) (_ *Input, err error) {
	defer must.Catch(&err)
	c := must.Get(ReadInput(file))
	l := must.GetAs(ledger.Open(SecretOf(file)))("the secret of the input in %s", file)
	if l.Key != c.Digest() {
		return nil, fmt.Errorf("%s is the secret of another input, of commitment %x", l.Path(), l.Key)
	}
	return &Input{c, l.OfInput()}, nil
}

// Ready does for a committed input what Key.Ready does for a key.
func (i *Input) Ready(p *plan.Plan, share ledger.Share, n int) error {
	if err := i.ledger.Claim(share); err != nil {
		return err
	}
	return i.ledger.Check(p.Params.Levels[0].Queries, n)
}

// Options returns what the prover needs to know of the secret; values are the input's.
func (i *Input) Options(values []int32) prover.InputSecret {
	return prover.InputSecret{InputCommitment: i.InputCommitment, Key: prover.InputKey(i.InputCommitment, values, i.ledger.Seed),
		Reserve: func(id [16]byte, positions int) error { return i.ledger.Reserve(id, positions) }}
}

// Budget says how many positions and proofs of the commitment are left, under keys of the given security.
func (i *Input) Budget(sec proof.Security) (_ *ledger.Budget, err error) {
	defer must.Catch(&err)
	b := must.Get(i.ledger.Budget())
	b.Each = int(sec.Config().MostQueries(i.TailLog))
	return b, nil
}
