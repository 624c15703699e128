package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// readPrompts reads a file of JSON lines, each of which has a prompt as a text or as tokens. With --chat each text
// begins a conversation. allow, unless nil, may refuse the chat template; it is set for a verifier.
func readPrompts(cfg *config.Config, t *tokenizer.Tokenizer, allow func(*chat.Template) error) (_ []*Prompt, err error) {
	defer must.Catch(&err)
	data := must.GetAs(readAll(cfg.Prompts))("--prompts")
	var list []*Prompt
	for i, line := range bytes.Split(data, []byte{'\n'}) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if len(list) == model.MaxTexts {
			return nil, fmt.Errorf("--prompts %s: more than %d prompts, and one proof is of that many at most", cfg.Prompts, model.MaxTexts)
		}
		ids := must.GetAs(readPrompt(cfg, t, line, allow))("--prompts %s: line %d", cfg.Prompts, i+1)
		list = append(list, &Prompt{IDs: ids, Tokenizer: t})
	}
	if len(list) < 2 {
		return nil, WithHint(fmt.Errorf("--prompts %s: %d prompts, where several belong", cfg.Prompts, len(list)), "give one with --prompt")
	}
	return list, nil
}

// readPrompt decodes one line, and returns its tokens.
func readPrompt(cfg *config.Config, t *tokenizer.Tokenizer, line []byte, allow func(*chat.Template) error) ([]int, error) {
	var one struct {
		Prompt string `json:"prompt"`
		IDs    []int  `json:"input_ids"`
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err := d.Decode(&one)
	if err == nil && d.More() {
		err = errors.New("more than one JSON value")
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf(`%w: want {"prompt": "a text"} or {"input_ids": [1, 5, 9]}`, err)
	case (one.Prompt == "") == (len(one.IDs) == 0):
		return nil, errors.New(`want either "prompt", a text, or "input_ids", tokens, and not empty`)
	case one.Prompt == "" && cfg.Chat:
		return nil, errors.New(`--chat writes the "prompt" as a conversation, and these are tokens`)
	case one.Prompt == "":
		return one.IDs, nil
	case t == nil:
		return nil, errors.New("the model comes without a tokenizer, which a prompt in words needs")
	}
	own := *cfg
	own.Prompt = one.Prompt
	from := TokenizerOf(cfg.Model)
	if allow != nil {
		from = verifiers(cfg)
	}
	return encode(&own, t, from, allow)
}

// longest returns the longest prompt, nil if there is none.
func longest(list []*Prompt) *Prompt {
	var p *Prompt
	for _, other := range list {
		if p == nil || len(other.IDs) > len(p.IDs) {
			p = other
		}
	}
	return p
}

// setPrompts makes an input of each prompt. With --max-tokens it has placeholder tokens in place of the text that the
// model will write.
func (j *Job) setPrompts(cfg *config.Config) error {
	for i, p := range j.prompts {
		var in provemodel.Input
		var err error
		if cfg.MaxTokens > 0 {
			in, err = j.Model.TextInput(p.IDs, repeated(p.IDs, cfg.MaxTokens))
		} else {
			in, err = j.Model.Input(p.arrays(cfg))
		}
		if err != nil {
			return fmt.Errorf("prompt %d: %w", i+1, err)
		}
		j.Inputs = append(j.Inputs, in)
	}
	j.InputFrom = fmt.Sprintf("%d prompts, the longest %d tokens", len(j.prompts), len(j.prompt.IDs))
	return nil
}

// Together returns the inputs that one proof is about: all texts of --prompts, or the one input.
func (j *Job) Together() []provemodel.Input {
	if len(j.prompts) > 1 {
		return j.Inputs
	}
	return []provemodel.Input{j.Input}
}

// GenerateAll does for all prompts, one after the other, what Generate does for one. j.Inputs are set to the texts.
// each is called after each text with the number of texts so far.
func (j *Job) GenerateAll(ctx context.Context, c *provemodel.Circuit, w io.Writer, opts *provemodel.ProveOptions, since time.Time, each func(done int)) ([]*Text, error) {
	var list []*Text
	for i, p := range j.prompts {
		text, in, err := p.generate(ctx, c, j.Model.Start(), w, opts, nil, since)
		if err != nil {
			return nil, fmt.Errorf("prompt %d: %w", i+1, err)
		}
		list, j.Inputs[i] = append(list, text), in
		each(i + 1)
	}
	return list, nil
}
