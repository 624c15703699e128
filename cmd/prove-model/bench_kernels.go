package main

import (
	"fmt"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/bench"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/job"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/spf13/cobra"
)

func newBenchKernels() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Measure field, hash, code and sub-protocol kernels",
		Long: `Measure field, hash, code and sub-protocol kernels on the CPU, or with --gpu on
a GPU. There, the last column compares what a kernel must read and write with a
copy on the same device.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			if cfg.GPU != config.GPUOff {
				return benchDevice(cmd, cfg)
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
	return cmd
}

func benchDevice(cmd *cobra.Command, cfg *config.Config) error {
	dev, err := job.OpenKernels(cmd.Context(), progress(cmd, cfg))
	if err != nil {
		return err
	}
	var all []bench.DeviceKernel
	err = bench.DeviceKernels(cmd.Context(), dev, func(k bench.DeviceKernel) {
		all = append(all, k)
		if !cfg.JSON {
			fmt.Fprintln(cmd.OutOrStdout(), k)
		}
	})
	if err == nil && cfg.JSON {
		err = ui.JSON(cmd.OutOrStdout(), all)
	}
	return err
}
