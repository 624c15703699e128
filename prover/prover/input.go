package prover

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// InputSecret is what a proof of an input takes that was committed to: the commitment, what its tails come from, and the count of its
// positions, as Hiding has it for weights.
type InputSecret struct {
	*proof.InputCommitment
	Key     *prf.Key
	Reserve func(proof [16]byte, positions int) error
}

// Of is the commitment as an instance has it, of the input at a place among the template's.
func (s *InputSecret) Of(input int) model.Committed {
	return model.Committed{Input: input, Frac: s.Frac, RowVars: s.RowVars, TailLog: s.TailLog}
}

// PlanInput returns a commitment without its root, to an input of this shape in units of 2^(−frac), that is good for so many proofs. Proofs of
// keys of this security can be of it.
func PlanInput(sec proof.Security, shape []int, frac, proofs int) (*proof.InputCommitment, error) {
	config := sec.Config()
	_, stack := inputStack(shape)
	rowVars, tailLog, err := soundness.ChooseHidingKey(config, stack.Size, proofs)
	if err != nil {
		return nil, err
	}
	return &proof.InputCommitment{Hash: sec.Hash, RowVars: rowVars, TailLog: tailLog, LogBlowup: config.LogBlowup, Frac: frac, Shape: shape}, nil
}

// inputStack is a circuit of an input alone, and the stack of it, as every circuit lays it out.
func inputStack(shape []int) (*model.Graph, *model.Stack) {
	g := &model.Graph{Tensors: []model.Tensor{{Shape: shape, Kind: model.Witness}}}
	return g, model.NewStack(g, []model.TensorID{0})
}

// InputKey returns what the tails and salts of an input's tree come from: of a seed another one for other values, and for rows or
// tails of another length.
func InputKey(c *proof.InputCommitment, values []int32, seed [32]byte) *prf.Key {
	rootless := *c
	rootless.Root = [8]uint32{}
	own, digest := rootless.Digest(), integersDigest([]ints.Ints{ints.Int32s(values)})
	k := prf.Derive("prove-model masks of an input 1", seed[:], own[:], binary.LittleEndian.AppendUint64(nil, uint64(len(values))), digest[:])
	return &k
}

// CommitInput sets the root of a commitment (PlanInput) to that of these values, with a key of theirs (InputKey).
func CommitInput(ctx context.Context, c *proof.InputCommitment, values []int32, key *prf.Key) error {
	if len(values) != model.Size(c.Shape) {
		return fmt.Errorf("%d values of an input of shape %v", len(values), c.Shape)
	}
	g, stack := inputStack(c.Shape)
	o := backend.SingleStack(c.Hash, stack, c.RowVars, c.LogBlowup)
	for i := range o.Groups {
		o.Groups[i].Tail = int(soundness.Budget(c.RowVars, c.TailLog))
	}
	o.Secrets = &backend.Secrets{Key: *key}
	tree, err := whir.Commit(ctx, o.Layout, cpu.NewRows(g, inputOnly{values: values}, o))
	if err != nil {
		return err
	}
	c.Root = tree.Root()
	return nil
}

// inputOnly is the witness of inputStack's circuit.
type inputOnly struct {
	fixedOnly
	values []int32
}

// Tensor implements backend.Witness.
func (w inputOnly) Tensor(model.TensorID) []int32 { return w.values }

// checkInputs checks that a proof has the secrets of what its instance says was committed to.
func checkInputs(h *Hiding, in *model.Instance) error {
	if h == nil {
		return nil // a proof that hides nothing
	}
	if len(h.Inputs) != len(in.Committed) {
		return fmt.Errorf("%d commitments of %d inputs that were committed to", len(h.Inputs), len(in.Committed))
	}
	for i := range h.Inputs {
		s := &h.Inputs[i]
		if s.InputCommitment == nil || s.Key == nil || s.Reserve == nil {
			return errors.New("an input that was committed to is proved with the secret that was made with it, and nothing counts its positions")
		}
		if s.Of(in.Committed[i].Input) != in.Committed[i] {
			return errors.New("an input that was committed to in another way")
		}
	}
	return nil
}

// errOtherInput is about values that are not those of a commitment.
var errOtherInput = errors.New("the input is not the one that was committed to")

// nameInputs commits to the inputs again, and names their roots.
func (r *run) nameInputs(h *proof.Header) error {
	var list []*proof.InputCommitment
	for i := range r.plan.Trees {
		t := &r.plan.Trees[i]
		if t.Apart == 0 {
			continue
		}
		c := t.Commitment
		c.Secrets = r.inputSecrets(i)
		var err error
		if r.trees[i], err = r.backend.Commit(r.ctx, c); err != nil {
			return err
		}
		of := r.opts.Hiding.Inputs[t.Apart-1].InputCommitment
		if r.trees[i].Root() != of.Root || of.Hash != r.plan.Config.Hash {
			return errOtherInput
		}
		list = append(list, of)
	}
	return h.NameInputs(r.plan, list)
}

// inputSecrets are those of the tree of an input.
func (r *run) inputSecrets(tree int) *backend.Secrets {
	return &backend.Secrets{Key: *r.opts.Hiding.Inputs[r.plan.Trees[tree].Apart-1].Key}
}
