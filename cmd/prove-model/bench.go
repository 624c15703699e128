package main

import (
	"io"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/spf13/cobra"
)

func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure kernels, whole models, language models, and the accuracy of quantised models",
		Args:  program.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchKernels(), newBenchModel(), newBenchLLM(), newBenchSegments(), newBenchTexts(), newBenchWrite(), newBenchScale(), newBenchAccuracy())
	return cmd
}

// printed prints a measurement as its table, or as JSON.
func printed[T any](cmd *cobra.Command, cfg *config.Config, m T, table func(io.Writer, T) error) error {
	if cfg.JSON {
		return ui.JSON(cmd.OutOrStdout(), m)
	}
	return table(cmd.OutOrStdout(), m)
}
