package main

import (
	"fmt"
	"strings"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/spf13/cobra"
)

// newBenchTexts returns the command bench texts.
func newBenchTexts() *cobra.Command {
	var shape string
	o := bench.TextsOptions{}
	cmd := &cobra.Command{
		Use:   "texts --shape " + strings.Join(bench.ShapeNames(), "|"),
		Short: "Prove many texts in one proof with random weights, and some of them alone",
		Long: `Draw a language model as bench llm does, have it write texts after prompts of random
tokens, and prove some of them alone and all of them in one proof. So many of the texts
differ as are proved alone, and the others are these again: what a proof costs does not
depend on its tokens. Of the first proof nothing is printed, as it includes what is set
up once.

  bench texts --shape smollm2 --layers 2 --texts 33 --prompt 24 --tokens 8
  bench texts --shape qwen3-14b --texts 64 --tokens 1 --mode w8a8 --gpu=require`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			o.Shape = must.Get(shapeOf(shape, o.Layers))
			switch {
			case o.Prompt < 1 || o.Tokens < 1 || o.Prompt+o.Tokens > o.Shape.Context():
				return fmt.Errorf("--prompt %d and --tokens %d: want at least one token of each, and %d together at most", o.Prompt, o.Tokens, o.Shape.Context())
			case o.Texts < 2 || o.Texts > model.MaxTexts:
				return fmt.Errorf("--texts %d: want 2 to %d", o.Texts, model.MaxTexts)
			case o.Alone < 2:
				return fmt.Errorf("--alone %d: want at least 2, of which the first is not counted", o.Alone)
			}
			m := must.Get(bench.MeasureTexts(cmd.Context(), cfg, o, program.Progress(cmd, cfg)))
			return show(cmd, cfg, m, nil)
		}),
	}
	config.AddFlags(cmd.Flags(), "mode", "target-error", "headroom", "soundness", "hash", "security-bits", "grind-bits", "chunk-budget-gb", "cpu-workers", "gpu", "gpu-threshold", "multi-gpu", "devices", "gpu-streams", "threads", "seed", "cache-dir", "quiet", "json")
	addShapeFlags(cmd.Flags(), &shape, &o.Layers)
	cmd.Flags().IntVar(&o.Texts, "texts", 64, "`number` of texts of one proof")
	cmd.Flags().IntVar(&o.Prompt, "prompt", 24, "`number` of tokens of each prompt")
	cmd.Flags().IntVar(&o.Tokens, "tokens", 8, "`number` of tokens to write after each")
	cmd.Flags().IntVar(&o.Alone, "alone", 3, "`number` of texts that are proved alone")
	return cmd
}
