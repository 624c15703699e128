package tokenizer

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/quote"
	"github.com/prove-model/prove-model/internal/refuse"
)

// ggufSplits are the splitters of byte-level BPE, by the names that GGUF files give them.
var ggufSplits = map[string][]splitter{
	"gpt-2":     {byteLevel(false, true)},
	"olmo":      {byteLevel(false, true)},
	"smollm":    {splitAt(findRune(unicode.IsNumber), isolated), byteLevel(false, true)},
	"llama-bpe": {patterns[llama3].split, byteLevel(false, false)},
	"dbrx":      {patterns[llama3].split, byteLevel(false, false)},
	"qwen2":     {patterns[qwen2].split, byteLevel(false, false)},
	"stablelm2": {patterns[qwen2].split, byteLevel(false, false)},
	"gpt-4o":    {patterns[o200k].split, byteLevel(false, false)},
	"tekken":    {patterns[tekken].split, byteLevel(false, false)},
}

// FromGGUF makes the tokenizer that the metadata of a GGUF file describes.
func FromGGUF(meta map[string]any) (t *Tokenizer, err error) {
	err = refuse.Caught(func() {
		refuse.Within("the tokenizer in the metadata", func() { t = fromGGUF(meta) })
	})
	return t, err
}

// fromGGUF makes the tokenizer, and at the same time the digest of the metadata that it is made from.
func fromGGUF(meta map[string]any) *Tokenizer {
	key := func(name string) any { return meta["tokenizer.ggml."+name] }
	tokens, ok := key("tokens").([]string)
	if !ok {
		refuse.With("there are no tokens")
	}
	kinds, _ := key("token_type").([]int64)
	if kinds != nil && len(kinds) != len(tokens) {
		refuse.With("%d tokens have %d types", len(tokens), len(kinds))
	}
	var t *Tokenizer
	name, _ := key("model").(string)
	digest := sha256.New() // of all metadata that the tokenizer is made from
	var refused error
	parallel.Do(
		func() { t, refused = refuse.Result(func() *Tokenizer { return ggufModel(meta, name, tokens, kinds) }) },
		func() { write(digest, name, key("pre"), tokens, kinds, key("merges"), key("scores")) },
	)
	must.OK(refused)
	t.plain = nil // Encode finds all added tokens, special ones too
	for _, part := range []struct {
		add, id string
		usual   bool
		to      *[]int
	}{{"add_bos_token", "bos_token_id", name == "llama", &t.before}, {"add_eos_token", "eos_token_id", false, &t.after}} {
		add, given := key(part.add).(bool)
		if !given {
			add = part.usual
		}
		if !add {
			continue
		}
		id, ok := key(part.id).(int64)
		if !ok || id < 0 || id >= int64(len(tokens)) {
			refuse.With("%q is set, but %q names no token", part.add, part.id)
		}
		*part.to = []int{int(id)}
	}
	write(digest, t.before, t.after)
	t.digest = [sha256.Size]byte(digest.Sum(nil))
	return t
}

// ggufModel makes the tokenizer with a model of this name, without the tokens that are put before and after texts.
func ggufModel(meta map[string]any, name string, tokens []string, kinds []int64) *Tokenizer {
	switch name {
	case "gpt2":
		return ggufBPE(meta, tokens, kinds)
	case "llama":
		scores, _ := meta["tokenizer.ggml.scores"].([]float64)
		if len(scores) != len(tokens) || kinds == nil {
			refuse.With("%d tokens have %d scores and %d types", len(tokens), len(scores), len(kinds))
		}
		pieces := make([]scored, len(tokens))
		for i, s := range tokens {
			pieces[i] = scored{s, float32(scores[i]), int(kinds[i])}
		}
		prefix, given := meta["tokenizer.ggml.add_space_prefix"].(bool)
		at := noLead
		if prefix || !given {
			at = eachLead
		}
		return pieceTokenizer(pieces, at, true)
	}
	unknown("the model", name)
	return nil
}

// ggufBPE is byte-level BPE.
func ggufBPE(meta map[string]any, tokens []string, kinds []int64) *Tokenizer {
	pre, _ := meta["tokenizer.ggml.pre"].(string)
	split, ok := ggufSplits[pre]
	if !ok {
		unknown("the splitter", pre)
	}
	v := vocabulary{make(map[string]int, len(tokens)), tokens}
	for i, s := range tokens {
		if v.ids[s] = i; len(v.ids) == i {
			refuse.With("token %s is there twice", quote.Name(s))
		}
	}
	merges, ok := meta["tokenizer.ggml.merges"].([]string)
	if !ok {
		refuse.With("there are no merges")
	}
	m := &bpe{vocabulary: v, merges: make(map[uint64]merge, len(merges)), unknown: -1, whole: pre == "llama-bpe"}
	for _, s := range merges {
		left, right, ok := strings.Cut(s, " ")
		if !ok {
			refuse.With("the merge %s is not of two tokens", quote.Name(s))
		}
		m.addMerge(left, right)
	}
	var added []addedToken
	for i, kind := range kinds {
		if kind == pieceControl || kind == pieceUserDefined {
			added = append(added, addedToken{ID: i, Content: tokens[i], Special: kind == pieceControl})
		}
	}
	return &Tokenizer{added: newAdded(added, nil), split: slices.Clone(split), model: m, decode: []decoder{decodeByteLevel}}
}

// write hashes parts of a tokenizer as fmt's %#v writes them, each on a line. It formats lists of strings itself: for a vocabulary, fmt
// would take longer than everything else that opening a tokenizer takes.
func write(h hash.Hash, parts ...any) {
	for _, p := range parts {
		list, ok := p.([]string)
		if !ok || list == nil {
			fmt.Fprintf(h, "%#v\n", p)
			continue
		}
		text := []byte("[]string{")
		for i, s := range list {
			if i > 0 {
				text = append(text, ", "...)
			}
			if isPlain(s) {
				text = append(append(append(text, '"'), s...), '"')
			} else {
				text = strconv.AppendQuote(text, s)
			}
			if len(text) > 1<<12 {
				h.Write(text)
				text = text[:0]
			}
		}
		h.Write(append(text, "}\n"...))
	}
}

// isPlain says whether a string surely needs no escapes in quotes: it consists of printable ASCII without quotes and backslashes, and of
// letters from U+0100 to U+017F, some of which stand for bytes in byte-level vocabularies. Most tokens are such strings.
func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= ' ' && c <= '~' && c != '"' && c != '\\':
		case (c == 0xc4 || c == 0xc5) && i+1 < len(s) && s[i+1]>>6 == 0b10:
			i++
		default:
			return false
		}
	}
	return true
}
