package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/hiding"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/machine/ledger"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/verifier"
)

// linkPath returns the file of the link of the key in a file.
func linkPath(cfg *config.Config, vk string) string { return cmp.Or(cfg.Link, vk+".link") }

// createLink begins the file of the link between a new key and the one that it renews; nil if it renews none.
func createLink(cfg *config.Config, files *outputs, key string) (*output, error) {
	if cfg.Renew == "" {
		if cfg.Link != "" {
			err := errors.New("--link names the file of a link, and none is asked for")
			return nil, job.WithHint(err, "say with --renew which key the new one takes the place of")
		}
		return nil, nil
	}
	return files.create("link", linkPath(cfg, key), linkFile)
}

// renewed returns the key that is to be renewed, nil if there is none. Its secret must be in a file beside it, and have
// positions left.
func renewed(cfg *config.Config) (_ *provemodel.Key, err error) {
	defer must.Catch(&err)
	if cfg.Renew == "" {
		if cfg.Share != "" {
			return nil, job.WithHint(errors.New("--share is of the key that another renews"), "add --renew, or leave it out")
		}
		return nil, nil
	}
	if cfg.Hide == "" {
		return nil, job.WithHint(errors.New("--renew is of keys that hide weights"), "add --hide weights")
	}
	k := must.Get(readKey(cfg.Renew))
	if !k.Hides() {
		return nil, fmt.Errorf("--renew: %s does not hide weights", cfg.Renew)
	}
	number, of, _ := cfg.ShareOf()
	return k, shareHint(hiding.Check(k, cfg.Renew+".secret", ledger.Share{Number: number, Of: of}))
}

// readKey reads a key from a file.
func readKey(path string) (_ *provemodel.Key, err error) {
	defer must.Catch(&err)
	f := must.GetAs(job.OpenFile(path))("key")
	defer f.Close()
	return must.GetAs(provemodel.ReadKey(f))("%s", path), nil
}

// linked describes a link that was made.
type linked struct {
	File   string `json:"file"`
	Bytes  int    `json:"bytes"`
	Renews string `json:"renews"` // commitment of the former key
}

// writeLink commits again for the former key, with its secret, and writes the link between that key and the new one.
func writeLink(
	ctx context.Context, cfg *config.Config, to *output, former *provemodel.Key, of *provemodel.Committed, opts *job.Options,
) (_ *linked, err error) {
	defer must.Catch(&err)
	if to == nil {
		return nil, nil
	}
	o := opts.Commit
	o.SecretFile, o.Proofs = cfg.Renew+".secret", 0
	again := must.Get(provemodel.Commit(ctx, of.Circuit(), &o))
	if again.Commitment() != provemodel.Commitment(former.Digest) {
		return nil, fmt.Errorf("--renew: %s is the secret of another key", o.SecretFile)
	}
	file := must.Get(again.Link(ctx, of, o.Observer, o.Device))
	return &linked{to.path, len(file), again.Commitment().String()}, to.write(file)
}

func (l *linked) Print(w io.Writer) {
	if l == nil {
		return
	}
	ui.Line(w, "renews", "%s", l.Renews)
	ui.Line(w, "link", "%s, %s: the weights are the same", l.File, ui.Bytes(int64(l.Bytes)))
}

// checkedLink is the result of checking a link.
type checkedLink struct {
	Match        bool    `json:"match"`
	Reason       string  `json:"reason,omitempty"` // why the link is not valid
	Commitment   string  `json:"model_commitment"`
	Renews       string  `json:"renews"`
	SecurityBits float64 `json:"security_bits,omitempty"`

	bits soundness.Bits
}

// checkLink checks the link between two keys. If it is not valid, checkLink returns a result that says why, and an
// error that wraps ErrInvalid.
func checkLink(cfg *config.Config) (_ *checkedLink, err error) {
	defer must.Catch(&err)
	if cfg.Renew == "" || cfg.VK == "" || cfg.Model != "" {
		err := errors.New("a link is checked with two keys, and without a model")
		return nil, job.WithHint(err, "prove-model check-key --renew old.vk --vk new.vk")
	}
	from := must.Get(readKey(cfg.Renew))
	to := must.Get(readKey(cfg.VK))
	f := must.GetAs(job.OpenFile(linkPath(cfg, cfg.VK)))("link")
	defer f.Close()
	c := &checkedLink{Commitment: provemodel.Commitment(to.Digest).String(), Renews: provemodel.Commitment(from.Digest).String()}
	s, err := verifier.CheckLink(from, to, f, cfg.MinBits)
	switch {
	case errors.Is(err, provemodel.ErrInvalid):
		c.Reason = plain(err)
		return c, err
	case err != nil:
		return nil, err
	}
	c.Match, c.SecurityBits, c.bits = true, s.Total.Float(), s.Total
	return c, nil
}

func printLinkCheck(cmd *cobra.Command, cfg *config.Config) error {
	c, err := checkLink(cfg)
	return show(cmd, cfg, c, err)
}

func (c *checkedLink) Print(w io.Writer) {
	if !c.Match {
		fmt.Fprintf(w, "NOT LINKED: %s\n", ui.Printable(c.Reason))
		return
	}
	fmt.Fprintln(w, "THE SAME WEIGHTS")
	ui.Line(w, "commitment", "%s", c.Commitment)
	ui.Line(w, "renews", "%s", c.Renews)
	ui.Line(w, "security", "%s bits; which model it is rests on what is known of the former key", c.bits)
}
