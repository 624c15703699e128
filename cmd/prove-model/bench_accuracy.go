package main

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/bench"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/job"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/spf13/cobra"
)

func newBenchAccuracy() *cobra.Command {
	var test string
	var minAgreement float64
	cmd := &cobra.Command{
		Use:   "accuracy --model x.onnx --test test.json",
		Short: "Compare a quantised classifier with the float model on a test set",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			if test == "" {
				return job.WithHint(errors.New("no test set"), `name one with --test: JSON with "input_data" and "labels"`)
			}
			a, err := bench.MeasureAccuracy(cmd.Context(), cfg, test, progress(cmd, cfg))
			if err != nil {
				return err
			}
			if cfg.JSON {
				err = ui.JSON(cmd.OutOrStdout(), a)
			} else {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), a)
			}
			if err == nil && a.Agreement < minAgreement {
				err = fmt.Errorf("agreement %.4f is below %.4f", a.Agreement, minAgreement)
			}
			return err
		},
	}
	config.AddFlags(cmd.Flags(), "model", "input", "calibration", "ranges", "dim", "fix", "tokens", "mode", "headroom", "threads", "seed", "quiet", "json")
	cmd.Flags().StringVar(&test, "test", "", `test set: JSON `+"`file`"+` with "input_data" (samples end to end) and "labels"`)
	cmd.Flags().Float64Var(&minAgreement, "min-agreement", 0, "fail when the two models agree on a smaller `fraction`")
	return cmd
}
