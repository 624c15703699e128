package job

import (
	"context"
	"fmt"
	"path/filepath"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/nvrtc"
)

// Options are what the settings say to every function of the library that
// takes a context.
func Options(cfg *config.Config, ph *ui.Phases) []provemodel.Option {
	opts := []provemodel.Option{
		provemodel.Observe(ph),
		provemodel.Mode(cfg.Mode), provemodel.TargetError(cfg.TargetError), provemodel.Headroom(cfg.Headroom), provemodel.Budget(int64(cfg.ChunkBudgetGB * gb)), provemodel.Lanes(cfg.CPULanes),
		provemodel.SecurityBits(cfg.SecurityBits), provemodel.GrindBits(cfg.GrindBits), provemodel.Soundness(cfg.Soundness),
	}
	if !cfg.NoCache {
		opts = append(opts, provemodel.Cache(cfg.CacheDir))
		if !cfg.NoResume {
			opts = append(opts, provemodel.Resume())
		}
	}
	if s := Sampling(cfg); s != nil {
		opts = append(opts, provemodel.Sample(*s))
	}
	if cfg.NoSelfCheck {
		opts = append(opts, provemodel.NoSelfCheck())
	}
	return opts
}

// Sampling is the rule by which tokens are drawn, nil if they are not.
func Sampling(cfg *config.Config) *provemodel.Sampling {
	if cfg.Temperature == 0 {
		return nil
	}
	return &provemodel.Sampling{Seed: cfg.Seed, Temperature: cfg.Temperature, TopK: cfg.TopK, TopP: cfg.TopP}
}

// OpenDevice opens what the settings ask for. A GPU that is wished for and
// cannot be had is warned about, or an error if it is required. The caller
// closes the device.
func OpenDevice(ctx context.Context, cfg *config.Config, ph *ui.Phases) (*provemodel.Device, error) {
	numbers, err := cfg.DeviceNumbers()
	if err != nil {
		return nil, err
	}
	if cfg.GPU == config.GPUOff && !cfg.MultiGPU && numbers == nil {
		return &provemodel.Device{}, nil
	}
	if cfg.CacheDir != "" {
		nvrtc.SetCacheDir(filepath.Join(cfg.CacheDir, "cubin"))
	}
	opts := append(Options(cfg, ph), provemodel.Threshold(cfg.GPUThreshold), provemodel.GPULanes(cfg.GPULanes))
	switch {
	case numbers != nil:
		opts = append(opts, provemodel.GPUs(numbers...))
	case cfg.MultiGPU:
		opts = append(opts, provemodel.AllGPUs())
	}
	if cfg.TrackMemory {
		opts = append(opts, provemodel.TrackMemory())
	}
	if cfg.GPU == config.GPURequire {
		opts = append(opts, provemodel.Require())
	}
	d, err := provemodel.OpenGPU(ctx, opts...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, WithHint(fmt.Errorf("--gpu=require: %w", err), "--gpu alone, or no flag, proves on the CPU")
	}
	return d, nil
}
