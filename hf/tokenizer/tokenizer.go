package tokenizer

import (
	"crypto/sha256"
	"slices"
	"strings"
)

// Tokenizer turns text into ids and back. It is never changed, so several goroutines may use it
// at once.
type Tokenizer struct {
	added     *addedTokens
	plain     *addedTokens // the added tokens that Encode looks for; nil: all
	lead      lead
	normalise []normaliser
	split     []splitter
	model     model
	before    []int // tokens that Encode puts before a text
	after     []int // and after it
	decode    []decoder
	joint     string // is put between tokens if there are no decoders
	digest    [sha256.Size]byte
}

// model cuts a word into tokens.
type model interface {
	// encode adds the ids of a word, which is not empty, to ids.
	encode(w *work, ids []int, word string) []int
	// token returns the token of an id, or "".
	token(id int) string
	// size is one more than the greatest id.
	size() int
}

// lead says before which texts a space is put.
type lead int

const (
	noLead    lead = iota
	frontLead      // before the whole text, even if it begins with an added token
	eachLead       // before every piece of text between added tokens
)

// Encode returns the ids of a text, with the special tokens that the model expects around
// it. It returns an error if the tokenizer's file asks for far more work than a text of
// this length needs.
func (t *Tokenizer) Encode(text string) ([]int, error) {
	if text != "" && t.lead == frontLead {
		text = " " + text
	}
	added := t.added
	if t.plain != nil {
		added = t.plain
	}
	ids, err := t.encode(text, added, t.lead == eachLead, false)
	return slices.Concat(t.before, ids, t.after), err
}

// EncodeChat returns the ids of a text that a chat template has made. Special tokens in
// the text become tokens, and none are added around it. Its error is that of Encode.
func (t *Tokenizer) EncodeChat(text string) ([]int, error) {
	return t.encode(text, t.added, t.lead == eachLead, t.lead == frontLead)
}

// encode encodes a text, cut at added tokens. each says that a space is put before every
// other piece, front that it is put before the first.
func (t *Tokenizer) encode(text string, added *addedTokens, each, front bool) ([]int, error) {
	text = strings.ToValidUTF8(text, "�")
	w := &work{leastWork + workPerByte*len(text)}
	ids := []int{}
	for _, p := range added.cut(w, text, t.normalised) {
		if p.id >= 0 {
			ids = append(ids, p.id)
			continue
		}
		if each || front && p.first {
			p.text = w.joined(" ", p.text)
		}
		words := []word{{p.text, p.first}}
		for _, split := range t.split {
			words = eachWord(w, words, split)
		}
		for _, word := range words {
			if word.text != "" {
				ids = t.model.encode(w, ids, word.text)
			}
		}
	}
	if err := w.err(); err != nil {
		return nil, err
	}
	return ids, nil
}

func (t *Tokenizer) normalised(w *work, text string) string {
	for _, f := range t.normalise {
		text = f(w, text)
	}
	return text
}

// Decode returns the text of ids. It leaves out special tokens and unknown ids. It returns
// an error if the tokenizer's file asks for far more work than so many tokens need.
func (t *Tokenizer) Decode(ids []int) (string, error) {
	w := &work{leastWork + workPerID*len(ids)}
	var tokens []string
	for _, id := range ids {
		if s, ok := t.shown(id); ok && w.spend(len(s)+pieceWork, 1) {
			tokens = append(tokens, s)
		}
	}
	for _, f := range t.decode {
		tokens = f(w, tokens)
	}
	joint := t.joint
	if t.decode != nil {
		joint = ""
	}
	text := w.join(tokens, joint)
	return text, w.err()
}

// Hidden returns the ids that Decode leaves out, in order.
func (t *Tokenizer) Hidden(ids []int) []int {
	return slices.DeleteFunc(slices.Clone(ids), func(id int) bool {
		_, ok := t.shown(id)
		return ok
	})
}

// shown returns the token of an id, and whether it is part of a decoded text.
func (t *Tokenizer) shown(id int) (string, bool) {
	if added := t.added.byID[id]; added != nil && added.Special {
		return "", false
	}
	return t.Token(id)
}

// Token returns the token of an id as the vocabulary has it, and whether there is one.
func (t *Tokenizer) Token(id int) (string, bool) {
	if s, ok := t.added.byID[id]; ok {
		return s.Content, true
	}
	s := t.model.token(id)
	return s, s != ""
}

// Size is one more than the greatest id.
func (t *Tokenizer) Size() int {
	n := t.model.size()
	for id := range t.added.byID {
		n = max(n, id+1)
	}
	return n
}

// Digest is the SHA-256 of the file that the tokenizer was read from, or, for a GGUF file, of the
// metadata that it was made from.
func (t *Tokenizer) Digest() [sha256.Size]byte { return t.digest }

// word is a piece of a normalised text; first says that it is at the front of the
// whole text.
type word struct {
	text  string
	first bool
}

// splitter cuts a word into several. These may be empty, and their text may differ from the word's.
type splitter func(w *work, one word) []word

// eachWord applies a splitter to all words that are not empty, and returns the results in one list.
func eachWord(w *work, words []word, split splitter) []word {
	var out []word
	for _, one := range words {
		if one.text != "" {
			out = append(out, split(w, one)...)
		}
	}
	return out
}
