package golden

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
)

// maskedFolder has masked proofs of golden cases, each in a folder with key and proof. They are made with fresh random masks,
// so they are not made again to be compared: every verifier has to accept them, and to refuse them altered.
const maskedFolder = "../../testdata/masked"

// maskedCases are the golden cases that there are masked proofs of, with the tails of the rows of each. key asks for a
// key whose rows have tails too, which is good for so many proofs.
var maskedCases = []struct {
	name    string
	tailLog int
	key     int
}{
	{name: "digits", key: 2}, {name: "digits_chunks", tailLog: 3}, {name: "digits_johnson", tailLog: 2},
	{name: "digits_poseidon2", tailLog: 2}, {name: "digits_top", tailLog: 4}, {name: "attention", tailLog: 2},
	{name: "saturated", tailLog: 6}, {name: "division", tailLog: 2}, {name: "formulas", tailLog: 5},
	{name: "function", tailLog: 2}, {name: "text", tailLog: 2}, {name: "transpose", tailLog: 2},
}

// mask makes a masked proof of a case.
func mask(t *testing.T, c *Case, tailLog, key int) Files {
	t.Helper()
	ctx := context.Background()
	whole := c.Instance
	whole.Reveals = nil
	g, err := c.Template.At(whole)
	if err != nil {
		t.Fatal(err)
	}
	wit, err := forward.Run(ctx, g, c.Weights, c.Inputs)
	if err == nil && len(c.Instance.Reveals) > 0 {
		if g, err = c.Template.At(c.Instance); err == nil {
			wit, err = forward.Restate(ctx, nil, wit, g)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer wit.Close()
	hiding := &prover.Hiding{TailLog: tailLog, Reserve: func([16]byte, int) error { return nil }}
	k, tree, err := prover.Commit(ctx, c.Template, c.Weights, c.Security, prover.Options{})
	if key > 0 {
		p, planErr := prover.PlanMasked(c.Template, c.Security, key)
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
	if _, err := prover.Prove(ctx, k, c.Instance, tree, wit, &out, prover.Options{Hiding: hiding}); err != nil {
		t.Fatal(err)
	}
	f.Proof = out.Bytes()
	return f
}

// TestMasked verifies the masked proofs, and refuses each with a bit changed. With -update they are made anew.
func TestMasked(t *testing.T) {
	all := cases(t)
	for _, m := range maskedCases {
		t.Run(m.name, func(t *testing.T) {
			folder := filepath.Join(maskedFolder, m.name)
			if *update {
				i := slices.IndexFunc(all, func(c *Case) bool { return c.Name == m.name })
				f := mask(t, all[i], m.tailLog, m.key)
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
			i := slices.IndexFunc(made, func(c *Case) bool { return c.Name == "masked "+m.name })
			if i < 0 {
				t.Fatal("there is none")
			}
			file := made[i].Want.Proof
			k, err := proof.DecodeKey(made[i].Want.Key)
			if err != nil {
				t.Fatal(err)
			}
			verify := func(r io.Reader) (*verifier.Result, error) { return verifier.Verify(k, r) }
			if got, err := verify(bytes.NewReader(file)); err != nil || !got.Masked {
				t.Fatalf("not valid, or not masked: %v", err)
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
