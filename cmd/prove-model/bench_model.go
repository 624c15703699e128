package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/spf13/cobra"
)

func newBenchModel() *cobra.Command {
	var layers, width, runs, list int
	var sweep string
	var limits bench.Limits
	var tokens []int
	cmd := &cobra.Command{
		Use:   "model mlp|llm-matmuls|FILE.onnx|FOLDER…",
		Short: "Quantise, commit, prove and verify models, and print a table",
		Long: `Quantise, commit, prove and verify each model once, without the cache; with
--runs N prove it N times, with the weights where the first proof has brought
them, and show the quickest. With --list N prove N inputs one after the other,
and once more as a list (prove-model --each), and show both times.

  bench model mlp --layers 4 --width 4096     a perceptron with random weights
  bench model mlp --sweep 20..26              perceptrons of 2^20 to 2^26 parameters
  bench model llm-matmuls --tokens 1,128      the 160 weight matrices of a 14B-parameter
                                              transformer, proved on a GPU, without
                                              commitments and look-ups
  bench model x.onnx models/*/                files, on random inputs, and folders
                                              with a network.onnx and an input.json

Fails, after the table, if a model does not verify or is beyond a limit.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			if runs < 1 {
				return fmt.Errorf("--runs %d: want 1 or more", runs)
			}
			if list < 0 {
				return fmt.Errorf("--list %d: want 0 or more", list)
			}
			unlimited, err := job.LimitMemory(cfg, progress(cmd, cfg))
			if err != nil {
				return err
			}
			defer unlimited()
			if args[0] != "mlp" && args[0] != "llm-matmuls" {
				limits.RangeError = cfg.MaxError
				return benchFiles(cmd, cfg, args, limits, runs, list)
			}
			if len(args) > 1 {
				return fmt.Errorf("unexpected argument %q after %s", args[1], args[0])
			}
			if args[0] == "llm-matmuls" {
				return benchTransformer(cmd, cfg, tokens)
			}
			if layers < 1 || layers > 1<<10 || width < 1 || width > 1<<15 {
				return fmt.Errorf("%d layers of width %d: want 1 to 1024 of width 1 to 32768", layers, width)
			}
			if sweep != "" {
				return benchSweep(cmd, cfg, layers, sweep)
			}
			g, err := bench.MLP(layers, width)
			if err != nil {
				return err
			}
			m, err := bench.Measure(cmd.Context(), cfg, job.Made(g, cfg.Seed), runs, list, progress(cmd, cfg))
			if err != nil {
				return err
			}
			if cfg.JSON {
				return ui.JSON(cmd.OutOrStdout(), m)
			}
			if err := bench.PhaseTable(cmd.OutOrStdout(), m); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout())
			if err := bench.ModelTable(cmd.OutOrStdout(), []*bench.Model{m}); err != nil {
				return err
			}
			return bench.ListLines(cmd.OutOrStdout(), []*bench.Model{m})
		},
	}
	config.AddFlags(cmd.Flags(), "dim", "hide", "proofs", "mode", "target-error", "headroom", "max-error", "soundness", "hash", "security-bits", "grind-bits", "memory-gb", "chunk-budget-gb", "cpu-workers", "gpu", "gpu-threshold", "multi-gpu", "devices", "gpu-streams", "threads", "seed", "json")
	cmd.Flags().IntVar(&layers, "layers", 4, "layers of the perceptron")
	cmd.Flags().IntVar(&width, "width", 4096, "width of the perceptron")
	cmd.Flags().IntVar(&runs, "runs", 1, "proofs of each model, a `number`, of which the quickest is shown")
	cmd.Flags().IntVar(&list, "list", 0, "inputs, a `number`, that are proved one after the other and as a list as well")
	cmd.Flags().IntSliceVar(&tokens, "tokens", []int{1, 128}, "`numbers` of tokens, for llm-matmuls")
	cmd.Flags().StringVar(&sweep, "sweep", "", "`LO..HI`: perceptrons of 2^LO to 2^HI parameters")
	cmd.Flags().Float64Var(&limits.Cosine, "min-cosine", 0, "fail when an output of eight values or more has a smaller cosine `similarity`")
	return cmd
}

func benchFiles(cmd *cobra.Command, cfg *config.Config, paths []string, limits bench.Limits, runs, list int) error {
	all, err := bench.Files(cmd.Context(), cfg, paths, limits, runs, list, progress(cmd, cfg))
	if err != nil {
		return err
	}
	if cfg.JSON {
		err = ui.JSON(cmd.OutOrStdout(), all)
	} else {
		if err = bench.ModelTable(cmd.OutOrStdout(), all); err == nil {
			err = bench.ListLines(cmd.OutOrStdout(), all)
		}
	}
	if err == nil {
		err = bench.Failures(all)
	}
	return err
}

func benchTransformer(cmd *cobra.Command, cfg *config.Config, tokens []int) error {
	for _, n := range tokens {
		if n < 1 || n > 1<<12 {
			return fmt.Errorf("--tokens %d: want numbers from 1 to 4096", n)
		}
	}
	dev, err := job.OpenKernels(cmd.Context(), progress(cmd, cfg))
	if err != nil {
		return err
	}
	var all []*bench.MatMuls
	for _, n := range tokens {
		m, err := bench.MeasureMatMuls(cmd.Context(), dev, bench.Qwen3x14B, n)
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	if cfg.JSON {
		return ui.JSON(cmd.OutOrStdout(), all)
	}
	return bench.MatMulsTable(cmd.OutOrStdout(), all)
}

func benchSweep(cmd *cobra.Command, cfg *config.Config, layers int, sweep string) error {
	lo, hi, err := span("--sweep", sweep, 4, 30)
	if err != nil {
		return err
	}
	ph := progress(cmd, cfg)
	var rows []bench.SweepRow
	err = bench.Sweep(cmd.Context(), cfg, layers, lo, hi, ph, func(r bench.SweepRow) {
		rows = append(rows, r)
		ph.Printf("2^%d done", r.Log)
	})
	if err != nil {
		return err
	}
	if cfg.JSON {
		return ui.JSON(cmd.OutOrStdout(), rows)
	}
	return bench.SweepTable(cmd.OutOrStdout(), rows)
}

// span reads LO..HI.
func span(flag, s string, least, most int) (lo, hi int, err error) {
	from, to, ok := strings.Cut(s, "..")
	lo, errLo := strconv.Atoi(from)
	hi, errHi := strconv.Atoi(to)
	if !ok || errLo != nil || errHi != nil || lo < least || hi > most || lo > hi {
		return 0, 0, fmt.Errorf("%s %q: want LO..HI, such as 20..26, within %d..%d", flag, s, least, most)
	}
	return lo, hi, nil
}
