package main

import (
	"errors"
	"fmt"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// modelFlags are the settings that a model's key depends on, and those of the machine
// on which the key is made.
var modelFlags = []string{
	"model", "adapter", "base", "input", "image", "output", "prompt", "audio", "language", "chat", "tokens-file", "max-tokens", "logits", "embedding", "calibration", "ranges", "ranges-out", "dim", "fix", "tokens", "mode", "target-error", "headroom", "soundness", "hash", "security-bits", "grind-bits",
	"memory-gb", "chunk-budget-gb", "cpu-workers", "gpu", "gpu-threshold", "multi-gpu", "devices", "gpu-streams", "threads", "seed",
}

// rootFor returns newRoot for a command line. For verify it leaves out the other commands and the root command's flags: making hundreds
// of flags takes a millisecond, and a whole verification some thirty.
func rootFor(args []string) *cobra.Command {
	if len(args) == 0 || args[0] != "verify" {
		return newRoot()
	}
	root := bareRoot()
	root.AddCommand(newVerify())
	return root
}

// newRoot returns the root command, which proves, with all subcommands.
func newRoot() *cobra.Command {
	root := bareRoot()
	config.AddFlags(root.Flags(), append(modelFlags, "reveal", "hide", "input-commitment", "secret", "share", "temperature", "top-k", "top-p", "prompts", "chain", "segment-tokens", "each", "proof", "vk", "vocabulary", "check", "max-error", "no-cache", "cache-dir", "no-resume", "no-self-check", "report", "force", "quiet", "json", "progress-json")...)
	root.Flags().Bool("version", false, "print the version and how it was built")
	root.AddCommand(newVerify(), newCheckKey(), newCommit(), newCommitInput(), newInspect(), newBench(), newDevices(), newChat(), newServe(), newWorker(), newVersion(), newMan())
	return root
}

// bareRoot returns the root command without flags and subcommands.
func bareRoot() *cobra.Command {
	return &cobra.Command{
		Use:   "prove-model",
		Short: "Prove that a committed, quantised model gives an output on an input",
		Long: `Prove that a committed, quantised model gives an output on an input.

  prove-model --model x.onnx --input x.json    writes x.proof and x.vk
  prove-model verify --proof x.proof --vk x.vk

The first command quantises the model, commits to its weights (or takes the
commitment of an earlier run from the cache), proves the run on the input,
verifies its own proof, and writes proof and verification key. Settings may
also come from PROVE_MODEL_* variables and from prove-model.yaml.

An output that is off by more than 1 % of its range from the float model's, or has
another label, is warned about. Logits of a language model are judged by the next
tokens that they make likely (docs/quantisation.md).
With --max-error nothing is proved of a run that is off by more.

Exit codes: 0 success, 1 a proof does not verify or a key is another model's,
3 the run is further from the float model than --max-error, 2 anything else.`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			if version, _ := cmd.Flags().GetBool("version"); version {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), builtAs())
				return err
			}
			stream := cmd.OutOrStdout()
			if cfg.JSON {
				stream = nil
			}
			files := outputsOf(cmd.Flags(), cfg, true)
			defer files.abort()
			ph := program.Progress(cmd, cfg)
			if cfg.Chain != "" || cfg.SegmentTokens > 0 {
				return runChain(cmd, cfg, files, ph, stream)
			}
			if cfg.Prompts != "" {
				p, err := provePrompts(cmd.Context(), cfg, files, ph, stream)
				if err = tooFar(cmd, cfg, err); err != nil {
					return job.MemoryHint(err)
				}
				if warning := p.warning(); warning != "" {
					fmt.Fprintln(cmd.ErrOrStderr(), warning) // also if --quiet
				}
				return show(cmd, cfg, p, nil)
			}
			var each []*proved
			var p *proved
			if cfg.Each {
				each, err = proveEach(cmd.Context(), cfg, files, ph)
			} else if p, err = prove(cmd.Context(), cfg, files, ph, stream); err == nil {
				each = []*proved{p}
			}
			if err = tooFar(cmd, cfg, err); err != nil {
				return job.MemoryHint(err)
			}
			for _, p := range each {
				if warning := p.warning(); warning != "" {
					fmt.Fprintln(cmd.ErrOrStderr(), warning) // also if --quiet
				}
			}
			switch {
			case cfg.JSON && cfg.Each:
				return ui.JSON(cmd.OutOrStdout(), each)
			case cfg.JSON:
				return ui.JSON(cmd.OutOrStdout(), p)
			}
			printEach(cmd.OutOrStdout(), each)
			return nil
		}),
	}
}

// withSettings returns the RunE of a command: it reads the settings and calls run, which may panic with an error as
// package must does.
func withSettings(run func(cmd *cobra.Command, cfg *config.Config, args []string) error) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		defer must.Catch(&err)
		cfg := must.Get(program.Load(cmd))
		draws(cmd.Flags(), cfg)
		return run(cmd, cfg, args)
	}
}

// draws sets the temperature to 1 if it is not given and other settings show that
// tokens are to be drawn: --top-k, --top-p, or a --seed that nothing else would need.
func draws(flags *pflag.FlagSet, cfg *config.Config) {
	if f := flags.Lookup("temperature"); f == nil || f.Changed || cfg.Temperature != 0 {
		return
	}
	writes := cfg.MaxTokens > 0 || flags.Lookup("max-tokens") == nil || flags.Lookup("prompt") == nil // verify and chat
	if cfg.TopK > 0 || cfg.TopP < 1 || writes && flags.Changed("seed") {
		cfg.Temperature = 1
	}
}

// tooFar prints the result of a run that --max-error refuses, if --json is set, and returns the error.
func tooFar(cmd *cobra.Command, cfg *config.Config, err error) error {
	var off *provemodel.AccuracyError
	if errors.As(err, &off) && cfg.JSON {
		return errors.Join(ui.JSON(cmd.OutOrStdout(), inaccurateOf(cfg, off)), err)
	}
	return err
}
