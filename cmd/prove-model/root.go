package main

import (
	"errors"
	"fmt"
	"runtime"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/job"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/spf13/cobra"
)

// modelFlags are the settings that a model's key depends on, and those of
// making it.
var modelFlags = []string{
	"model", "input", "image", "output", "prompt", "chat", "tokens-file", "max-tokens", "logits", "embedding", "calibration", "ranges", "ranges-out", "dim", "fix", "tokens", "mode", "target-error", "headroom", "soundness", "security-bits", "grind-bits",
	"chunk-budget-gb", "cpu-lanes", "gpu", "gpu-threshold", "multi-gpu", "devices", "gpu-lanes", "track-memory", "threads", "seed",
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "prove-model",
		Short: "Prove that a committed, quantised model gives an output on an input",
		Long: `Prove that a committed, quantised model gives an output on an input.

  prove-model --model x.onnx --input x.json    writes x.proof and x.vk
  prove-model verify --proof x.proof --vk x.vk

The first command quantises the model, commits to its weights (or takes the
commitment of an earlier run from the cache), proves the run on the input,
verifies its own proof, and writes proof and verification key. Settings may
also come from PROVE_MODEL_* variables and from prove-model.yaml.

An output that is off by more than 1 % of its range from the float model's is
warned about; with --max-error nothing is proved then.

Exit codes: 0 success, 1 a proof does not verify or a key is another model's,
3 the run is further from the float model than --max-error, 2 anything else.`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			stream := cmd.OutOrStdout()
			if cfg.JSON {
				stream = nil
			}
			p, err := prove(cmd.Context(), cfg, progress(cmd, cfg), stream)
			var off *provemodel.AccuracyError
			if errors.As(err, &off) && cfg.JSON {
				err = errors.Join(ui.JSON(cmd.OutOrStdout(), inaccurateOf(cfg, off)), err)
			}
			if err != nil {
				return err
			}
			if warning := p.warning(); warning != "" {
				fmt.Fprintln(cmd.ErrOrStderr(), warning) // also if --quiet
			}
			if cfg.JSON {
				return ui.JSON(cmd.OutOrStdout(), p)
			}
			p.print(cmd.OutOrStdout())
			return nil
		},
	}
	config.AddFlags(root.Flags(), append(modelFlags, "proof", "vk", "max-error", "no-cache", "cache-dir", "no-resume", "no-self-check", "report", "quiet", "json", "progress-json")...)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return job.WithHint(err, "see "+cmd.CommandPath()+" --help")
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newVerify(), newCheckKey(), newCommit(), newInspect(), newBench(), newDevices(), newVersion(), newMan())
	return root
}

// load returns the command's settings and puts the number of threads into
// effect.
func load(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := config.Load(cmd.Flags())
	if err != nil {
		return nil, job.WithHint(err, "see "+cmd.CommandPath()+" --help")
	}
	if cfg.Threads > 0 {
		runtime.GOMAXPROCS(cfg.Threads)
	}
	return cfg, nil
}

// progress shows the command's work on standard error.
func progress(cmd *cobra.Command, cfg *config.Config) *ui.Phases {
	if cfg.ProgressJSON {
		return ui.NewEvents(cmd.ErrOrStderr())
	}
	return ui.NewPhases(cmd.ErrOrStderr(), cfg.Quiet)
}
