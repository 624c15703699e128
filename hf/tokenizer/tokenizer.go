package tokenizer

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// Tokenizer turns text into ids and back. It does not change, so it may be used by
// several goroutines at once.
type Tokenizer struct {
	added     *addedTokens
	plain     *addedTokens // those that Encode looks for, where they are not all
	lead      lead
	normalise []func(string) string
	split     []splitter
	model     model
	before    []int // what the template puts before a text
	after     []int
	decode    []decoder
	joint     string // between tokens, without decoders
	digest    [sha256.Size]byte
}

// model cuts a word into tokens.
type model interface {
	// encode adds the ids of a word, which is not empty, to ids.
	encode(ids []int, word string) []int
	// id returns the id of a token.
	id(token string) (int, bool)
	// token returns the token of an id, or "".
	token(id int) string
	// size is one more than the greatest id.
	size() int
}

// lead says where a space is put before texts.
type lead int

const (
	noLead    lead = iota
	frontLead      // at the front, whatever is there
	eachLead       // before every text between added tokens
)

// Encode returns the ids of a text, with those that the model expects around it.
func (t *Tokenizer) Encode(text string) []int {
	if text != "" && t.lead == frontLead {
		text = " " + text
	}
	added := t.added
	if t.plain != nil {
		added = t.plain
	}
	return slices.Concat(t.before, t.encode(text, added, t.lead == eachLead, false), t.after)
}

// EncodeChat returns the ids of a text that a chat template has made: special tokens
// in it are tokens, those around it among them.
func (t *Tokenizer) EncodeChat(text string) []int {
	return t.encode(text, t.added, t.lead == eachLead, t.lead == frontLead)
}

// encode encodes a text, cut at added tokens, with a space before each of the other
// pieces or before that at the front.
func (t *Tokenizer) encode(text string, added *addedTokens, each, front bool) []int {
	text = strings.ToValidUTF8(text, "�")
	ids := []int{}
	for _, p := range added.cut(text, t.normalised) {
		if p.id >= 0 {
			ids = append(ids, p.id)
			continue
		}
		if each || front && p.first {
			p.text = " " + p.text
		}
		words := []word{{p.text, p.first}}
		for _, split := range t.split {
			words = eachWord(words, split)
		}
		for _, w := range words {
			if w.text != "" {
				ids = t.model.encode(ids, w.text)
			}
		}
	}
	return ids
}

func (t *Tokenizer) normalised(text string) string {
	for _, f := range t.normalise {
		text = f(text)
	}
	return text
}

// Decode returns the text of ids. Special tokens, and ids that there are none of,
// are left out.
func (t *Tokenizer) Decode(ids []int) string {
	var tokens []string
	for _, id := range ids {
		if s, ok := t.shown(id); ok {
			tokens = append(tokens, s)
		}
	}
	if t.decode == nil {
		return strings.Join(tokens, t.joint)
	}
	for _, f := range t.decode {
		tokens = f(tokens)
	}
	return strings.Join(tokens, "")
}

// Hidden returns those of ids that Decode leaves out, in their order.
func (t *Tokenizer) Hidden(ids []int) []int {
	return slices.DeleteFunc(slices.Clone(ids), func(id int) bool {
		_, ok := t.shown(id)
		return ok
	})
}

// shown returns the token of an id, and whether it is part of a decoded text.
func (t *Tokenizer) shown(id int) (string, bool) {
	if t.added.special(id) {
		return "", false
	}
	return t.Token(id)
}

// Token returns the token of an id as the vocabulary has it, and whether there is
// one.
func (t *Tokenizer) Token(id int) (string, bool) {
	if s, ok := t.added.byID[id]; ok {
		return s.text, true
	}
	s := t.model.token(id)
	return s, s != ""
}

// ID returns the id of a token that is in the vocabulary whole.
func (t *Tokenizer) ID(token string) (int, bool) {
	if id, ok := t.added.ids[token]; ok {
		return id, true
	}
	return t.model.id(token)
}

// Size is one more than the greatest id.
func (t *Tokenizer) Size() int {
	n := t.model.size()
	for id := range t.added.byID {
		n = max(n, id+1)
	}
	return n
}

// Digest is the SHA-256 of the file that the tokenizer was read from.
func (t *Tokenizer) Digest() [sha256.Size]byte { return t.digest }

// word is a piece of a normalised text; first says that it is at the front of the
// whole text.
type word struct {
	text  string
	first bool
}

// splitter cuts a word into several. Those may be empty, or of other text.
type splitter func(w word) []word

// eachWord applies a splitter to words that are not empty.
func eachWord(words []word, split splitter) []word {
	var out []word
	for _, w := range words {
		if w.text != "" {
			out = append(out, split(w)...)
		}
	}
	return out
}

// pieces cuts w before each of the ascending positions in ends, but for the last,
// which is the length of its text.
func (w word) pieces(ends []int) []word {
	out := make([]word, len(ends))
	at := 0
	for i, end := range ends {
		out[i] = word{w.text[at:end], w.first && at == 0}
		at = end
	}
	return out
}

// unknown is the error about something that is not understood.
func unknown(what, name string) error {
	return fmt.Errorf("%s %s is not one that is understood; the text could not be split as the model expects", what, graph.Quote(name))
}
