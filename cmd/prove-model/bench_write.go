package main

import (
	"fmt"
	"strings"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/spf13/cobra"
)

// newBenchWrite returns the command bench write.
func newBenchWrite() *cobra.Command {
	var shape string
	o := bench.WritingOptions{}
	cmd := &cobra.Command{
		Use:   "write --shape " + strings.Join(bench.ShapeNames(), "|"),
		Short: "Measure how fast a quantised language model with random weights writes",
		Long: `Draw random weights of the shape of a published language model, as bench llm
does, quantise the model, and have it write texts after a prompt of random tokens.
Nothing is committed to or proved. Seconds to the first token are those that the
prompt takes; the other tokens are averaged.

  bench write --shape smollm2
  bench write --shape qwen3-14b --gpu --mode w8a8 --prompt 128 --tokens 64`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			o.Shape = must.Get(shapeOf(shape, o.Layers))
			if o.Prompt < 1 || o.Tokens < 1 || o.Prompt+o.Tokens > o.Shape.Context() {
				return fmt.Errorf("--prompt %d and --tokens %d: want at least one token of each, and %d together at most", o.Prompt, o.Tokens, o.Shape.Context())
			}
			if o.Runs < 1 {
				return fmt.Errorf("--runs %d: want at least one text", o.Runs)
			}
			w := must.Get(bench.MeasureWriting(cmd.Context(), cfg, o, program.Progress(cmd, cfg)))
			return show(cmd, cfg, w, nil)
		}),
	}
	config.AddFlags(cmd.Flags(), "mode", "target-error", "headroom", "chunk-budget-gb", "gpu", "gpu-threshold", "devices", "threads", "seed", "cache-dir", "quiet", "json")
	addShapeFlags(cmd.Flags(), &shape, &o.Layers)
	cmd.Flags().IntVar(&o.Prompt, "prompt", 32, "`number` of tokens of the prompt")
	cmd.Flags().IntVar(&o.Tokens, "tokens", 64, "`number` of tokens to write")
	cmd.Flags().IntVar(&o.Runs, "runs", 2, "`number` of texts; the first one includes what is set up once")
	return cmd
}
