package main

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/spf13/cobra"
)

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
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			if cfg.GPU != config.GPUOff {
				return benchDevice(cmd, cfg, openings)
			}
			if len(openings) > 0 {
				return errors.New("--openings measures a GPU: say --gpu too")
			}
			var all []bench.Kernel
			err = bench.Kernels(cmd.Context(), func(k bench.Kernel) {
				all = append(all, k)
				if !cfg.JSON {
					fmt.Fprintln(cmd.OutOrStdout(), k)
				}
			})
			if err == nil && cfg.JSON {
				err = ui.JSON(cmd.OutOrStdout(), all)
			}
			return err
		},
	}
	config.AddFlags(cmd.Flags(), "gpu", "threads", "json")
	cmd.Flags().IntSliceVar(&openings, "openings", nil, "log2 of `numbers` of weights to commit to and open")
	return cmd
}

func benchDevice(cmd *cobra.Command, cfg *config.Config, openings []int) error {
	for _, n := range openings {
		if n < 16 || n > bench.MaxOpening {
			return fmt.Errorf("--openings %d: want numbers from 16 to %d", n, bench.MaxOpening)
		}
	}
	dev, err := job.OpenKernels(cmd.Context(), program.Progress(cmd, cfg))
	if err != nil {
		return err
	}
	var all []bench.DeviceKernel
	report := func(k bench.DeviceKernel) {
		all = append(all, k)
		if !cfg.JSON {
			fmt.Fprintln(cmd.OutOrStdout(), k)
		}
	}
	if len(openings) > 0 {
		err = bench.DeviceOpenings(cmd.Context(), dev, openings, report)
	} else {
		err = bench.DeviceKernels(cmd.Context(), dev, report)
	}
	if err == nil && cfg.JSON {
		err = ui.JSON(cmd.OutOrStdout(), all)
	}
	return err
}
