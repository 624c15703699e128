package tokenizer

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// times is a sequence of n parts.
func times(field string, n int, part string) string {
	return fmt.Sprintf(`{"type": "Sequence", %q: [%s]}`, field, strings.TrimSuffix(strings.Repeat(part+",", n), ","))
}

func replacing(from, to string) string {
	return fmt.Sprintf(`{"type": "Replace", "pattern": {"String": %q}, "content": %q}`, from, to)
}

// lasting is a tokenizer of so many tokens that begin alike.
func lasting(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `, {"id": %d, "content": "a%sb", "special": true}`, i+1, strings.Repeat("a", i))
	}
	return file(`"added_tokens": [` + b.String()[2:] + `]`)
}

// hostile are tokenizers that make far more of a text than there is in it, when it is
// encoded or decoded or when they are read.
var hostile = map[string]string{
	"replaced":       file(`"normalizer": ` + times("normalizers", 40, replacing("a", "aa"))),
	"prepended":      file(`"normalizer": ` + times("normalizers", 60, `{"type": "Prepend", "prepend": "`+strings.Repeat("ab", 8192)+`"}`)),
	"normal forms":   file(`"normalizer": ` + times("normalizers", 30000, `{"type": "NFKD"}`)),
	"lower case":     file(`"normalizer": ` + times("normalizers", 30000, `{"type": "Lowercase"}`)),
	"added tokens":   file(`"normalizer": ` + times("normalizers", 15000, `{"type": "NFC"}`) + `, "added_tokens": [` + strings.TrimSuffix(strings.Repeat(`{"id": 0, "content": "aaaaaaaa", "normalized": true},`, 8000), ",") + `]`),
	"added, growing": file(`"normalizer": ` + times("normalizers", 40, replacing("a", "aa")) + `, "added_tokens": [{"id": 0, "content": "a", "normalized": true}]`),
	"like prefixes":  lasting(1400),
	"bytes of bytes": file(`"pre_tokenizer": ` + times("pretokenizers", 40, `{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}`)),
	"metaspace":      file(`"pre_tokenizer": ` + times("pretokenizers", 40, `{"type": "Metaspace", "replacement": "  ", "prepend_scheme": "always", "split": false}`)),
	"split":          file(`"pre_tokenizer": ` + times("pretokenizers", 10000, `{"type": "Digits", "individual_digits": true}`)),
	"split by words": file(`"pre_tokenizer": ` + times("pretokenizers", 5000, `{"type": "ByteLevel", "add_prefix_space": true}`)),
	"decoded":        file(`"decoder": ` + times("decoders", 40, replacing("a", "aa"))),
	"decoders":       file(`"decoder": ` + times("decoders", 30000, `{"type": "Fuse"}`)),
	"long prefix": `{"model": {"type": "WordPiece", "vocab": {"a": 0, "` + strings.Repeat("a", 1<<18) + `": 1}, "unk_token": "a", "max_input_chars_per_word": 1000000000,
		"continuing_subword_prefix": "` + strings.Repeat("#", 1<<18) + `"}}`,
	"template": file(`"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}` + strings.Repeat(`, {"SpecialToken": {"id": "x"}}`, 10000) +
		`], "special_tokens": {"x": {"ids": [0` + strings.Repeat(`, 0`, 10000) + `]}}}`),
}

