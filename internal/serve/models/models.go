// Package models holds the models that a server answers with. Each is committed to once, when it is opened; it is then run, and its
// runs are proved and verified, any number of times.
package models

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/families"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/resident"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/vocabulary"
)

// Model is a model with its key. Its methods may be called by several goroutines at once.
type Model struct {
	Name       string
	Commitment string // hexadecimal
	Committed  time.Time
	// Writes says that the model is a language model that continues a prompt.
	Writes bool
	// Embeds says that the model is a sentence encoder, which makes a vector of a text.
	Embeds bool
	// MaxTokens is the greatest number of tokens that the model writes, and MaxPrompt the greatest number of tokens of a
	// prompt.
	MaxTokens, MaxPrompt int
	Tokenizer            *tokenizer.Tokenizer // nil if the model comes without one
	// TokenizerFile is the path of the tokenizer's file; "" if the tokenizer is part of another file.
	TokenizerFile string
	Template      *chat.Template // nil if the model comes without one

	job       *job.Job
	opts      *job.Options
	committed *provemodel.Committed
	words     *vocabulary.Vocabulary
}

// Defaults of a language model's key where settings say nothing.
const (
	defaultTokens    = 1024 // of a text, or the model's context
	defaultMaxTokens = 64   // that are written, or half of those
)

// Open reads, quantises and commits to the model that settings name. Its key is the one that `prove-model commit` makes with the same
// settings. The caller closes the model.
func Open(ctx context.Context, name string, cfg *config.Config, dev *provemodel.Device, ph *ui.Phases) (_ *Model, err error) {
	defer must.Catch(&err)
	c := *cfg
	if c.Hide != "" {
		return nil, job.WithHint(fmt.Errorf("model %s: servers make no proofs that hide weights", name), "without hide in the settings proofs say something of the weights; with it, prove with the command alone")
	}
	if what := c.FirstOf("reveal", "input-commitment"); what != "" {
		err := fmt.Errorf("model %s: servers prove whole outputs, of inputs that they state", name)
		return nil, job.WithHint(err, "leave out "+what+", or prove with the command alone")
	}
	must.GetAs(os.Stat(c.Model))("model %s", name)
	m := &Model{Name: name}
	if hf.Is(c.Model) {
		must.OK(m.readText(&c))
	} else if len(c.Calibration) == 0 && c.Ranges == "" {
		return nil, job.WithHint(fmt.Errorf("model %s: nothing says what its values are like, so that its key would be that of a made up input", name),
			"give samples with --calibration, or the ranges that an earlier run wrote with --ranges")
	}
	j := must.GetAs(job.Open(&c))("model %s", name)
	m.job, m.opts = j, job.OptionsOf(&c, ph, dev)
	m.opts.Prove.NoSelfCheck = true // servers verify each proof with VerifyJob before they use it
	if out := j.Model.Outputs(); len(out) == 1 && out[0].Name == families.Sentence {
		m.Embeds, m.MaxPrompt = true, c.Tokens
	}
	if err = m.commit(ctx); err == nil && m.VocabularyFile() != nil {
		m.words, err = vocabulary.ParseFile(m.VocabularyFile())
	}
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	return m, nil
}

// readText reads the tokenizer and the template of a language model, and sets the settings that are left open.
func (m *Model) readText(c *config.Config) (err error) {
	defer must.Catch(&err)
	h := must.GetAs(hf.Open(c.Model))("model %s", m.Name)
	context, writes, start := h.Context, h.Next, h.Start
	h.Close()
	if start != nil {
		return fmt.Errorf("model %s: encoder–decoders are not served: prove-model --model FOLDER --prompt TEXT --max-tokens N proves what they write", m.Name)
	}
	if context == 0 {
		return nil // of pictures
	}
	c.Tokens = cmp.Or(c.Tokens, min(context, defaultTokens))
	if m.Writes = writes; writes {
		c.MaxTokens = cmp.Or(c.MaxTokens, max(1, min(defaultMaxTokens, c.Tokens/2)))
		m.MaxTokens, m.MaxPrompt = c.MaxTokens, c.Tokens-c.MaxTokens
	}
	from := job.TokenizerOf(c.Model)
	if m.Tokenizer, err = tokenizer.Open(from); err != nil {
		return nil // prompts are tokens
	}
	for _, file := range []string{filepath.Join(from, "tokenizer.json"), filepath.Join(from, "tokenizer.model")} {
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
			m.TokenizerFile = file
			break
		}
	}
	if m.Template, err = chat.Open(from); err != nil {
		m.Template = nil
	}
	return nil
}

// commit quantises the model and commits to it.
func (m *Model) commit(ctx context.Context) (err error) {
	defer must.Catch(&err)
	circuit := must.Get(m.job.Quantise(ctx, m.opts))
	m.committed = must.Get(provemodel.Commit(ctx, circuit, &m.opts.Commit))
	m.Commitment, m.Committed = m.committed.Commitment().String(), time.Now()
	return nil
}

