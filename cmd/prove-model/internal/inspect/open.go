package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/internal/hiding"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/proof"
)

// Description describes a file, and can be printed.
type Description interface{ Print(w io.Writer) }

// Open describes the file that the settings name: a proof, a key or a model, the first
// that is named. If no key is named for a proof, its key is the file of the same name
// with the extension .vk.
func Open(ctx context.Context, cfg *config.Config) (_ Description, err error) {
	defer must.Catch(&err)
	switch {
	case cfg.Proof != "":
		return openProof(cfg)
	case cfg.VK != "":
		k := must.Get(readKey(cfg.VK))
		return describeKey(cfg, k)
	case cfg.Model != "":
		if hf.Is(cfg.Model) {
			return openPublished(ctx, cfg)
		}
		return openModel(ctx, cfg)
	}
	return nil, job.WithHint(errors.New("nothing to inspect"), "name a file with --model, --vk or --proof")
}

// describeKey describes a key, and says how far it is used up if its secret is named.
func describeKey(cfg *config.Config, k *proof.Key) (*Key, error) {
	d, err := OfKey(k)
	if err != nil || cfg.Secret == "" {
		return d, err
	}
	if d.Hidden == nil {
		return nil, fmt.Errorf("--secret: %s hides nothing, so it has no secret", cfg.VK)
	}
	d.Hidden.Budget, err = hiding.ReadBudget(k, cfg.Secret)
	return d, err
}

// answers says whether a model is an encoder–decoder, which can only be opened to write.
func answers(path string) bool {
	if !hf.Is(path) {
		return false
	}
	m, err := hf.Open(path)
	if err != nil {
		return false // job.Open reports the error
	}
	defer m.Close()
	return m.Start != nil
}

// openModel describes a model and its quantised form, which is calibrated as for a proof.
func openModel(ctx context.Context, cfg *config.Config) (_ *Model, err error) {
	defer must.Catch(&err)
	if answers(cfg.Model) {
		writes := *cfg
		writes.Logits = config.LogitsGenerated
		cfg = &writes
	}
	j := must.Get(job.Open(cfg))
	defer j.Close()
	m := OfModel(j.Model)
	c, err := j.Quantise(ctx, job.OptionsOf(cfg, ui.NewPhases(nil, true), nil))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		m.Refused = err.Error()
	default:
		m.quantise(c.Report())
		m.Estimate = estimateOf(c.Graph())
	}
	return m, nil
}

// openProof describes a proof.
func openProof(cfg *config.Config) (_ *Proof, err error) {
	defer must.Catch(&err)
	vk := cfg.VK
	if vk == "" {
		vk = strings.TrimSuffix(cfg.Proof, filepath.Ext(cfg.Proof)) + ".vk"
	}
	k, err := readKey(vk)
	if err != nil {
		return nil, job.WithHint(err, "a proof is read with its key: name it with --vk")
	}
	f := must.Get(job.OpenFile(cfg.Proof))
	defer f.Close()
	return must.GetAs(OfProof(k, f))("%s", cfg.Proof), nil
}

// readKey reads a key from a file.
func readKey(path string) (_ *proof.Key, err error) {
	defer must.Catch(&err)
	f := must.Get(job.OpenFile(path))
	defer f.Close()
	return must.GetAs(proof.ReadKey(f, proof.MaxKeySize))("%s", path), nil
}
