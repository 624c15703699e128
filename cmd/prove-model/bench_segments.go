package main

import (
	"fmt"
	"strings"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/spf13/cobra"
)

func newBenchSegments() *cobra.Command {
	var shape string
	var alone bool
	o := bench.SegmentsOptions{}
	cmd := &cobra.Command{
		Use:   "segments --shape " + strings.Join(bench.ShapeNames(), "|"),
		Short: "Prove a text in segments with random weights, and in one proof",
		Long: `Draw a language model as bench llm does, and prove a text of random tokens in
segments of one length, each behind those before, and the same text in one proof.
Each row has what proving one took, its size, and what it takes to verify the
segments up to it.

  bench segments --shape smollm2 --layers 2 --segments 4 --segment-tokens 32`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			if o.Shape, err = shapeOf(shape, o.Layers); err != nil {
				return err
			}
			if o.Tokens = cfg.SegmentTokens; o.Tokens == 0 {
				o.Tokens = 64
			}
			if most := o.Shape.Context() - 1; o.Segments < 1 || o.Segments > 256 || o.Segments*o.Tokens > most {
				return fmt.Errorf("%d segments of %d tokens: want 1 to 256, of %d tokens in all at most", o.Segments, o.Tokens, most)
			}
			o.Whole = !alone
			m, err := bench.MeasureSegments(cmd.Context(), cfg, o, progress(cmd, cfg))
			if err != nil {
				return err
			}
			if cfg.JSON {
				return ui.JSON(cmd.OutOrStdout(), m)
			}
			return bench.SegmentsTable(cmd.OutOrStdout(), m)
		},
	}
	config.AddFlags(cmd.Flags(), "segment-tokens", "mode", "target-error", "headroom", "soundness", "hash", "security-bits", "grind-bits", "chunk-budget-gb", "cpu-workers", "gpu", "gpu-threshold", "multi-gpu", "devices", "gpu-streams", "threads", "seed", "cache-dir", "quiet", "json")
	cmd.Flags().Lookup("segment-tokens").Usage = "`number` of tokens of a segment (default 64)"
	addShapeFlags(cmd.Flags(), &shape, &o.Layers)
	cmd.Flags().IntVar(&o.Segments, "segments", 4, "`number` of segments")
	cmd.Flags().BoolVar(&alone, "no-whole", false, "do not prove the text in one proof")
	return cmd
}
