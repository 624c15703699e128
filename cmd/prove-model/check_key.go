package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/ui"
)

// newCheckKey returns the command check-key.
func newCheckKey() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check-key --model x.onnx --vk x.vk, or --renew old.vk --vk new.vk",
		Short: "Say whether a verification key is a model's; exit code 1 if it is not",
		Long: `Say whether a verification key is a model's.

The model is quantised again with the ranges and options that the key records,
its weights are committed to again, never from the cache, and the result must be
the key. Ranges and options are the choice of whoever made the key: they decide
how close to the float model the quantised one is, which bench accuracy measures.

A key that hides weights cannot be made again. With --renew and no model, a link (commit
--renew) is checked: that it hides the same weights, of the same circuit, as another key.`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			if cfg.Renew != "" || cfg.Link != "" {
				return printLinkCheck(cmd, cfg)
			}
			c, err := checkKey(cmd.Context(), cfg, program.Progress(cmd, cfg))
			return show(cmd, cfg, c, err)
		}),
	}
	config.AddFlags(cmd.Flags(), "model", "adapter", "base", "output", "fix", "vk", "renew", "link", "min-bits", "gpu", "gpu-threshold", "threads", "quiet", "json", "progress-json")
	return cmd
}

// checked is the result of checking a key.
type checked struct {
	Match      bool       `json:"match"`
	Reason     string     `json:"reason,omitempty"` // why it is not the model's
	Model      string     `json:"model"`
	Commitment string     `json:"model_commitment,omitempty"`
	Phases     []ui.Phase `json:"phases"`
}

// checkKey checks the key file against the model file. If the key is not the model's,
// it returns a result that says why, and an error that wraps ErrInvalid or
// ErrOtherModel.
func checkKey(ctx context.Context, cfg *config.Config, ph *ui.Phases) (_ *checked, err error) {
	defer must.Catch(&err)
	if cfg.Model == "" || cfg.VK == "" {
		return nil, job.WithHint(errors.New("check-key needs a model and a key"), "prove-model check-key --model x.onnx --vk x.vk")
	}
	f := must.GetAs(job.OpenFile(cfg.VK))("key")
	defer f.Close()
	c := &checked{Model: cfg.Model}
	key, err := provemodel.ReadKey(f)
	if err == nil {
		c.Commitment = provemodel.Commitment(key.Digest).String()
		err = againstModel(ctx, cfg, key, ph)
	}
	c.Phases, c.Match = ph.All(), err == nil
	switch {
	case errors.Is(err, provemodel.ErrInvalid), errors.Is(err, provemodel.ErrOtherModel):
		c.Reason = strings.TrimPrefix(plain(err), provemodel.ErrOtherModel.Error()+": ")
	case err != nil:
		return nil, err
	}
	return c, err
}

// againstModel checks a key against the model of the settings.
func againstModel(ctx context.Context, cfg *config.Config, key *provemodel.Key, ph *ui.Phases) (err error) {
	defer must.Catch(&err)
	dev := must.Get(job.OpenDevice(ctx, cfg, ph))
	defer dev.Close()
	fixed := must.Get(job.Fixed(cfg))
	base := must.Get(job.BaseKey(cfg))
	return provemodel.CheckKey(ctx, cfg.Model, key, &provemodel.CheckKeyOptions{
		Observer: ph, Device: dev, BindInput: fixed, Outputs: cfg.Output, Adapter: cfg.Adapter, BaseKey: base,
	})
}

func (c *checked) Print(w io.Writer) {
	if !c.Match {
		fmt.Fprintf(w, "NOT THE MODEL'S KEY: %s\n", ui.Printable(c.Reason))
		return
	}
	fmt.Fprintln(w, "THE MODEL'S KEY")
	ui.Line(w, "model", "%s", c.Model)
	ui.Line(w, "commitment", "%s", c.Commitment)
}
