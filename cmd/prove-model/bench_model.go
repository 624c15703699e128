package main

import (
	"fmt"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/spf13/cobra"
)

// newBenchModel returns the command bench model.
func newBenchModel() *cobra.Command {
	var layers, width, runs, list int
	var limits bench.Limits
	cmd := &cobra.Command{
		Use:   "model mlp|FILE.onnx|FOLDER…",
		Short: "Quantise, commit, prove and verify models, and print a table",
		Long: `Quantise, commit, prove and verify each model once, without the cache; with
--runs N prove it N times, with the weights where the first proof has brought
them, and show the quickest. With --list N prove N inputs one after the other,
and once more as a list (prove-model --each), and show both times.

  bench model mlp --layers 4 --width 4096     a perceptron with random weights
  bench model x.onnx models/*/                files, on random inputs, and folders
                                              with a network.onnx and an input.json

Fails, after the table, if a model does not verify or is beyond a limit.`,
		Args: cobra.MinimumNArgs(1),
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, args []string) (err error) {
			if runs < 1 {
				return fmt.Errorf("--runs %d: want 1 or more", runs)
			}
			if list < 0 {
				return fmt.Errorf("--list %d: want 0 or more", list)
			}
			unlimited := must.Get(job.LimitMemory(cfg, program.Progress(cmd, cfg)))
			defer unlimited()
			if args[0] != "mlp" {
				limits.RangeError = cfg.MaxError
				return benchFiles(cmd, cfg, args, limits, runs, list)
			}
			if len(args) > 1 {
				return fmt.Errorf("unexpected argument %q after mlp", args[1])
			}
			if layers < 1 || layers > 1<<10 || width < 1 || width > 1<<15 {
				return fmt.Errorf("%d layers of width %d: want 1 to 1024 of width 1 to 32768", layers, width)
			}
			g := must.Get(bench.MLP(layers, width))
			m := must.Get(bench.Measure(cmd.Context(), cfg, job.Made(g, cfg.Seed), runs, list, program.Progress(cmd, cfg)))
			return show(cmd, cfg, m, nil)
		}),
	}
	config.AddFlags(cmd.Flags(), "dim", "hide", "proofs", "mode", "target-error", "headroom", "max-error", "soundness", "hash", "security-bits", "grind-bits", "memory-gb", "chunk-budget-gb", "cpu-workers", "gpu", "gpu-threshold", "multi-gpu", "devices", "gpu-streams", "threads", "seed", "json")
	cmd.Flags().IntVar(&layers, "layers", 4, "layers of the perceptron")
	cmd.Flags().IntVar(&width, "width", 4096, "width of the perceptron")
	cmd.Flags().IntVar(&runs, "runs", 1, "proofs of each model, a `number`, of which the quickest is shown")
	cmd.Flags().IntVar(&list, "list", 0, "inputs, a `number`, that are proved one after the other and as a list as well")
	cmd.Flags().Float64Var(&limits.Cosine, "min-cosine", 0, "fail when an output of eight values or more has a smaller cosine `similarity`")
	return cmd
}

// benchFiles measures models in files and folders.
func benchFiles(cmd *cobra.Command, cfg *config.Config, paths []string, limits bench.Limits, runs, list int) (err error) {
	defer must.Catch(&err)
	all := must.Get(bench.Files(cmd.Context(), cfg, paths, limits, runs, list, program.Progress(cmd, cfg)))
	return show(cmd, cfg, &all, all.Failures())
}
