package main

import (
	"github.com/prove-model/prove-model/internal/program"
	"github.com/spf13/cobra"
)

// newBench returns the command bench.
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
