package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/ui"
)

// newCommit returns the command commit.
func newCommit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "commit",
		Short: "Commit to a model and write its verification key, without proving",
		Long: `Quantise a model, commit to its weights, and write the verification key.

Later proofs of the model use the same key as long as the cache holds the
ranges of its values, or the same --calibration file is given, or the same
--ranges, which --ranges-out writes: with these the key is the same on every
machine. A key from a random input is provisional, as nothing keeps its ranges.

A key of a language model is for texts of any length up to --tokens. With --logits
generated it is for texts that the model writes: any number of tokens after any
prompt, with the same key (--max-tokens, which proofs need, does the same here).

With --hide weights the key, and all its proofs, say nothing of the weights but what
is public (docs/hiding.md), for as many proofs as --proofs says. The key's secret is
written beside it: proofs of the key take it, and nobody else may have it.

With --renew the key takes the place of one that hides the same weights and is used up
or soon will be: a link is written beside it, which says that the weights are the same
and nothing else of them (check-key --renew). It takes a proof's share of both budgets,
and the secret of the former key must be beside that.

With --certify a certificate is written beside the key: with it (verify --cert)
a verifier need not trust whoever issued the key that no integer of the model is
too large for the proof's arithmetic.`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			files := outputsOf(cmd.Flags(), cfg, true)
			defer files.abort()
			c, err := commit(cmd.Context(), cfg, files, program.Progress(cmd, cfg))
			if err != nil {
				return job.MemoryHint(err)
			}
			return show(cmd, cfg, c, nil)
		}),
	}
	config.AddFlags(cmd.Flags(), append(modelFlags, "vk", "hide", "proofs", "secret", "renew", "link", "share", "certify", "cert", "vocabulary", "no-cache", "cache-dir", "force", "quiet", "json", "progress-json")...)
	return cmd
}

// committed is the result of the command commit.
type committed struct {
	Model            string `json:"model"`
	Parameters       int    `json:"parameters"`
	Calibration      string `json:"calibration"`
	Provisional      bool   `json:"provisional"`          // whether the ranges are those of a random input
	Ranges           string `json:"ranges_out,omitempty"` // file that the ranges were written to
	VK               string `json:"vk"`
	Commitment       string `json:"model_commitment"`
	Base             string `json:"base_root,omitempty"` // set for the key of an adapter
	Adapter          string `json:"adapter_root,omitempty"`
	CachedCommitment bool   `json:"cached_commitment"`
	KeyBytes         int64  `json:"key_bytes"`
	Vocabulary       string `json:"vocabulary,omitempty"` // file of the vocabulary, for a model that takes strings or names classes
	Certificate      string `json:"certificate,omitempty"`
	CertificateBytes int64  `json:"certificate_bytes,omitempty"`
	// Link is set for a key that renews another one.
	Link *linked `json:"link,omitempty"`
	// Hidden is set for a key that hides weights.
	Hidden     *hiddenKey `json:"hidden,omitempty"`
	Phases     []ui.Phase `json:"phases"`
	PeakMemory int64      `json:"peak_memory_bytes"`
}

// commit quantises and commits, or takes the commitment from the cache, and writes the
// key.
func commit(ctx context.Context, cfg *config.Config, files *outputs, ph *ui.Phases) (_ *committed, err error) {
	defer must.Catch(&err)
	var cert, link *output
	var former *provemodel.Key
	s, err := begin(ctx, cfg, files, ph, func(vk *output) (err error) {
		defer must.Catch(&err)
		cert = must.Get(createCertificate(cfg, files, vk.path))
		link = must.Get(createLink(cfg, files, vk.path))
		must.OK(hidesForKey(cfg))
		former, err = renewed(cfg)
		return err
	})
	must.OK(err)
	defer s.end()
	must.OK(s.quantise(ctx))
	if cfg.Hide != "" && s.job.Provisional(s.circuit) {
		return nil, job.WithHint(errors.New("--hide: the ranges of a random input are not kept, so no proof could have the key again"),
			"give samples with --calibration, or --input, or --ranges")
	}
	c := must.Get(provemodel.Commit(ctx, s.circuit, &s.opts.Commit))
	warnOfOtherKey(s.vk.path, c.Commitment(), ph)
	must.OK(s.vk.write(c.KeyFile()))
	size := must.Get(writeCertificate(ctx, cert, c, s.opts))
	linked := must.Get(writeLink(ctx, cfg, link, former, c, s.opts))
	must.OK(files.place())
	hidden := must.Get(hiddenOf(cfg, c))
	said := &committed{
		Model: s.job.Model.Name(), Parameters: s.job.Model.Parameters(), Calibration: s.job.Calibration(s.circuit),
		Provisional: s.job.Provisional(s.circuit), Ranges: cfg.RangesOut, VK: s.vk.path,
		Commitment: c.Commitment().String(), CachedCommitment: c.Cached(),
		KeyBytes: int64(len(c.KeyFile())), Vocabulary: s.words.name(), Certificate: cert.name(), CertificateBytes: size,
		Link: linked, Hidden: hidden, Phases: ph.All(), PeakMemory: ui.PeakMemory(),
	}
	if roots := c.Key().Roots(); len(roots) == 2 {
		said.Base, said.Adapter = provemodel.Commitment(roots[0]).String(), provemodel.Commitment(roots[1]).String()
	}
	return said, nil
}

// Print writes the result as text.
func (c *committed) Print(w io.Writer) {
	ui.Line(w, "model", "%s, %d parameters", c.Model, c.Parameters)
	ui.Line(w, "calibrated", "on %s", c.Calibration)
	if c.Provisional {
		fmt.Fprintln(w, provisional)
	}
	ui.Line(w, "commitment", "%s", c.Commitment)
	printRoots(w, c.Base, c.Adapter)
	ui.Line(w, "key", "%s, %s", c.VK, ui.Bytes(c.KeyBytes))
	ui.LineIf(c.Vocabulary != "", w, "vocabulary", "%s", c.Vocabulary)
	c.Hidden.Print(w)
	c.Link.Print(w)
	ui.LineIf(c.Certificate != "", w, "certificate", "%s, %s", c.Certificate, ui.Bytes(c.CertificateBytes))
	ui.LineIf(c.Ranges != "", w, "ranges", "%s", c.Ranges)
}
