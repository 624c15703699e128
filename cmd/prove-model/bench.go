package main

import (
	"github.com/spf13/cobra"
)

func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure kernels, whole models, language models, and the accuracy of quantised models",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchKernels(), newBenchModel(), newBenchLLM(), newBenchSegments(), newBenchTexts(), newBenchWrite(), newBenchScale(), newBenchAccuracy())
	return cmd
}
