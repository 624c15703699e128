package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/audio"
	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/families"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/regular"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/prover/proof"
)

// Prompt is what a language model reads, or a speech model hears.
type Prompt struct {
	IDs       []int
	Tokenizer *tokenizer.Tokenizer // nil if there is none

	sound *audio.Sound // what a speech model hears, whose samples are then in IDs; nil for a text
}

// prompted returns the prompts that the settings give as text or tokens: several with --prompts, else at most one.
func prompted(cfg *config.Config) ([]*Prompt, error) {
	given := 0
	for _, flag := range []string{cfg.Prompt, cfg.TokensFile, cfg.Prompts} {
		if flag != "" {
			given++
		}
	}
	switch {
	case cfg.Chat && cfg.Prompt == "" && cfg.Prompts == "":
		return nil, WithHint(errors.New("--chat without a prompt"), "give one with --prompt")
	case given == 0 || cfg.Audio != "":
		return nil, nil
	case given > 1:
		return nil, errors.New("--prompt, --prompts and --tokens-file exclude each other")
	case len(cfg.Input) > 0:
		return nil, fmt.Errorf("--%s and --input exclude each other", promptFlag(cfg))
	case !hf.Is(cfg.Model):
		return nil, fmt.Errorf("--%s: %s comes without a tokenizer; give its tokens with --input, or name the folder or GGUF file of the model", promptFlag(cfg), cfg.Model)
	}
	t, err := tokenizer.Open(TokenizerOf(cfg.Model))
	if cfg.TokensFile != "" {
		ids, err := readTokens(cfg.TokensFile)
		return []*Prompt{{IDs: ids, Tokenizer: t}}, err // works without a tokenizer
	}
	if cfg.Prompts != "" {
		if err != nil {
			t = nil // readPrompts reports it if a prompt is a text
		}
		return readPrompts(cfg, t, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("--prompt: %w", err)
	}
	ids, err := encode(cfg, t, TokenizerOf(cfg.Model), nil)
	return []*Prompt{{IDs: ids, Tokenizer: t}}, err
}

// promptFlag returns the name of the flag that gives the prompt.
func promptFlag(cfg *config.Config) string {
	switch {
	case cfg.Prompts != "":
		return "prompts"
	case cfg.Prompt == "":
		return "tokens-file"
	}
	return "prompt"
}

// TokenizerOf returns where the tokenizer of a model is: its folder or its GGUF file.
func TokenizerOf(model string) string {
	if strings.EqualFold(filepath.Ext(model), ".safetensors") {
		return filepath.Dir(model)
	}
	return model
}

// encode returns the tokens of --prompt. With --chat they are those of a conversation that
// begins with it, written with the chat template in `from`. allow, unless nil, may refuse the
// template.
func encode(cfg *config.Config, t *tokenizer.Tokenizer, from string, allow func(*chat.Template) error) (_ []int, err error) {
	defer must.Catch(&err)
	text, encode := cfg.Prompt, t.Encode
	if cfg.Chat {
		c := must.GetAs(chat.Open(from))("--chat")
		if allow != nil {
			must.OK(allow(c))
		}
		text = must.GetAs(c.Render([]chat.Message{{Role: "user", Content: cfg.Prompt}}, true))("--chat")
		encode = t.EncodeChat
	}
	ids := must.GetAs(encode(text))("--prompt")
	if len(ids) == 0 {
		return nil, errors.New("--prompt: it has no tokens")
	}
	return ids, nil
}

// maxTokensFile is the greatest size in bytes of a file of tokens or prompts.
const maxTokensFile = 1 << 26

// readAll reads a regular file, or standard input.
func readAll(path string) ([]byte, error) {
	if path != config.Stdin {
		return regular.Read(path, maxTokensFile)
	}
	data, err := io.ReadAll(io.LimitReader(os.Stdin, maxTokensFile+1))
	if err == nil && len(data) > maxTokensFile {
		err = fmt.Errorf("more than %d bytes", maxTokensFile)
	}
	return data, err
}

// readTokens reads the tokens of a text from a file {"input_ids": […]}. A batch that holds one text, {"input_ids":
// [[…]]}, is accepted too.
func readTokens(path string) (_ []int, err error) {
	defer must.Catch(&err)
	data := must.GetAs(readAll(path))("--tokens-file")
	ids, err := tokensOf(data)
	if err != nil {
		return nil, fmt.Errorf(`--tokens-file %s: %w: want {"input_ids": [1, 5, 9]}`, path, err)
	}
	return ids, nil
}

// tokensOf decodes the content of a file of tokens.
func tokensOf(data []byte) ([]int, error) {
	var file struct {
		IDs []int `json:"input_ids"`
	}
	var batch struct {
		IDs [][]int `json:"input_ids"`
	}
	if err := json.Unmarshal(data, &batch); err == nil && len(batch.IDs) > 0 {
		if n := len(batch.IDs); n > 1 {
			return nil, fmt.Errorf("%d texts, where one is read", n)
		}
		file.IDs = batch.IDs[0]
	} else if err := json.Unmarshal(data, &file); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) { // the error's own text names Go types
			err = fmt.Errorf("a list of whole numbers is wanted, and there is: %s", wrong.Value)
		}
		return nil, err
	}
	if len(file.IDs) == 0 {
		return nil, errors.New("no tokens")
	}
	return file.IDs, nil
}

