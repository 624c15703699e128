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

// InputSecret is what the prover needs for a hidden input that was committed to: the commitment; Key, from which its tails and salts are
// derived (InputKey); and Reserve, which counts the positions at which proofs open its tree, as Hiding.Reserve does for weights.
type InputSecret struct {
	*proof.InputCommitment
	Key     *prf.Key
	Reserve func(proof [16]byte, positions int) error
}

// Of returns the commitment in the form that an instance of a circuit has it (model.Instance.Committed), for the input at place input
// among the template's inputs.
func (s *InputSecret) Of(input int) model.Committed {
	return model.Committed{Input: input, Frac: s.Frac, RowVars: s.RowVars, TailLog: s.TailLog}
}

// PlanInput returns a commitment, still without its root, to an input of this shape whose entries are in units of 2^(−frac). It hides
// the input in up to proofs proofs. Proofs for any key with this security can name it.
func PlanInput(sec proof.Security, shape []int, frac, proofs int) (*proof.InputCommitment, error) {
	config := sec.Config()
	_, stack := inputStack(shape)
	rowVars, tailLog, err := soundness.ChooseHidingKey(config, stack.Size, proofs)
	if err != nil {
		return nil, err
	}
	return &proof.InputCommitment{Hash: sec.Hash, RowVars: rowVars, TailLog: tailLog, LogBlowup: config.LogBlowup, Frac: frac, Shape: shape}, nil
}

// inputStack returns a circuit that has one input and nothing else, and the stack of that input, which is laid out as in every circuit.
func inputStack(shape []int) (*model.Graph, *model.Stack) {
	g := &model.Graph{Tensors: []model.Tensor{{Shape: shape, Kind: model.Witness}}}
	return g, model.NewStack(g, []model.TensorID{0})
}

// InputKey derives from a seed the secret key of the tails and salts of an input's tree. The result depends on the values and on the
// lengths of rows and tails too, so that one seed may be used for several commitments.
func InputKey(c *proof.InputCommitment, values []int32, seed [32]byte) *prf.Key {
	rootless := *c
	rootless.Root = [8]uint32{}
	own, digest := rootless.Digest(), integersDigest([]ints.Ints{ints.Int32s(values)})
	k := prf.Derive("prove-model masks of an input 1", seed[:], own[:], binary.LittleEndian.AppendUint64(nil, uint64(len(values))), digest[:])
	return &k
}

// CommitInput sets the root of a commitment that PlanInput returned: it commits to values, with tails and salts that are derived from
// key (InputKey).
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

// checkInputs checks that the options have, for each input that the instance says was committed to, the secret of that commitment.
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

// errOtherInput says that the values of an input do not have the root of its commitment.
var errOtherInput = errors.New("the input is not the one that was committed to")

// nameInputs commits again to the inputs that were committed to, which makes the trees for the opening, checks their roots, and sets
// the header's trees.
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

// inputSecrets returns the secrets of the plan's tree with this index, which must be that of an input.
func (r *run) inputSecrets(tree int) *backend.Secrets {
	return &backend.Secrets{Key: *r.opts.Hiding.Inputs[r.plan.Trees[tree].Apart-1].Key}
}
