package main

import (
	"runtime"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/pipeline"
	"github.com/prove-model/prove-model/config"
	"github.com/spf13/cobra"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "prove-model",
		Short:         "Prove that a committed, quantised model gives an output on an input",
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return pipeline.WithHint(err, "see "+cmd.CommandPath()+" --help")
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newBench(), newVersion())
	return root
}

// load returns the command's settings and puts the number of threads into
// effect.
func load(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := config.Load(cmd.Flags())
	if err != nil {
		return nil, pipeline.WithHint(err, "see "+cmd.CommandPath()+" --help")
	}
	if cfg.Threads > 0 {
		runtime.GOMAXPROCS(cfg.Threads)
	}
	return cfg, nil
}
