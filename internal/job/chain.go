package job

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/must"
)

// Behind puts the tokens of a text before the prompt, which continues it, and returns the prompt's own tokens. If the text
// is not empty, tokens that the tokenizer puts at the beginning of every text are removed from the prompt.
func (j *Job) Behind(cfg *config.Config, before []int) (_ []int, err error) {
	defer must.Catch(&err)
	if j.prompt == nil {
		return nil, noPrompt("--chain")
	}
	own := j.prompt.IDs
	if len(before) == 0 {
		return own, nil
	}
	if cfg.Chat {
		return nil, WithHint(errors.New("--chat begins a conversation, and the chain has begun"), "write what follows as the model's template has it, with --prompt or --tokens-file")
	}
	if t := j.prompt.Tokenizer; t != nil && cfg.Prompt != "" {
		begin := must.Get(t.Encode(""))
		if len(own) > len(begin) && slices.Equal(own[:len(begin)], begin) {
			own = own[len(begin):]
		}
	}
	j.prompt.IDs = slices.Concat(before, own)
	return own, nil
}
