package main

import (
	"github.com/prove-model/prove-model/cmd/prove-model/internal/pipeline"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/spf13/cobra"
)

func newCommit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "commit",
		Short: "Commit to a model and write its verification key, without proving",
		Long: `Quantise a model, commit to its weights, and write the verification key.

Later proofs of the model use the same key as long as the cache holds the
commitment or the same --calibration file is given.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			committed, err := pipeline.Commit(cmd.Context(), cfg, progress(cmd, cfg))
			if err != nil {
				return err
			}
			if cfg.JSON {
				return ui.JSON(cmd.OutOrStdout(), committed)
			}
			committed.Print(cmd.OutOrStdout())
			return nil
		},
	}
	config.AddFlags(cmd.Flags(), append(modelFlags, "vk", "no-cache", "cache-dir", "quiet", "json")...)
	return cmd
}
