package main

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/spf13/cobra"
)

// newBenchKernels returns the command bench kernels.
func newBenchKernels() *cobra.Command {
	var openings []int
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Measure field, hash, code and sub-protocol kernels",
		Long: `Measure field, hash, code and sub-protocol kernels on the CPU, or with --gpu on
a GPU. There, the last column compares what a kernel must read and write with a
copy on the same device.

  bench kernels --gpu --openings 26,28,30     commitments to 2^26, 2^28 and 2^30 weights
                                              and their openings alone, pass by pass`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			if cfg.GPU == config.GPUOff {
				if len(openings) > 0 {
					return errors.New("--openings measures a GPU: say --gpu too")
				}
				return listed(cmd, cfg, func(report func(bench.Kernel)) error { return bench.Kernels(cmd.Context(), report) })
			}
			for _, n := range openings {
				if n < 16 || n > bench.MaxOpening {
					return fmt.Errorf("--openings %d: want numbers from 16 to %d", n, bench.MaxOpening)
				}
			}
			dev := must.Get(job.OpenKernels(cmd.Context(), program.Progress(cmd, cfg)))
			return listed(cmd, cfg, func(report func(bench.DeviceKernel)) error {
				if len(openings) > 0 {
					return bench.DeviceOpenings(cmd.Context(), dev, openings, report)
				}
				return bench.DeviceKernels(cmd.Context(), dev, report)
			})
		}),
	}
	config.AddFlags(cmd.Flags(), "gpu", "threads", "json")
	cmd.Flags().IntSliceVar(&openings, "openings", nil, "log2 of `numbers` of weights to commit to and open")
	return cmd
}

// listed prints the results of a measurement one by one as they come, or all of them as JSON.
func listed[T any](cmd *cobra.Command, cfg *config.Config, measure func(report func(T)) error) error {
	var all []T
	err := measure(func(one T) {
		all = append(all, one)
		if !cfg.JSON {
			fmt.Fprintln(cmd.OutOrStdout(), one)
		}
	})
	if err == nil && cfg.JSON {
		err = ui.JSON(cmd.OutOrStdout(), all)
	}
	return err
}
