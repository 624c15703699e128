package job

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/must"
)

// Behind makes the prompt what follows on the tokens of a text, and returns its own tokens. A tokenizer's mark of a text's
// beginning is left out where a text goes on.
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
