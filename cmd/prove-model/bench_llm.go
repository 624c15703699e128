package main

import (
	"fmt"
	"strings"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newBenchLLM returns the command bench llm.
func newBenchLLM() *cobra.Command {
	var shape string
	var noFloat bool
	o := bench.LLMOptions{}
	cmd := &cobra.Command{
		Use:   "llm --shape " + strings.Join(bench.ShapeNames(), "|"),
		Short: "Commit to a language model with random weights and prove texts of some lengths",
		Long: `Draw random weights of the shape of a published language model, with a few
channels that are far larger than the others, and write them as SafeTensors in
bfloat16 to the folder "bench" of the cache, where later runs find them. Then
open, quantise and commit to the model once, and for each number of tokens prove
and verify the logits after a text of random tokens. Phases are printed.

  bench llm --shape smollm2 --tokens 1,16
  bench llm --shape qwen3-14b --layers 2      two of its layers, for a small machine
  bench llm --shape qwen3-14b --gpu --mode w8a8 --runs 2 --no-float
                                              weights stay on the GPU for the second
                                              run; nothing is compared with the float
                                              model, which runs on the processor`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			o.Shape = must.Get(shapeOf(shape, o.Layers))
			if o.Runs < 1 || len(o.Tokens) == 0 {
				return fmt.Errorf("--runs %d of %d numbers of tokens: want at least one of each", o.Runs, len(o.Tokens))
			}
			for _, n := range o.Tokens {
				if n < 1 || n > o.Shape.Context() {
					return fmt.Errorf("--tokens %d: want numbers from 1 to %d", n, o.Shape.Context())
				}
			}
			switch {
			case o.Float < 0:
				return fmt.Errorf("--float-tokens %d: want a number of tokens, or 0 for any", o.Float)
			case noFloat:
				o.Float = 0
			case o.Float == 0:
				o.Float = o.Shape.Context()
			}
			m := must.Get(bench.MeasureLLM(cmd.Context(), cfg, o, program.Progress(cmd, cfg)))
			return show(cmd, cfg, m, nil)
		}),
	}
	config.AddFlags(cmd.Flags(), "hide", "proofs", "mode", "target-error", "headroom", "soundness", "hash", "security-bits", "grind-bits", "chunk-budget-gb", "cpu-workers", "gpu", "gpu-threshold", "multi-gpu", "devices", "gpu-streams", "threads", "seed", "cache-dir", "quiet", "json")
	addShapeFlags(cmd.Flags(), &shape, &o.Layers)
	cmd.Flags().IntSliceVar(&o.Tokens, "tokens", []int{1, 16, 128, 512}, "`numbers` of tokens")
	cmd.Flags().IntVar(&o.Runs, "runs", 1, "`number` of proofs for each number of tokens")
	cmd.Flags().BoolVar(&noFloat, "no-float", false, "do not run the float model: no error is printed")
	cmd.Flags().IntVar(&o.Float, "float-tokens", 0, "most tokens, a `number`, after which the float model is run for the error, on the processor (default: any)")
	return cmd
}

// addShapeFlags adds the flags for the name of a shape, and for how many of its layers a model has.
func addShapeFlags(flags *pflag.FlagSet, shape *string, layers *int) {
	flags.StringVar(shape, "shape", "", "`name` of the shape: "+strings.Join(bench.ShapeNames(), ", "))
	flags.IntVar(layers, "layers", 0, "`number` of layers (default: all that the shape has)")
}

// shapeOf returns the shape of a name. It is an error if the shape has fewer layers than are asked for.
func shapeOf(name string, layers int) (*bench.Shape, error) {
	shape := bench.Shapes[name]
	if shape == nil {
		return nil, fmt.Errorf("--shape %q: want one of %s", name, strings.Join(bench.ShapeNames(), ", "))
	}
	if layers < 0 || layers > shape.Layers {
		return nil, fmt.Errorf("--layers %d: %s has %d; want 1 to that, or 0 for all", layers, name, shape.Layers)
	}
	return shape, nil
}
