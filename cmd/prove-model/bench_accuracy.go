package main

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/spf13/cobra"
)

// newBenchAccuracy returns the command bench accuracy.
func newBenchAccuracy() *cobra.Command {
	var test, text string
	var limit int
	var minAgreement float64
	cmd := &cobra.Command{
		Use:   "accuracy --model x.onnx --test test.json | --model LM --text FILE | FOLDER…",
		Short: "Compare quantised models with the float ones on test sets",
		Long: `Compare quantised models with the float ones on inputs that calibration has
not seen. Nothing is proved: a proof has the same integers.

  bench accuracy --model x.onnx --test test.json
        a classifier, on labelled samples
  bench accuracy --model FOLDER --text book.txt [--tokens 128] [--limit 2048]
        a language model, on the pieces of a text: perplexity, divergence, the same
        likeliest tokens, also where the float model is sure, and drift by layer
  bench accuracy models/*/
        folders with network.onnx, calibration.npz, test.npz, and bars.json:
        {"range_error": 0.005, "cosine": 0.9999, "kl": 4e-4, "top1": 0.985, "margin": 0.5},
        of which all are optional. The last three are for outputs whose rows
        are logits. Fails, after the table, if a model misses a bar`,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, args []string) (err error) {
			if len(args) > 0 {
				return benchFidelity(cmd, cfg, args)
			}
			if text != "" {
				if test != "" || limit < 0 {
					return errors.New("--text takes neither --test nor a negative --limit")
				}
				return show(cmd, cfg, must.Get(bench.MeasureText(cmd.Context(), cfg, text, limit, program.Progress(cmd, cfg))), nil)
			}
			if test == "" {
				return job.WithHint(errors.New("no test set"), `name one with --test: JSON with "input_data" and "labels"; for a language model a text with --text`)
			}
			a := must.Get(bench.MeasureAccuracy(cmd.Context(), cfg, test, program.Progress(cmd, cfg)))
			must.OK(show(cmd, cfg, a, nil))
			if a.Agreement < minAgreement {
				return fmt.Errorf("agreement %.4f is below %.4f", a.Agreement, minAgreement)
			}
			return nil
		}),
	}
	config.AddFlags(cmd.Flags(), "model", "adapter", "base", "input", "image", "output", "calibration", "ranges", "dim", "fix", "tokens", "mode", "target-error", "headroom", "threads", "seed", "no-cache", "cache-dir", "quiet", "json")
	cmd.Flags().StringVar(&test, "test", "", `test set: JSON `+"`file`"+` with "input_data" (samples end to end) and "labels"`)
	cmd.Flags().StringVar(&text, "text", "", "text `file` for a language model")
	cmd.Flags().IntVar(&limit, "limit", 0, "most `tokens` of the text (default: all)")
	cmd.Flags().Float64Var(&minAgreement, "min-agreement", 0, "fail when the two models agree on a smaller `fraction`")
	return cmd
}

// benchFidelity measures the models of folders with bars.
func benchFidelity(cmd *cobra.Command, cfg *config.Config, folders []string) (err error) {
	defer must.Catch(&err)
	for _, name := range []string{"model", "test", "text", "limit", "input", "calibration", "ranges", "min-agreement"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for a single model: folders have files of their own", name)
		}
	}
	all := must.Get(bench.MeasureFidelity(cmd.Context(), cfg, folders, program.Progress(cmd, cfg)))
	return show(cmd, cfg, &all, all.Misses())
}
