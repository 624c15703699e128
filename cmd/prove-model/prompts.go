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
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
)

// provedTexts is the result of proving several texts in one proof.
type provedTexts struct {
	proofMade
	// Texts are the texts that the model wrote after the prompts, with --max-tokens.
	Texts []*textOf `json:"texts,omitempty"`
	// The accuracy of all texts together. Alike says for each text how close its logits are to the float model's.
	fidelity
	likeness
	Alike []likeness `json:"alike,omitempty"`

	outputs []compared // of all texts, one after the other
}

// warning returns the warning about a poor copy of the float model, or "".
func (p *provedTexts) warning() string {
	j := judged{p.outputs, p.fidelity, p.likeness}
	return j.warning()
}

// provePrompts makes one proof of several texts, and compares each text with the float model.
func provePrompts(ctx context.Context, cfg *config.Config, files *outputs, ph *ui.Phases, w io.Writer) (_ *provedTexts, err error) {
	defer must.Catch(&err)
	if flag := cfg.FirstOf("each", "check", "report", "embedding", "hide"); flag != "" {
		return nil, fmt.Errorf("--%s is about one run, and with --prompts a proof is of several texts", flag)
	}
	file := must.Get(files.create("proof", outputPath(cfg.Proof, cfg.Model, ".proof"), proofFile))
	s := must.Get(beginProof(ctx, cfg, files, ph))
	defer s.end()
	must.OK(s.commit(ctx))
	texts := []*textOf(nil)
	if cfg.MaxTokens > 0 {
		ph.Begin("write texts")
		all, err := s.job.GenerateAll(ctx, s.circuit, w, &s.opts.Prove, ph.Began(), func(done int) { ph.Progress(done, len(s.job.Inputs)) })
		ph.End(err)
		must.OK(err)
		texts = seq.Map(all, written)
	}
	if err := s.closeEnough(ctx); err != nil {
		return nil, s.hint(err)
	}
	p, err := provemodel.ProveTexts(ctx, s.committed, s.job.Inputs, &s.opts.Prove)
	if err != nil {
		return nil, s.hint(err)
	}
	made := &provedTexts{Texts: texts}
	must.OK(s.judge(ctx, p, made))
	warnOfOtherKey(s.vk.path, s.committed.Commitment(), ph)
	must.OK(errors.Join(ctx.Err(), s.vk.write(s.committed.KeyFile()), file.write(p.File)))
	must.OK(files.place())
	made.proofMade = s.made(p, file, s.job.InputFrom)
	return made, nil
}

// closeEnough returns an error if one of several texts is further off than --max-error allows. Before anything is proved, it runs
// each text by itself, which gives the same integers as the proof.
func (s *session) closeEnough(ctx context.Context) (err error) {
	defer must.Catch(&err)
	if s.cfg.MaxError == 0 {
		return nil
	}
	for i, in := range s.job.Inputs {
		float := must.Get(s.job.FloatOf(ctx, in))
		run := must.Get(s.circuit.Run(ctx, in))
		for k, f := range float {
			a := must.GetAs(provemodel.Compare(run.Outputs[k], f))("text %d", i+1)
			if a.RangeError > s.cfg.MaxError {
				return fmt.Errorf("text %d: %w", i+1, &provemodel.AccuracyError{
					Output: f.Name, Accuracy: a, Value: run.Outputs[k].Values[a.At], Float: f.Values[a.At], Limit: s.cfg.MaxError, Saturated: run.Saturated,
				})
			}
		}
	}
	return nil
}

// judge compares each of several texts with the float model.
func (s *session) judge(ctx context.Context, p *provemodel.Proof, made *provedTexts) (err error) {
	s.ph.Begin("run float model")
	defer func() { s.ph.End(err) }()
	var logits, float provemodel.Tensor // all texts together
	for i, in := range s.job.Inputs {
		want, err := s.job.FloatOf(ctx, in)
		if err != nil {
			return err
		}
		outputs, err := compare(textOutputs(p, want, i, len(s.job.Inputs)), want, nil)
		if err != nil {
			return fmt.Errorf("text %d: %w", i+1, err)
		}
		made.outputs = append(made.outputs, outputs...)
		if s.job.Predicts() {
			got := outputs[0].Tensor
			made.Alike = append(made.Alike, likenessOf(got, want[0], 0))
			logits.Shape, logits.Values, float.Values = got.Shape, append(logits.Values, got.Values...), append(float.Values, want[0].Values...)
		}
		s.ph.Progress(i+1, len(s.job.Inputs))
	}
	if made.Alike != nil {
		made.likeness = likenessOf(logits, float, 0)
	}
	made.fidelity = fidelityOf(s.cfg, made.outputs, made.likeness, p.Saturated)
	return nil
}

// textOutputs returns the outputs of one of n texts, without the padding that texts shorter than the longest have.
// alone are the float model's outputs on that text.
func textOutputs(p *provemodel.Proof, alone []provemodel.Tensor, text, n int) []provemodel.Tensor {
	one := make([]provemodel.Tensor, len(alone))
	for k, f := range alone {
		all := p.Outputs[k]
		own := len(all.Values) / n
		all.Shape, all.Values = f.Shape, all.Values[text*own:][:len(f.Values)]
		one[k] = all
	}
	return one
}

// Print writes the result as text.
func (p *provedTexts) Print(w io.Writer) {
	p.printModel(w)
	for i, t := range p.Texts {
		printTextOf(w, i, len(p.Texts))
		ui.Line(w, "tokens", "%s", ids(t.Tokens))
		ui.LineIf(t.Text != "", w, "text", "%s", t.Text)
		ui.Line(w, "written", "%s", said(len(t.Tokens), t.Verdict))
	}
	p.likeness.Print(w, len(p.Texts) > 0)
	p.fidelity.Print(w)
	p.printFiles(w)
	p.printEnd(w)
	if warning := p.warning(); warning != "" {
		fmt.Fprintln(w, warning)
	}
}

// printTextOf prints which of several texts the following lines are about.
func printTextOf(w io.Writer, i, n int) { ui.Line(w, "text", "%d of %d", i+1, n) }

// readTexts reads all texts of a statement, and compares their prompts with --prompts.
func readTexts(cfg *config.Config, s *provemodel.Statement, t *tokenizer.Tokenizer) (_ []*proven, err error) {
	defer must.Catch(&err)
	if s.Several == 0 {
		if cfg.Prompts != "" {
			return nil, fmt.Errorf("%w: it is of one text, and --prompts has several", provemodel.ErrInvalid)
		}
		return nil, nil
	}
	all := *cfg // without expectations about a single text
	all.Prompt, all.Text = "", ""
	texts := make([]*proven, s.Several)
	for i := range texts {
		one, err := s.OfText(i)
		if err == nil {
			texts[i], err = readText(&all, one, t)
		}
		must.OK(err)
	}
	if cfg.Prompts == "" {
		return texts, nil
	}
	want := must.Get(job.EncodeAll(cfg, t, s.Text))
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

// ofText returns what a statement says about one of several texts, and the number of that text from 1 on: the text that the settings
// name, or the receipt. If neither names one it returns the whole statement, and 0.
func ofText(cfg *config.Config, answer *answered, s *provemodel.Statement) (text int, one *provemodel.Statement, err error) {
	if text = cfg.TextID; answer != nil {
		if text, err = answer.textOf(cfg, s); err != nil {
			return 0, nil, err
		}
	}
	switch {
	case text == 0 && s.Several > 0 && (cfg.Prompt != "" || cfg.Text != ""):
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
