package job

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/nvrtc"
	"github.com/prove-model/prove-model/prover/machine/ledger"
)

// Options are the options of the library's calls on the way from a model to a proof.
type Options struct {
	Quantise provemodel.QuantiseOptions
	Commit   provemodel.CommitOptions
	Certify  provemodel.CertifyOptions
	Prove    provemodel.ProveOptions
}

// OptionsOf returns the options that the settings ask for. ph is told of the progress; dev is where the work is done,
// nil is the processor.
func OptionsOf(cfg *config.Config, ph *ui.Phases, dev *provemodel.Device) *Options {
	cache, budget := cacheDir(cfg, ph), int64(cfg.ChunkBudgetGB*gb)
	grind := cmp.Or(cfg.GrindBits, -1)
	reveal, _ := cfg.Reveals()     // no error: it was checked when the settings were read
	number, of, _ := cfg.ShareOf() // likewise
	hides, _ := cfg.HiddenOf()     // likewise
	inputs := map[string]string{}
	if name, file := cfg.InputOf(); file != "" {
		inputs[name] = file
	}
	hide := ""
	if hides.Weights {
		hide = config.HideWeights
	}
	return &Options{
		Quantise: provemodel.QuantiseOptions{Observer: ph, CacheDir: cache, Mode: cfg.Mode, TargetError: cfg.TargetError, Headroom: cfg.Headroom, Hide: hides.Weights},
		Commit: provemodel.CommitOptions{
			Observer: ph, Device: dev, CacheDir: cache, SecurityBits: cfg.SecurityBits, GrindBits: grind, Soundness: cfg.Soundness, Hash: cfg.Hash,
			Hide: hide, SecretFile: cfg.Secret, Proofs: cfg.Proofs,
		},
		Certify: provemodel.CertifyOptions{Observer: ph, Device: dev, MemoryBudget: budget, Workers: cfg.CPUWorkers},
		Prove: provemodel.ProveOptions{
			Observer: ph, Device: dev, CacheDir: cache, MemoryBudget: budget, Workers: cfg.CPUWorkers,
			Resume: cache != "" && !cfg.NoResume && cfg.Hide == "", HideInputs: hides.Inputs, HideOutputs: hides.Outputs, InputCommitments: inputs, Share: ledger.Share{Number: number, Of: of}, Sampling: Sampling(cfg), Reveal: reveal, Logits: cfg.Logits == config.LogitsGenerated, NoSelfCheck: cfg.NoSelfCheck,
		},
	}
}

// cacheDir returns the folder of the cache, "" for no cache.
func cacheDir(cfg *config.Config, ph *ui.Phases) string {
	switch {
	case cfg.NoCache:
		return ""
	case cfg.CacheDir != "":
		return cfg.CacheDir
	}
	dir, err := provemodel.UserCacheDir()
	if err != nil {
		ph.Warn(fmt.Sprintf("no cache: %v", err))
		return ""
	}
	return dir
}

// Sampling returns the rule by which tokens are drawn, nil if they are not drawn.
func Sampling(cfg *config.Config) *provemodel.Sampling {
	if cfg.Temperature == 0 {
		return nil
	}
	return &provemodel.Sampling{Seed: cfg.Seed, Temperature: cfg.Temperature, TopK: cfg.TopK, TopP: cfg.TopP}
}

// OpenDevice opens the GPUs that the settings ask for. A GPU that cannot be used is
// warned about, or is an error if it is required. The caller closes the device.
func OpenDevice(ctx context.Context, cfg *config.Config, ph *ui.Phases) (_ *provemodel.Device, err error) {
	defer must.Catch(&err)
	numbers := must.Get(cfg.DeviceNumbers())
	if cfg.GPU == config.GPUOff && !cfg.MultiGPU && numbers == nil {
		return &provemodel.Device{}, nil
	}
	if cfg.CacheDir != "" {
		nvrtc.SetCacheDir(filepath.Join(cfg.CacheDir, "cubin"))
	}
	threshold := 0 // let the library choose
	if cfg.GPUThreshold >= 0 {
		threshold = max(1, cfg.GPUThreshold)
	}
	d, err := provemodel.OpenGPU(ctx, &provemodel.GPUOptions{
		Observer: ph, Devices: numbers, All: cfg.MultiGPU && numbers == nil, Required: cfg.GPU == config.GPURequire,
		Threshold: threshold, Streams: cfg.GPUStreams, MemoryBudget: int64(cfg.ChunkBudgetGB * gb),
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, WithHint(fmt.Errorf("--gpu=require: %w", err), "--gpu alone, or no flag, proves on the CPU")
	}
	return d, nil
}