// A hostile tokenizer is refused before it has taken much memory or time: when it is read,
// or when it is first used.
func TestWork(t *testing.T) {
	text := strings.Repeat("a", 4000) + " 1 aé"
	for name, file := range hostile {
		if len(file) > 1<<20 {
			t.Fatalf("%s: %d bytes", name, len(file))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		tok, err := ParseJSON([]byte(file))
		if err == nil {
			var ids []int
			if ids, err = tok.Encode(text); err == nil {
				_, err = tok.Decode(ids)
			}
		}
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		made := (after.TotalAlloc - before.TotalAlloc) >> 20
		if err == nil {
			t.Errorf("%s is not refused", name)
		}
		// All memory that was ever asked for is much more than what is held at a time.
		if made > 400 || took > patience() {
			t.Errorf("%s: %d MB, %v", name, made, took)
		}
		t.Logf("%s: %d MB, %v: %v", name, made, took, err)
	}
}

// A long text of one word, of one letter, or of spaces alone is no hostile tokenizer.
func TestLongTexts(t *testing.T) {
	for _, name := range []string{"llama3", "o200k", "neox", "bert", "llama2", "metaspace", "spm", "strips"} {
		tok, err := Open("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"a", " ", "\n ", "1", "1 ", "é", "日", "ﷺ", "<", "😀", "qzj", "'s "} {
			text := strings.Repeat(part, 1<<14/len(part))
			decoded(t, tok, encoded(t, tok, text))
		}
	}
}

// tries encodes and decodes a text, or is refused, and never makes more of it than is
// allowed.
func tries(t *testing.T, tok *Tokenizer, text string) {
	ids, err := tok.Encode(text)
	if err != nil {
		return
	}
	if len(ids) > (leastWork+3*workPerByte*len(text))/lookWork+2*mostAround {
		t.Errorf("%d bytes have %d tokens", len(text), len(ids))
	}
	back, err := tok.Decode(ids)
	if err == nil && len(back) > leastWork+workPerID*len(ids) {
		t.Errorf("%d tokens have a text of %d bytes", len(ids), len(back))
	}
}

// Whatever normalisers, splitters and decoders follow one another, a text does not grow
// without bounds.
func FuzzParts(f *testing.F) {
	f.Add(times("normalizers", 3, replacing("a", "aa")), times("pretokenizers", 3, `{"type": "ByteLevel"}`), times("decoders", 3, replacing("a", "aa")), "a a1é")
	f.Add(`{"type": "BertNormalizer", "clean_text": true, "lowercase": true}`, `{"type": "BertPreTokenizer"}`, `{"type": "WordPiece", "prefix": "##", "cleanup": true}`, "Ünï, 日本 a")
	f.Add(`{"type": "Prepend", "prepend": "a"}`, `{"type": "Metaspace", "replacement": "_"}`, `{"type": "Metaspace", "replacement": "_"}`, "a  b")
	f.Add(`{"type": "NFKD"}`, `{"type": "Punctuation", "behavior": "Contiguous"}`, `{"type": "Strip", "content": "a", "start": 1, "stop": 2}`, "ﷺ, a!! a")
	f.Add(`{"type": "Strip", "strip_left": true}`, `{"type": "Split", "pattern": {"String": "a"}, "behavior": "MergedWithNext", "invert": false}`, `{"type": "ByteFallback"}`, " aba ")
	f.Add(`{"type": "Precompiled", "precompiled_charsmap": "CAAAAAAAAAAAAAAA"}`, `{"type": "WhitespaceSplit"}`, `{"type": "Metaspace", "replacement": "_"}`, "a\u0301 ab")
	f.Add(`{"type": "StripAccents"}`, `{"type": "WhitespaceSplit"}`, `{"type": "Fuse"}`, "a\u0301 ab")
	f.Fuzz(func(t *testing.T, normalizer, pre, decoder, text string) {
		if len(text) > 1<<10 {
			return
		}
		tok, err := ParseJSON([]byte(file(fmt.Sprintf(`"normalizer": %s, "pre_tokenizer": %s, "decoder": %s`, normalizer, pre, decoder))))
		if err == nil {
			tries(t, tok, text)
		}
	})
}

// patience is what a file that asks for much may take until it is refused, on a machine that
// does other work as well; with -short, as the race detector runs, more.
// internal/hostile measures processor time.
func patience() time.Duration {
	if testing.Short() {
		return 100 * time.Second
	}
	return 30 * time.Second
}
