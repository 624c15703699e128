package main

import (
	"github.com/prove-model/prove-model/cmd/prove-model/internal/inspect"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/spf13/cobra"
)

// newInspect returns the command inspect.
func newInspect() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Describe a model, a key or a proof",
		Long: `Describe a file.

  inspect --model FOLDER [--tokens N]   architecture, parameters, odd tensors; with N its graph as below
  inspect --model x.onnx                the graph in normal form, and the precision of its quantised form
  inspect --model x.onnx --html x.html  the same as a page, with how far each layer of a run is from the float model
  inspect --vk x.vk                     sizes, tables, and the bits of security of every round;
                                        with --secret how far a key that hides weights is used up
  inspect --proof x.proof [--vk x.vk]   the parts of a proof and the bits of every round`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			if cfg.HTML != "" {
				files := outputsOf(cmd.Flags(), cfg, false)
				defer files.abort()
				d, err := describeModel(cmd.Context(), cfg, files, ui.NewPhases(nil, true))
				return show(cmd, cfg, d, err)
			}
			d := must.Get(inspect.Open(cmd.Context(), cfg))
			return show(cmd, cfg, d, nil)
		}),
	}
	config.AddFlags(cmd.Flags(), "model", "adapter", "base", "input", "image", "output", "prompt", "audio", "language", "chat", "tokens-file", "max-tokens", "logits", "calibration", "ranges", "dim", "fix", "tokens", "mode", "target-error", "headroom", "seed", "vk", "secret", "proof", "html", "force", "json")
	return cmd
}
