package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/statement"
)

// provedTexts is the result of proving several texts at once.
type provedTexts struct {
	Model       string `json:"model"`
	Parameters  int    `json:"parameters"`
	Input       string `json:"input"`       // how many prompts
	Calibration string `json:"calibration"` // the samples that set the ranges
	Ranges      string `json:"ranges_out,omitempty"`
	Proof       string `json:"proof"`
	VK          string `json:"vk"`
	Commitment  string `json:"model_commitment"` // hexadecimal
	// CachedCommitment says that the model's commitment came from the cache.
	CachedCommitment bool `json:"cached_commitment"`
	// Texts are what the model wrote after each prompt, with --max-tokens.
	Texts []*textOf `json:"texts,omitempty"`
	// Saturated lists where values were clamped.
	Saturated  []statement.Saturation `json:"saturated,omitempty"`
	Phases     []ui.Phase             `json:"phases"`
	ProofBytes int64                  `json:"proof_bytes"`
	KeyBytes   int64                  `json:"key_bytes"`
	PeakMemory int64                  `json:"peak_memory_bytes"`
	// Estimate is what was said before the commitment.
	Estimate *provemodel.Estimate `json:"estimate"`
	// Devices are what was proved where: the GPUs that were used, and the processor.
	Devices []devices.Stats `json:"devices"`
	security
	SelfChecked bool `json:"self_checked"`
	Resumed     int  `json:"resumed,omitempty"` // parts that an interrupted run had left

	strength soundness.Strength
}

// promptsAlone refuses settings that are about one run, where one proof is of several.
func promptsAlone(cfg *config.Config) error {
	for _, s := range []struct {
		set  bool
		flag string
	}{
		{cfg.Each, "each"}, {cfg.MaxError > 0, "max-error"}, {cfg.Check != "", "check"}, {cfg.Report != "", "report"},
		{cfg.Embedding, "embedding"}, {cfg.Hide != "", "hide"},
	} {
		if s.set {
			return fmt.Errorf("--%s is about one run, and with --prompts a proof is of several texts", s.flag)
		}
	}
	return nil
}

// provePrompts is prove for several texts, which one proof states. It does not run the float model.
func provePrompts(ctx context.Context, cfg *config.Config, files *outputs, ph *ui.Phases, w io.Writer) (*provedTexts, error) {
	if err := promptsAlone(cfg); err != nil {
		return nil, err
	}
	file, err := files.create("proof", outputPath(cfg.Proof, cfg.Model, ".proof"), proofFile)
	if err != nil {
		return nil, err
	}
	s, err := begin(ctx, cfg, files, ph)
	if err != nil {
		return nil, err
	}
	defer s.end()
	if err := s.commit(ctx); err != nil {
		return nil, err
	}
	var texts []*textOf
	if cfg.MaxTokens > 0 {
		ph.Begin("write texts")
		all, err := s.job.GenerateAll(ctx, s.circuit, w, &s.opts.Prove, ph.Began(), func(done int) { ph.Progress(done, len(s.job.Inputs)) })
		ph.End(err)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			texts = append(texts, written(t))
		}
	}
	p, err := provemodel.ProveTexts(ctx, s.committed, s.job.Inputs, &s.opts.Prove)
	if err != nil {
		return nil, s.hint(err)
	}
	warnOfOtherKey(s.vk.path, s.committed.Commitment(), ph)
	if err := errors.Join(ctx.Err(), s.vk.write(s.committed.KeyFile()), file.write(p.File)); err != nil {
		return nil, err
	}
	if err := files.place(); err != nil {
		return nil, err
	}
	j := s.job
	return &provedTexts{
		Model: j.Model.Name(), Parameters: j.Model.Parameters(), Input: j.InputFrom, Calibration: j.Calibration(s.circuit), Ranges: cfg.RangesOut,
		Proof: file.path, VK: s.vk.path, Commitment: s.committed.Commitment().String(), CachedCommitment: s.committed.Cached(), Texts: texts,
		Saturated: p.Saturated, Phases: ph.All(), ProofBytes: int64(len(p.File)), KeyBytes: int64(len(s.committed.KeyFile())),
		PeakMemory: ui.PeakMemory(), Estimate: s.estimate, Devices: s.device.Stats(), security: securityOf(p.Strength),
		SelfChecked: !cfg.NoSelfCheck || p.Resumed > 0, Resumed: p.Resumed, strength: p.Strength,
	}, nil
}

