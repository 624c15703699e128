package main

import (
	"github.com/prove-model/prove-model/cmd/prove-model/internal/pipeline"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/spf13/cobra"
)

func newVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify a proof; exit code 1 if it does not hold",
		Long: `Verify a proof against a verification key, and print what it proves.

The key stands for the model: whoever relies on the proof must have the key, or
the model commitment that is printed, from a source they trust. With --input
the proof must also be about that input.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			result, err := pipeline.Verify(cfg)
			if result == nil {
				return err
			}
			if cfg.JSON {
				if e := ui.JSON(cmd.OutOrStdout(), result); e != nil {
					return e
				}
				return err
			}
			result.Print(cmd.OutOrStdout())
			return err
		},
	}
	config.AddFlags(cmd.Flags(), "proof", "vk", "input", "threads", "json")
	return cmd
}
