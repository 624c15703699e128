package tokenizer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// file is a tokenizer.json of one letter, with parts of it replaced.
func file(parts string) string {
	return fmt.Sprintf(`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, %s}`, parts)
}

// What is not understood is refused by name.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ json, want string }{
		"no JSON":        {`[`, "JSON"},
		"no model":       {`{}`, "no model"},
		"model":          {`{"model": {"type": "WordLevel"}}`, `"WordLevel"`},
		"unigram":        {`{"model": {"type": "Unigram", "vocab": [["a", -1]], "unk_id": 1}}`, "unk_id"},
		"unigram twice":  {`{"model": {"type": "Unigram", "vocab": [["a", -1], ["a", -2]], "unk_id": 0}}`, "there twice"},
		"unigram score":  {`{"model": {"type": "Unigram", "vocab": [["a", "b"]], "unk_id": 0}}`, "score of token 0"},
		"normaliser":     {file(`"normalizer": {"type": "Nmt"}`), `"Nmt"`},
		"map":            {file(`"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}`), "damaged"},
		"map's trie":     {file(`"normalizer": {"type": "Precompiled", "precompiled_charsmap": "CAAAAAAAAAA="}`), "damaged"},
		"within":         {file(`"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Nmt"}]}`), `"Nmt"`},
		"nested":         {file(`"normalizer": {"type": "Sequence", "normalizers": [{"type": "Sequence"}]}`), "within a sequence"},
		"no parts":       {file(`"normalizer": {"type": "Sequence"}`), "normalizers"},
		"replaced":       {file(`"normalizer": {"type": "Replace", "pattern": {"Regex": " +"}, "content": ""}`), `" +"`},
		"nothing":        {file(`"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "x"}`), "nothing is to be replaced"},
		"splitter":       {file(`"pre_tokenizer": {"type": "UnicodeScripts"}`), `"UnicodeScripts"`},
		"expression":     {file(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\w+"}, "behavior": "Isolated", "invert": false}`), `"\\w+"`},
		"behaviour":      {file(`"pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "Doubled"}`), `"Doubled"`},
		"inverted":       {file(`"pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": true}`), "keeps nothing else"},
		"new field":      {file(`"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "twist": 1}`), `"twist"`},
		"pattern":        {file(`"pre_tokenizer": {"type": "Split", "pattern": {"String": "a", "Flags": "i"}, "behavior": "Isolated"}`), `"Flags"`},
		"scheme":         {file(`"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"}`), `"last"`},
		"decoder":        {file(`"decoder": {"type": "CTC"}`), `"CTC"`},
		"template":       {file(`"post_processor": {"type": "Other"}`), `"Other"`},
		"template text":  {file(`"post_processor": {"type": "TemplateProcessing", "single": [], "special_tokens": {}}`), "does not have the text"},
		"template token": {file(`"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}]}`), "has no ids"},
		"around":         {file(`"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}, {"Sequence": {}}], "special_tokens": {"x": {"ids": [7]}}}`), "id 7"},
		"added":          {file(`"added_tokens": [{"id": -1, "content": "x"}]`), "has id -1"},
		"same id":        {`{"model": {"vocab": {"a": 0, "b": 0}, "merges": []}}`, "the same id"},
		"far id":         {`{"model": {"vocab": {"a": 9999999}, "merges": []}}`, "ids up to"},
		"merge":          {`{"model": {"vocab": {"a": 0}, "merges": ["a b"]}}`, "not of tokens"},
		"merge of three": {`{"model": {"vocab": {"a": 0}, "merges": ["a a a"]}}`, "of 3 tokens"},
		"merge twice":    {`{"model": {"vocab": {"a": 0, "aa": 1}, "merges": ["a a", "a a"]}}`, "twice"},
		"dropout":        {`{"model": {"vocab": {"a": 0}, "merges": [], "dropout": 0.1}}`, "at random"},
		"prefix":         {`{"model": {"vocab": {"a": 0}, "merges": [], "continuing_subword_prefix": "##"}}`, "##"},
		"bytes":          {`{"model": {"vocab": {"a": 0}, "merges": [], "byte_fallback": true}}`, "not all bytes"},
		"unknown":        {`{"model": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "b"}}`, "not in the vocabulary"},
	} {
		if _, err := ParseJSON([]byte(c.json)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		change func(meta map[string]any)
		want   string
	}{
		"good":     {func(map[string]any) {}, ""},
		"model":    {func(m map[string]any) { m["tokenizer.ggml.model"] = "rwkv" }, `"rwkv"`},
		"splitter": {func(m map[string]any) { m["tokenizer.ggml.pre"] = "porcupine" }, `"porcupine"`},
		"tokens":   {func(m map[string]any) { delete(m, "tokenizer.ggml.tokens") }, "no tokens"},
		"types":    {func(m map[string]any) { m["tokenizer.ggml.token_type"] = []int64{1} }, "have 1 types"},
		"merges":   {func(m map[string]any) { delete(m, "tokenizer.ggml.merges") }, "no merges"},
		"begin":    {func(m map[string]any) { m["tokenizer.ggml.add_bos_token"] = true }, "names no token"},
	} {
		meta := map[string]any{
			"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": []string{"a", "b", "ab", "<s>"},
			"tokenizer.ggml.token_type": []int64{1, 1, 1, 3}, "tokenizer.ggml.merges": []string{"a b"},
		}
		c.change(meta)
		tok, err := FromGGUF(meta)
		if c.want == "" {
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(encoded(t, tok, "abba<s>b")); got != "[2 1 0 3 1]" || decoded(t, tok, []int{2, 1, 0, 3, 1}) != "abbab" {
				t.Error(got)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"unigram", "cut"} {
		data, err := os.ReadFile("testdata/spm/tokenizer.model")
		if err != nil {
			t.Fatal(err)
		}
		if name == "cut" {
			data = data[:len(data)-5]
		} else {
			data = append(data, 0x12, 2, 0x18, 1) // trainer_spec {model_type: UNIGRAM}
		}
		if _, err := ParseSentencePiece(data); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Error(err)
	}
}

// A chat's special tokens are tokens; what a user writes of them in a plain
// SentencePiece model is text.
func TestChat(t *testing.T) {
	tok, err := Open("testdata/spm")
	if err != nil {
		t.Fatal(err)
	}
	s, ok := tok.model.(*sentencePiece).ids["</s>"]
	if !ok {
		t.Fatal("no </s>")
	}
	chat := func(text string) []int {
		t.Helper()
		ids, err := tok.EncodeChat(text)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	if ids := chat("hello</s>"); ids[len(ids)-1] != s {
		t.Error(names(tok, ids))
	}
	if ids := encoded(t, tok, "hello</s>"); ids[len(ids)-1] == s {
		t.Error(names(tok, ids))
	}
	if slices.Equal(chat("<s>hello"), encoded(t, tok, "hello")) {
		t.Error("a space stands before a text that follows a token")
	}
}

// Any text is encoded, and byte-level BPE gives it back.
func FuzzEncode(f *testing.F) {
	var all []*Tokenizer
	for _, name := range []string{"llama3", "o200k", "neox", "bert", "llama2", "metaspace", "spm", "strips"} {
		tok, err := Open(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, tok)
	}
	f.Add([]byte("Hello  world, naïve café 😀\n\t<s> [CLS] 123's"))
	f.Add([]byte{0xff, 'a', 0xe2, 0x82, ' '})
	f.Fuzz(func(t *testing.T, data []byte) {
		text := string(data)
		for i, tok := range all {
			ids := encoded(t, tok, text)
			for _, id := range ids {
				if id < 0 || id >= tok.Size() {
					t.Errorf("id %d of %d", id, tok.Size())
				}
			}
			back := decoded(t, tok, ids)
			if i < 2 && utf8.ValidString(text) && !bytes.ContainsAny(data, "<|") && back != text {
				t.Errorf("%q comes back as %q", text, back)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(file(`"normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true}, "decoder": {"type": "ByteLevel"}`)))
	f.Add([]byte(file(`"added_tokens": [{"id": 1, "content": "<s>", "lstrip": true, "normalized": true}], "pre_tokenizer": {"type": "Metaspace", "replacement": "_"}`)))
	f.Add([]byte(`{"model": {"type": "WordPiece", "vocab": {"a": 0, "##a": 1}, "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if tok, err := ParseJSON(data); err == nil {
			tries(t, tok, "Hello a aa <s>_b\n")
		}
		if tok, err := ParseSentencePiece(data); err == nil {
			tries(t, tok, "Hello a aa <s>_b\n")
		}
	})
}
