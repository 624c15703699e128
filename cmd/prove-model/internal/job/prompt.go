package job

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/tokenizer"
)

// prompted returns the tokens of the prompt that the settings give, as the input of
// the model; with --chat those of a conversation that the prompt begins.
func prompted(cfg *config.Config) (provemodel.Arrays, error) {
	switch {
	case cfg.Input != "":
		return nil, errors.New("--prompt and --input exclude each other")
	case !hf.Is(cfg.Model):
		return nil, fmt.Errorf("--prompt: %s comes without a tokenizer; give its tokens with --input, or name the folder or GGUF file of the model", cfg.Model)
	}
	from := cfg.Model
	if strings.EqualFold(filepath.Ext(from), ".safetensors") {
		from = filepath.Dir(from)
	}
	t, err := tokenizer.Open(from)
	if err != nil {
		return nil, fmt.Errorf("--prompt: %w", err)
	}
	ids := t.Encode(cfg.Prompt)
	if cfg.Chat {
		c, err := chat.Open(from)
		if err != nil {
			return nil, fmt.Errorf("--chat: %w", err)
		}
		text, err := c.Render([]chat.Message{{Role: "user", Content: cfg.Prompt}}, true)
		if err != nil {
			return nil, fmt.Errorf("--chat: %w", err)
		}
		ids = t.EncodeChat(text)
	}
	if len(ids) == 0 {
		return nil, errors.New("--prompt: it has no tokens")
	}
	values := make([]float64, len(ids))
	for i, id := range ids {
		values[i] = float64(id)
	}
	return provemodel.Arrays{{Name: "input_ids", Values: values}}, nil
}
