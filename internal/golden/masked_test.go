package golden

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
)

// maskedFolder has masked proofs of golden cases, each in a folder with key and proof. They are made with fresh random masks,
// so they are not made again to be compared: every verifier has to accept them, and to refuse them altered.
const maskedFolder = "../../testdata/masked"

// maskedCase is a golden case that there is a masked proof of, with the tails of its rows, 0 for what costs least. key asks for a
// key whose rows have tails too, which is good for so many proofs. Such a case that hides inputs or outputs has a folder of another
// name.
type maskedCase struct {
	name            string
	tailLog         int
	key             int
	inputs, outputs []int
	// committed says in how much coarser units than the model's, as bits, the first hidden input was committed to, and that it was.
	committed []int
}

func (m *maskedCase) folder() string {
	switch {
	case len(m.committed) > 0:
		return fmt.Sprintf("%s_committed_%d_hidden", m.name, m.committed[0])
	case len(m.inputs)+len(m.outputs) > 0:
		return m.name + "_hidden"
	}
	return m.name
}

var maskedCases = []maskedCase{
	{name: "digits", key: 2}, {name: "digits_chunks", tailLog: 3}, {name: "digits_johnson", tailLog: 2},
	{name: "digits_poseidon2", tailLog: 2}, {name: "digits_top", tailLog: 4}, {name: "attention", tailLog: 2},
	{name: "saturated", tailLog: 6}, {name: "division", tailLog: 2}, {name: "formulas", tailLog: 5},
	{name: "function", tailLog: 2}, {name: "text", tailLog: 2}, {name: "transpose", tailLog: 2},
	{name: "digits_argmax", inputs: []int{0}}, {name: "digits_top", key: 2, inputs: []int{0}}, {name: "division", inputs: []int{1}},
	{name: "digits_argmax", inputs: []int{0}, committed: []int{0}}, {name: "digits_poseidon2", key: 2, inputs: []int{0}, committed: []int{0}},
	{name: "digits_top", inputs: []int{0}, committed: []int{1}},
	{name: "formulas", inputs: []int{0}, outputs: []int{0, 2}}, {name: "stretched", inputs: []int{0}, outputs: []int{1}},
}

// mask makes a masked proof of a case.
func mask(t *testing.T, c *Case, m *maskedCase) Files {
	t.Helper()
	ctx := context.Background()
	whole, in := c.Instance, c.Instance
	whole.Reveals, in.HiddenInputs, in.HiddenOutputs = nil, m.inputs, m.outputs
	g, err := c.Template.At(whole)
	if err != nil {
		t.Fatal(err)
	}
	hiding := &prover.Hiding{TailLog: m.tailLog, Reserve: func([16]byte, int) error { return nil }}
	inputs := slices.Clone(c.Inputs)
	for _, k := range m.committed {
		at := m.inputs[0]
		of := &g.Tensors[g.Inputs[at]]
		values := slices.Clone(inputs[at])
		inputs[at] = slices.Clone(inputs[at])
		for i := range values {
			values[i] >>= k
			inputs[at][i] = values[i] << k
		}
		p, err := prover.PlanInput(c.Security, of.Shape, of.Frac-k, 3)
		if err != nil {
			t.Fatal(err)
		}
		key := prover.InputKey(p, values, [32]byte{1})
		if err := prover.CommitInput(ctx, p, values, key); err != nil {
			t.Fatal(err)
		}
		hiding.Inputs = []prover.InputSecret{{InputCommitment: p, Key: key, Reserve: hiding.Reserve}}
		in.Committed = []model.Committed{hiding.Inputs[0].Of(at)}
	}
	wit, err := forward.Run(ctx, g, c.Weights, inputs)
	if err == nil && (len(in.Reveals) > 0 || in.Hides()) {
		if g, err = c.Template.At(in); err == nil {
			wit, err = forward.Restate(ctx, nil, wit, g)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer wit.Close()
	k, tree, err := prover.Commit(ctx, c.Template, c.Weights, c.Security, prover.Options{})
	if m.key > 0 {
		p, planErr := prover.PlanMasked(c.Template, c.Security, m.key)
		if planErr != nil {
			t.Fatal(planErr)
		}
		tails := prf.Derive("tails of golden keys", []byte("fixed"))
		hiding.Weights = &tails
		k, tree, err = prover.CommitMasked(ctx, c.Template, p, c.Weights, c.Security, &tails, prover.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	var f Files
	if f.Key, err = proof.EncodeKey(k); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := prover.Prove(ctx, k, in, tree, wit, &out, prover.Options{Hiding: hiding}); err != nil {
		t.Fatal(err)
	}
	f.Proof = out.Bytes()
	return f
}

// TestMasked verifies the masked proofs, and refuses each with a bit changed. With -update they are made anew.
func TestMasked(t *testing.T) {
	all := cases(t)
	for _, m := range maskedCases {
		t.Run(m.folder(), func(t *testing.T) {
			folder := filepath.Join(maskedFolder, m.folder())
			if *update {
				i := slices.IndexFunc(all, func(c *Case) bool { return c.Name == m.name })
				f := mask(t, all[i], &m)
				if err := os.MkdirAll(folder, 0o755); err != nil {
					t.Fatal(err)
				}
				for name, data := range map[string][]byte{keyFile: f.Key, proofFile: f.Proof} {
					if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			made, err := ReadMasked(maskedFolder)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(made, func(c *Case) bool { return c.Name == "masked "+m.folder() })
			if i < 0 {
				t.Fatal("there is none")
			}
			file := made[i].Want.Proof
			k, err := proof.DecodeKey(made[i].Want.Key)
			if err != nil {
				t.Fatal(err)
			}
			verify := func(r io.Reader) (*verifier.Result, error) { return verifier.Verify(k, r) }
			if got, err := verify(bytes.NewReader(file)); err != nil || !got.Masked ||
				len(got.Circuit.Hidden) != len(m.inputs) || len(got.Committed) != len(m.committed) || len(got.Circuit.HiddenOutputs) != len(m.outputs) {
				t.Fatalf("not valid, not masked, or hides something else: %v", err)
			}
			for at := 0; at < len(file); at += len(file)/20 + 1 {
				bad := bytes.Clone(file)
				bad[at] ^= 1 << (at % 8)
				if _, err := verify(bytes.NewReader(bad)); err == nil {
					t.Fatalf("byte %d of %d changed: accepted", at, len(file))
				}
			}
		})
	}
}
