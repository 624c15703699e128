package main

import (
	"fmt"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/bench"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/spf13/cobra"
)

func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure kernels, whole models, and the accuracy of quantised models",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchKernels())
	return cmd
}

func newBenchKernels() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Measure field, hash, code and sub-protocol kernels",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			var all []bench.Kernel
			err = bench.Kernels(cmd.Context(), func(k bench.Kernel) {
				all = append(all, k)
				if !cfg.JSON {
					fmt.Fprintf(cmd.OutOrStdout(), "%-26s %10.3f ns/%-14s %10.1f M/s  %s\n",
						k.Name, k.PerUnit, k.Unit, 1e3/k.PerUnit, cores(k))
				}
			})
			if err == nil && cfg.JSON {
				err = ui.JSON(cmd.OutOrStdout(), all)
			}
			return err
		},
	}
	config.AddFlags(cmd.Flags(), "threads", "json")
	return cmd
}

func cores(k bench.Kernel) string {
	if k.Parallel {
		return "all cores"
	}
	return "one core"
}