// Close releases the model's files.
func (m *Model) Close() { m.job.Close() }

// KeyFile returns the encoded key, which verifiers read.
func (m *Model) KeyFile() []byte { return m.committed.KeyFile() }

// Inputs and Outputs list the model's inputs and outputs, in the size that it was opened for.
func (m *Model) Inputs() []provemodel.Spec  { return m.job.Model.Inputs() }
func (m *Model) Outputs() []provemodel.Spec { return m.job.Model.Outputs() }

// Prove makes the proof of a job of the model. Other workers help unless team is nil.
func (m *Model) Prove(ctx context.Context, j *queue.Job, team *queue.Team, progress func(phase string, done, total int)) (_ []byte, err error) {
	defer must.Catch(&err)
	in, opts, err := m.asked(j)
	must.OK(err)
	opts.Observer = &observer{tell: progress}
	if team != nil {
		opts.Together = team
	}
	prove := func() (*provemodel.Proof, error) { return provemodel.Prove(ctx, m.committed, in[0], opts) }
	if j.Joint != nil {
		prove = func() (*provemodel.Proof, error) { return provemodel.ProveTexts(ctx, m.committed, in, opts) }
	}
	p := must.Get(prove())
	return p.File, nil
}

// Fits says whether there is enough memory for the proof of a joint job, on a GPU and in the process. The process may use as much as it
// is limited to or, without a limit, half of the system's free memory in addition to what it has. A job that cannot be proved does not
// fit.
func (m *Model) Fits(j *queue.Job) bool {
	in, opts, err := m.asked(j)
	if err != nil {
		return false
	}
	e, err := m.committed.Circuit().EstimateTexts(in, &m.opts.Commit, opts)
	if err != nil || e.DeviceShort {
		return false
	}
	if limit := arena.Bounded(); limit > 0 {
		return e.Memory <= limit
	}
	free := resident.Available()
	return free == 0 || e.Beside <= free/2
}

// Help proves parts of a proof that another worker makes of a job.
func (m *Model) Help(ctx context.Context, j *queue.Job, roots []byte, next func(ctx context.Context, part int, bytes []byte) (int, error)) error {
	in, opts, err := m.asked(j)
	if err != nil {
		return err
	}
	opts.Observer = nil
	if len(in) != 1 {
		return errors.New("proofs of several texts are made by one worker")
	}
	return m.committed.Help(ctx, in[0], roots, opts, next)
}

// asked returns the inputs to prove for a job, several for a joint job, and the options to prove them with.
func (m *Model) asked(j *queue.Job) (_ []provemodel.Input, _ *provemodel.ProveOptions, err error) {
	defer must.Catch(&err)
	opts := m.opts.Prove
	texts := j.Texts()
	if texts == nil {
		return []provemodel.Input{j.Inputs}, &opts, nil
	}
	list := seq.Map(texts, func(t *queue.Text) provemodel.Input { return must.Get(m.job.Model.TextInput(t.Prompt, t.Tokens)) })
	opts.Sampling, opts.Logits = texts[0].Sampling, texts[0].Logits
	return list, &opts, nil
}

// VerifyJob returns an error unless a proof is valid under a key and is about a job.
func VerifyJob(key *provemodel.Key, j *queue.Job, file []byte) error {
	opts := &provemodel.VerifyOptions{MinBits: 1, FirstValues: 1}
	texts := j.Texts()
	if texts != nil {
		opts.Sampling = texts[0].Sampling
	} else {
		opts.Input = make(provemodel.Arrays, len(j.Inputs))
		for i, values := range j.Inputs {
			opts.Input[i].Values = values
		}
	}
	s, err := provemodel.Verify(key, bytes.NewReader(file), opts)
	if err != nil || texts == nil {
		return err
	}
	written := s.Texts
	if s.Several == 0 {
		written = []*verifier.Written{s.Generated}
	}
	if !slices.EqualFunc(written, texts, func(w *verifier.Written, t *queue.Text) bool {
		return w != nil && slices.Equal(w.Prompt, t.Prompt) && slices.Equal(w.Tokens, t.Tokens)
	}) || (s.Several > 0) != (j.Joint != nil) {
		return errors.New("the proof is about another text")
	}
	if texts[0].Logits && len(s.Reveals) > 0 {
		return errors.New("the proof does not state the logits that were asked for")
	}
	return nil
}

// observer passes the progress of a proof on to tell.
type observer struct {
	tell  func(phase string, done, total int)
	phase string
}

// Begin, Progress, End and Warn implement provemodel.Observer.
func (o *observer) Begin(p provemodel.Phase) {
	o.phase = string(p)
	o.tell(o.phase, 0, 0)
}
func (o *observer) Progress(done, total int) { o.tell(o.phase, done, total) }
func (o *observer) End(error)                {}
func (o *observer) Warn(string)              {}
