package tokenizer

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/prove-model/prove-model/internal/quote"
	"github.com/prove-model/prove-model/internal/refuse"
)

// splitters of byte-level BPE by the name that GGUF files give them.
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
	switch name {
	case "gpt2":
		t = ggufBPE(meta, tokens, kinds)
	case "llama":
		scores, _ := key("scores").([]float64)
		if len(scores) != len(tokens) || kinds == nil {
			refuse.With("%d tokens have %d scores and %d types", len(tokens), len(scores), len(kinds))
		}
		pieces := make([]scored, len(tokens))
		for i, s := range tokens {
			pieces[i] = scored{s, float32(scores[i]), int(kinds[i])}
		}
		prefix, given := key("add_space_prefix").(bool)
		at := noLead
		if prefix || !given {
			at = eachLead
		}
		t = pieceTokenizer(pieces, at, true)
	default:
		unknown("the model", name)
	}
	t.plain = nil // special tokens are tokens in any text
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
	t.digest = digestOf(name, key("pre"), tokens, kinds, key("merges"), key("scores"), t.before, t.after)
	return t
}

// ggufBPE is byte-level BPE.
func ggufBPE(meta map[string]any, tokens []string, kinds []int64) *Tokenizer {
	pre, _ := meta["tokenizer.ggml.pre"].(string)
	split, ok := ggufSplits[pre]
	if !ok {
		unknown("the splitter", pre)
	}
	ids := make(map[string]int, len(tokens))
	for i, s := range tokens {
		if _, ok := ids[s]; ok {
			refuse.With("token %s is there twice", quote.Name(s))
		}
		ids[s] = i
	}
	merges, ok := meta["tokenizer.ggml.merges"].([]string)
	if !ok {
		refuse.With("there are no merges")
	}
	m := &bpe{vocabulary: newVocabulary(ids), merges: make(map[[2]int]merge, len(merges)), unknown: -1, whole: pre == "llama-bpe"}
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

// digestOf is the SHA-256 of all that a tokenizer is made from.
func digestOf(parts ...any) [sha256.Size]byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%#v\n", p)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
