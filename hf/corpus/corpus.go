// Package corpus has a few pages of text on which language models and text encoders are
// calibrated by default: prose, questions and answers, tables, code, a dozen languages. The
// text was written for this purpose.
package corpus

import (
	_ "embed"
	"sort"
	"strings"

	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/tokenizer"
)

//go:embed texts.txt
var file string

// conversation is the conversation that a chat template renders.
var conversation = []chat.Message{
	{Role: "user", Content: "Which planet has the most moons, and why does nobody agree on the number?"},
	{Role: "assistant", Content: "Saturn, as far as we know: new ones are found every few years, and some are no larger than a stadium."},
	{Role: "user", Content: "And how many does Mars have?"},
}

// Pieces are the texts, the most varied first.
func Pieces() []string { return strings.Split(strings.TrimSuffix(file, "\n"), "\n%%\n") }

// Tokens returns the tokens of the first pieces texts, each cut to at most most tokens (at least
// 1). If there is a chat template c, the second text is a conversation. Tokens from bound on,
// for which the model has no embedding, are dropped. The error is that of t.Encode.
func Tokens(t *tokenizer.Tokenizer, c *chat.Template, pieces, most, bound int) ([][]int, error) {
	var out [][]int
	add := func(text string, encode encoder) error {
		all, err := cut(text, encode, most)
		var ids []int
		for _, id := range all {
			if id < bound {
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 {
			out = append(out, ids)
		}
		return err
	}
	for i, text := range Pieces() {
		if i == 1 && c != nil && len(out) < pieces {
			// A template that rejects this conversation is not used.
			if s, err := c.Render(conversation, true); err == nil {
				if err := add(s, t.EncodeChat); err != nil {
					return nil, err
				}
			}
		}
		if len(out) == pieces {
			break
		}
		if err := add(text, t.Encode); err != nil {
			return nil, err
		}
	}
	return out, nil
}

type encoder func(text string) ([]int, error)

// cut encodes the longest beginning of a text that has at most most tokens. The text is cut
// and not its tokens, so that the tokens which a tokenizer puts at the end of a text are there.
func cut(text string, encode encoder, most int) ([]int, error) {
	ids, err := encode(text)
	if err != nil || len(ids) <= most {
		return ids, err
	}
	runes := []rune(text)
	n := sort.Search(len(runes), func(n int) bool {
		ids, err := encode(string(runes[:n+1]))
		return err != nil || len(ids) > most
	})
	ids, err = encode(string(runes[:n]))
	return ids[:min(len(ids), most)], err
}