// arrays returns the prompt as inputs of the model. With --logits last the second input
// is the position of the last token.
func (p *Prompt) arrays(cfg *config.Config) provemodel.Arrays {
	values := seq.Map(p.IDs, func(id int) float64 { return float64(id) })
	in := provemodel.Arrays{{Name: families.IDs, Shape: []int{1, len(values)}, Values: values}}
	if cfg.Logits == config.LogitsLast {
		in = append(in, provemodel.Arrays{{Name: families.Positions, Shape: []int{1}, Values: []float64{float64(len(values) - 1)}}}...)
	}
	return in
}

// checkLogits refuses contradictory settings of a language model. p may be nil.
func checkLogits(cfg *config.Config, p *Prompt) error {
	switch {
	case cfg.Embedding && (cfg.MaxTokens > 0 || cfg.Logits != ""):
		return errors.New("--embedding has no logits: it goes with neither --max-tokens nor --logits")
	case cfg.Embedding && p == nil && cfg.Tokens == 0: // with --tokens a key can be made without a prompt
		return noPrompt("--embedding")
	case cfg.MaxTokens > 0 && p == nil && cfg.Tokens == 0: // likewise
		return noPrompt("--max-tokens")
	case cfg.MaxTokens > 0 && cfg.Logits != "" && cfg.Logits != config.LogitsGenerated:
		return fmt.Errorf("--logits %s with --max-tokens: what the model writes is held against its logits where it chose: --logits generated", cfg.Logits)
	case cfg.MaxTokens == 0 && Sampling(cfg) != nil:
		return errors.New("--temperature, --top-k and --top-p draw what a language model writes: they go with --max-tokens")
	case cfg.MaxTokens == 0 && cfg.Logits == config.LogitsGenerated && p != nil:
		return errors.New("--logits generated without --max-tokens: nothing is generated")
	case cfg.Logits == config.LogitsLast && p == nil:
		return noPrompt("--logits last")
	}
	return nil
}

// checkEmbedding returns an error if --embedding is set and the model is no sentence encoder.
func checkEmbedding(cfg *config.Config, m *provemodel.Model) error {
	out := m.Outputs()
	if !cfg.Embedding || len(out) == 1 && out[0].Name == families.Sentence {
		return nil
	}
	return WithHint(fmt.Errorf("--embedding: the model is no sentence encoder: its output is %s, a row for each token", graph.Quote(out[0].Name)),
		"a folder with modules.json says how tokens become one vector; without --embedding the model's own output is proved")
}

// noPrompt is the error about a flag that needs a prompt.
func noPrompt(flag string) error {
	return WithHint(errors.New(flag+" without a prompt"), "give one with --prompt, or its tokens with --tokens-file")
}

// OpenTokenizer opens the tokenizer of --tokenizer, or of --model, for a verifier; nil
// if neither is given. That --model has no tokenizer is an error only if a text has to
// be compared, since the settings file may name a model for proving.
func OpenTokenizer(cfg *config.Config) (*tokenizer.Tokenizer, error) {
	path, asked := cfg.Tokenizer, true
	if path == "" {
		if cfg.Model == "" {
			return nil, nil
		}
		path, asked = TokenizerOf(cfg.Model), cfg.Prompt != "" || cfg.Prompts != "" || cfg.Text != ""
		if asked && !hf.Is(cfg.Model) {
			return nil, WithHint(fmt.Errorf("%s comes without a tokenizer", cfg.Model), "name it with --tokenizer FILE")
		}
	}
	t, err := tokenizer.Open(path)
	if err != nil && !asked {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return t, nil
}

// Encode returns the tokens of --prompt for a verifier. With --chat the template must be the one
// whose digest the key has; no other template is run. If it is another, the error wraps
// provemodel.ErrInvalid.
func Encode(cfg *config.Config, t *tokenizer.Tokenizer, of *proof.Text) ([]int, error) {
	return encode(cfg, t, verifiers(cfg), keyed(of))
}

// EncodeAll does for all prompts of --prompts what Encode does for one.
func EncodeAll(cfg *config.Config, t *tokenizer.Tokenizer, of *proof.Text) (_ [][]int, err error) {
	defer must.Catch(&err)
	list := must.Get(readPrompts(cfg, t, keyed(of)))
	ids := seq.Map(list, func(p *Prompt) []int { return p.IDs })
	return ids, nil
}

// verifiers returns where a verifier finds the chat template: beside the tokenizer, or with the model.
func verifiers(cfg *config.Config) string {
	from := cfg.Tokenizer
	if from == "" || cfg.Chat && cfg.Model != "" {
		from = TokenizerOf(cfg.Model)
	}
	if cfg.Chat && strings.EqualFold(filepath.Ext(from), ".json") || strings.EqualFold(filepath.Ext(from), ".model") {
		from = filepath.Dir(from)
	}
	return from
}

// keyed returns a function that refuses every chat template but the one that a key names.
func keyed(of *proof.Text) func(*chat.Template) error {
	return func(c *chat.Template) error {
		switch {
		case !of.HasTemplate():
			return fmt.Errorf("%w: --chat: its key names no chat template; give --prompt the whole text", provemodel.ErrInvalid)
		case c.Digest() != of.Template:
			return fmt.Errorf("%w: --chat: its key is for another chat template, with the digest %x: the one that is given has %x", provemodel.ErrInvalid, of.Template, c.Digest())
		}
		return nil
	}
}
