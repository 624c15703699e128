package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/spf13/cobra"
)

// newBenchSegments returns the command bench segments.
func newBenchSegments() *cobra.Command {
	var shape string
	var alone bool
	var segments int
	o := bench.SegmentsOptions{}
	cmd := &cobra.Command{
		Use:   "segments --shape " + strings.Join(bench.ShapeNames(), "|"),
		Short: "Prove a text in segments with random weights, and in one proof",
		Long: `Draw a language model as bench llm does, and prove a text of random tokens in
segments, each behind those before, and the same text in one proof. Each row has
what proving one took, its size, what its stored keys and values take, and the
most memory so far, of the process and of a GPU. Below stands what it takes to
verify all, and to open the chain again.

  bench segments --shape smollm2 --layers 2 --segments 4 --segment-tokens 32
  bench segments --shape smollm2 --gpu=require --turns 1024,768,256,64
                                             turns of a conversation
  bench segments --shape smollm2 --gpu=require --segments 16 --segment-tokens 512 --no-whole`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			o.Shape = must.Get(shapeOf(shape, o.Layers))
			if len(o.Lengths) == 0 {
				o.Lengths = slices.Repeat([]int{cmp.Or(cfg.SegmentTokens, 64)}, min(max(segments, 0), 257))
			} else if cmd.Flags().Changed("segments") || cfg.SegmentTokens > 0 {
				return errors.New("--turns has the lengths of all segments, and --segments or --segment-tokens others")
			}
			if n := len(o.Lengths); n < 1 || n > 256 || slices.Min(o.Lengths) < 1 || o.Tokens() > o.Shape.Context() {
				return fmt.Errorf("%d segments of %d tokens in all: want 1 to 256, of %d tokens in all at most", n, o.Tokens(), o.Shape.Context())
			}
			o.Whole = !alone
			m := must.Get(bench.MeasureSegments(cmd.Context(), cfg, o, program.Progress(cmd, cfg)))
			return show(cmd, cfg, m, nil)
		}),
	}
	config.AddFlags(cmd.Flags(), "segment-tokens", "mode", "target-error", "headroom", "soundness", "hash", "security-bits", "grind-bits", "chunk-budget-gb", "cpu-workers", "gpu", "gpu-threshold", "multi-gpu", "devices", "gpu-streams", "threads", "seed", "cache-dir", "quiet", "json")
	cmd.Flags().Lookup("segment-tokens").Usage = "`number` of tokens of a segment (default 64)"
	addShapeFlags(cmd.Flags(), &shape, &o.Layers)
	cmd.Flags().IntVar(&segments, "segments", 4, "`number` of segments")
	cmd.Flags().IntSliceVar(&o.Lengths, "turns", nil, "`numbers` of tokens of segments, in place of --segments and --segment-tokens")
	cmd.Flags().BoolVar(&o.Again, "recompute", false, "measure as well what it takes to compute keys and values of all segments again")
	cmd.Flags().BoolVar(&alone, "no-whole", false, "do not prove the text in one proof")
	return cmd
}
