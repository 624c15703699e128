package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/spf13/cobra"
)

// newBenchScale returns the command bench scale.
func newBenchScale() *cobra.Command {
	s := bench.Scaling{Layers: 16}
	var sizes string
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "Measure time and memory against parameters, tokens and devices",
		Long: `Quantise, commit, prove and verify perceptrons of all sizes asked for, once
each, without the cache, and print a table.

  bench scale --parameters 20..28                 of 2^20 to 2^28 parameters
  bench scale --parameters 24..24 --tokens 1,16,256
  bench scale --parameters 30..34 --gpus 1,2,4    on the first one, two and four GPUs

What would take more memory than there is, or than --memory-gb, is refused in its
row. scripts/scale.py draws what --json prints.`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			if s.From, s.To, err = span("--parameters", sizes, 4, 34); err != nil {
				return err
			}
			for _, n := range s.Tokens {
				if n < 1 || n > 1<<16 {
					return fmt.Errorf("--tokens %d: want numbers from 1 to 65536", n)
				}
			}
			for _, n := range s.Devices {
				if n < 0 || n > 64 {
					return fmt.Errorf("--gpus %d: want numbers from 0, the processor, to 64", n)
				}
			}
			if s.Layers < 1 || s.Layers > 1<<10 {
				return fmt.Errorf("--layers %d: want a number from 1 to 1024", s.Layers)
			}
			ph := program.Progress(cmd, cfg)
			unlimited := must.Get(job.LimitMemory(cfg, ph))
			defer unlimited()
			var rows bench.ScaleRows
			must.OK(bench.Scale(cmd.Context(), cfg, s, ph, func(r bench.ScaleRow) {
				rows = append(rows, r)
				ph.Printf("2^%d parameters, %d tokens, %d GPUs done", r.Log, r.Tokens, r.Devices)
			}))
			return show(cmd, cfg, &rows, nil)
		}),
	}
	config.AddFlags(cmd.Flags(), "mode", "headroom", "soundness", "hash", "security-bits", "grind-bits", "memory-gb", "chunk-budget-gb", "cpu-workers", "gpu", "gpu-threshold", "multi-gpu", "devices", "gpu-streams", "threads", "seed", "json")
	cmd.Flags().IntVar(&s.Layers, "layers", s.Layers, "layers of the perceptrons")
	cmd.Flags().StringVar(&sizes, "parameters", "20..24", "`LO..HI`: perceptrons of 2^LO to 2^HI parameters")
	cmd.Flags().IntSliceVar(&s.Tokens, "tokens", []int{1}, "`numbers` of tokens, the rows of the input")
	cmd.Flags().IntSliceVar(&s.Devices, "gpus", nil, "`numbers` of GPUs, 0 for the processor (default: what --gpu and --devices say)")
	return cmd
}

// span reads a range LO..HI within least..most.
func span(flag, s string, least, most int) (lo, hi int, err error) {
	from, to, ok := strings.Cut(s, "..")
	lo, errLo := strconv.Atoi(from)
	hi, errHi := strconv.Atoi(to)
	if !ok || errLo != nil || errHi != nil || lo < least || hi > most || lo > hi {
		return 0, 0, fmt.Errorf("%s %q: want LO..HI, such as 20..26, within %d..%d", flag, s, least, most)
	}
	return lo, hi, nil
}