func (p *provedTexts) print(w io.Writer) {
	fmt.Fprintf(w, "model       %s, %d parameters\n", ui.Printable(p.Model), p.Parameters)
	fmt.Fprintf(w, "commitment  %s\n", p.Commitment)
	fmt.Fprintf(w, "input       %s\n", ui.Printable(p.Input))
	for i, t := range p.Texts {
		printTextOf(w, i, len(p.Texts))
		fmt.Fprintf(w, "tokens      %s\n", ids(t.Tokens))
		if t.Text != "" {
			fmt.Fprintf(w, "text        %s\n", ui.Printable(t.Text))
		}
		fmt.Fprintf(w, "written     %s\n", said(len(t.Tokens), t.Verdict))
	}
	for _, s := range p.Saturated {
		fmt.Fprintf(w, "saturated   %s\n", ui.Printable(s.String()))
	}
	if p.Resumed > 0 {
		fmt.Fprintf(w, "resumed     with %d parts of the work that an interrupted run had done\n", p.Resumed)
	}
	fmt.Fprintf(w, "proof       %s, %s\n", ui.Printable(p.Proof), ui.Bytes(p.ProofBytes))
	fmt.Fprintf(w, "key         %s, %s\n", ui.Printable(p.VK), ui.Bytes(p.KeyBytes))
	if p.Ranges != "" {
		fmt.Fprintf(w, "ranges      %s\n", ui.Printable(p.Ranges))
	}
	fmt.Fprintf(w, "security    %s in the weakest round\n", p.strength)
	if p.PeakMemory > 0 {
		fmt.Fprintf(w, "memory      %s at most\n", ui.Bytes(p.PeakMemory))
	}
	printDevices(w, p.Devices)
}

// printTextOf says which of several texts the lines below are about.
func printTextOf(w io.Writer, i, n int) { fmt.Fprintf(w, "text        %d of %d\n", i+1, n) }

// readTexts reads the tokens of all texts of a statement, and holds the prompts against those that the settings want.
func readTexts(cfg *config.Config, s *provemodel.Statement, t *tokenizer.Tokenizer) ([]*proven, error) {
	if s.Several == 0 {
		if cfg.Prompts != "" {
			return nil, fmt.Errorf("%w: it is of one text, and --prompts has several", provemodel.ErrInvalid)
		}
		return nil, nil
	}
	all := *cfg // which are held against each by itself
	all.Prompt, all.Text = "", ""
	texts := make([]*proven, s.Several)
	for i := range texts {
		one, err := s.OfText(i)
		if err == nil {
			texts[i], err = readText(&all, one, t)
		}
		if err != nil {
			return nil, err
		}
	}
	if cfg.Prompts == "" {
		return texts, nil
	}
	want, err := job.EncodeAll(cfg, t, s.Text)
	if err != nil {
		return nil, err
	}
	if len(want) != len(texts) {
		return nil, fmt.Errorf("%w: it is of %d texts, and --prompts has %d", provemodel.ErrInvalid, len(texts), len(want))
	}
	for i, p := range texts {
		if !slices.Equal(want[i], p.PromptTokens) {
			return nil, fmt.Errorf("%w: text %d is about another prompt: %s (%d tokens, and the given one has %d)",
				provemodel.ErrInvalid, i+1, ui.Printable(p.Prompt), len(p.PromptTokens), len(want[i]))
		}
	}
	return texts, nil
}

// ofText returns what a statement says of the one text that the settings name, or the receipt of an answer, and that text's number from 1
// on; all of it, and 0, if they name none.
func ofText(cfg *config.Config, answer *answered, s *provemodel.Statement) (text int, one *provemodel.Statement, err error) {
	if text = cfg.TextID; answer != nil {
		if text, err = answer.textOf(cfg, s); err != nil {
			return 0, nil, err
		}
	}
	switch {
	case text == 0 && s.Several > 0 && (cfg.Prompt != "" || cfg.Text != "" || len(cfg.Input) > 0):
		return 0, nil, job.WithHint(fmt.Errorf("the proof is of %d texts", s.Several),
			"--text-id says which one is meant, --prompts has the prompts of all")
	case text == 0:
		return 0, s, nil
	case s.Several == 0:
		return 0, nil, fmt.Errorf("%w: --text-id %d: it is of one text", provemodel.ErrInvalid, text)
	case text > s.Several:
		return 0, nil, fmt.Errorf("%w: --text-id %d: it is of %d texts", provemodel.ErrInvalid, text, s.Several)
	}
	one, err = s.OfText(text - 1)
	return text, one, err
}
