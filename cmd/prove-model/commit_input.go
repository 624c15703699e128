package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/hiding"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/machine/ledger"
)

// newCommitInput returns the command commit-input.
func newCommitInput() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "commit-input --vk x.vk --input x.json --input-commitment x.in",
		Short: "Commit to an input that proofs of several models may be of, and none shows",
		Long: `Commit to an input, without saying anything of it. Proofs of the model of the key,
and of others whose input has the same shape and scale, may then be of this input:
they show the commitment, and that the same input is behind all of them, and nothing
else of it (docs/hiding.md).

  prove-model commit-input --vk x.vk --input x.json --input-commitment x.in
  prove-model --model x.onnx --calibration s.json --input x.json --input-commitment x.in
  prove-model verify --proof x.proof --vk x.vk --input-commitment x.in

The file is to be published. Its secret, in a file of the same name with .secret
behind it, counts the proofs: --proofs says how many there may be of all models
together.`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			c := must.Get(commitInput(cmd.Context(), cfg))
			return show(cmd, cfg, c, nil)
		}),
	}
	config.AddFlags(cmd.Flags(), "vk", "input", "input-commitment", "proofs", "json")
	return cmd
}

// committedInput is the result of committing to an input.
type committedInput struct {
	File       string `json:"file"`
	Secret     string `json:"secret"`
	Commitment string `json:"input_commitment"`
	Clamped    int    `json:"clamped"`
	ledger.Budget
	Proofs uint64 `json:"proofs_left"`
}

// commitInput commits to an input, and writes the commitment and its secret.
func commitInput(ctx context.Context, cfg *config.Config) (_ *committedInput, err error) {
	defer must.Catch(&err)
	name, file := cfg.InputOf()
	if cfg.VK == "" || len(cfg.Input) == 0 || file == "" {
		err := errors.New("an input is committed to with a key of a model that reads it, the input, and the name of a file")
		return nil, job.WithHint(err, "prove-model commit-input --vk x.vk --input x.json --input-commitment x.in")
	}
	key := must.Get(readKey(cfg.VK))
	arrays := must.Get(provemodel.ReadArrays(cfg.Input...))
	for _, f := range []string{file, hiding.SecretOf(file)} {
		if isThere(f) {
			return nil, job.WithHint(fmt.Errorf("%s is there, and a commitment takes the place of no other", f), "name another file with --input-commitment")
		}
	}
	must.OKAs(ledger.Possible(hiding.SecretOf(file)), "the secret of the input cannot be kept")
	made, clamped, err := hiding.CommitInputOf(ctx, key, name, arrays, cfg.Proofs, file)
	must.OK(err)
	b := must.Get(made.Budget(key.Security))
	return &committedInput{file, hiding.SecretOf(file), provemodel.Commitment(made.Digest()).String(), clamped, *b, b.Proofs()}, nil
}

func (c *committedInput) Print(w io.Writer) {
	ui.Line(w, "input", "%s, to be published", c.File)
	ui.Line(w, "commitment", "%s", c.Commitment)
	ui.LineIf(c.Clamped > 0, w, "clamped", "%d entries to the range of the key: what is committed to is the clamped input", c.Clamped)
	ui.Line(w, "secret", "%s: keep it, where it is, and show it to nobody", c.Secret)
	ui.Line(w, "budget", "%d of %d positions left, of which a proof takes %d: %d proofs", c.Left, c.Positions, c.Each, c.Proofs)
}

// expectInput reads --input-commitment: the commitment to an input that the proof must show, given as a file or as 64 digits, and the
// name of that input, if one is given.
func expectInput(cfg *config.Config, opts *provemodel.VerifyOptions) (err error) {
	defer must.Catch(&err)
	name, file := cfg.InputOf()
	switch {
	case cfg.InputCommitment == "":
		return nil
	case file == "":
		return errors.New("--input-commitment names an input, and no file of a commitment to it")
	}
	opts.ExpectInputOf = name
	var c provemodel.Commitment
	if b, err := hex.DecodeString(file); err == nil && len(b) == len(c) {
		opts.ExpectInput = (*provemodel.Commitment)(b)
		return nil
	}
	c = must.Get(hiding.ReadInput(file)).Digest()
	opts.ExpectInput = &c
	return nil
}
