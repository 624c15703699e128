package main

import (
	"fmt"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/bench"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/spf13/cobra"
)

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
					fmt.Fprintln(cmd.OutOrStdout(), k)
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
