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
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/proof"
)

// Description is what is known about a file.
type Description interface{ Print(w io.Writer) error }

// Open describes the file that the settings name: a proof, a key or a model,
// in this order. The key of a proof is the file of the same name with the
// extension .vk, if none is named.
func Open(ctx context.Context, cfg *config.Config) (Description, error) {
	switch {
	case cfg.Proof != "":
		return openProof(cfg)
	case cfg.VK != "":
		k, err := readKey(cfg.VK)
		if err != nil {
			return nil, err
		}
		return describeKey(cfg, k)
	case cfg.Model != "":
		if hf.Is(cfg.Model) {
			return openPublished(ctx, cfg)
		}
		return openModel(ctx, cfg)
	}
	return nil, job.WithHint(errors.New("nothing to inspect"), "name a file with --model, --vk or --proof")
}

// describeKey is OfKey with what the key's secret says, if that is named.
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

// answers says that a model is an encoder–decoder, which does nothing but write.
func answers(path string) bool {
	if !hf.Is(path) {
		return false
	}
	m, err := hf.Open(path)
	if err != nil {
		return false // job.Open says why
	}
	defer m.Close()
	return m.Start != nil
}

// openModel describes a model and, calibrated as for a proof, its quantised form.
func openModel(ctx context.Context, cfg *config.Config) (*Model, error) {
	if answers(cfg.Model) {
		writes := *cfg
		writes.Logits = config.LogitsGenerated
		cfg = &writes
	}
	j, err := job.Open(cfg)
	if err != nil {
		return nil, err
	}
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

func openProof(cfg *config.Config) (*Proof, error) {
	vk := cfg.VK
	if vk == "" {
		vk = strings.TrimSuffix(cfg.Proof, filepath.Ext(cfg.Proof)) + ".vk"
	}
	k, err := readKey(vk)
	if err != nil {
		return nil, job.WithHint(err, "a proof is read with its key: name it with --vk")
	}
	f, err := job.OpenFile(cfg.Proof)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := OfProof(k, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Proof, err)
	}
	return p, nil
}

func readKey(path string) (*proof.Key, error) {
	f, err := job.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	k, err := proof.ReadKey(f, proof.MaxKeySize)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}
