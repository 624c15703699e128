package tokenizer

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// bytesOnly is a byte-level tokenizer in which every byte of the text is a token.
func bytesOnly(t *testing.T, text string) (*Tokenizer, []int) {
	t.Helper()
	vocab := map[string]int{}
	var ids []int
	for _, r := range toLetters(text) {
		if _, ok := vocab[string(r)]; !ok {
			vocab[string(r)] = len(vocab)
		}
		ids = append(ids, vocab[string(r)])
	}
	data, err := json.Marshal(map[string]any{
		"model":   map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
		"decoder": map[string]any{"type": "ByteLevel"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := ParseJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return tok, ids
}

// A stream never shows a part of a character, and in the end has shown the text.
func TestStream(t *testing.T) {
	const text = "naïve 😀 日本\n"
	tok, ids := bytesOnly(t, text)
	for from := range 3 {
		s := tok.Stream(ids[:from])
		shown := ""
		for _, id := range ids[from:] {
			shown += s.Next(id)
			if strings.Contains(shown, "\uFFFD") || !strings.HasPrefix(text[from:], shown) {
				t.Fatalf("after %d: %q", from, shown)
			}
		}
		rest, err := s.Rest()
		if shown += rest; shown != text[from:] || err != nil {
			t.Errorf("after %d: %q %v", from, shown, err)
		}
		if got, err := tok.After(ids[:from], ids[from:]); got != text[from:] || err != nil {
			t.Errorf("after %d: %q %v", from, got, err)
		}
	}
	// A text that stops within a character shows that at the end.
	s := tok.Stream(nil)
	shown := ""
	for _, id := range ids[:3] {
		shown += s.Next(id)
	}
	if shown != "na" {
		t.Errorf("%q", shown)
	}
	if rest, err := s.Rest(); rest != "\uFFFD" || err != nil {
		t.Errorf("%q %v", rest, err)
	}
}

// After reads long texts, whose length others choose, in time in proportion to it.
func TestAfterManyTokens(t *testing.T) {
	text := strings.Repeat("naïve 😀 ", 1<<13)
	tok, ids := bytesOnly(t, text)
	start := time.Now()
	if got, err := tok.After(ids[:1], ids[1:]); got != text[1:] || err != nil {
		t.Errorf("a text of %d bytes, not %d: %v", len(got), len(text)-1, err)
	}
	if d := time.Since(start); d > patience() {
		t.Errorf("%d tokens took %v", len(ids), d)
	}
}

// What follows a part of a character begins with that character, whatever bytes it
// shares with what stands for the part.
func TestAfterPartOfCharacter(t *testing.T) {
	const text = "aﾟb" // its bytes begin as those of U+FFFD do
	tok, ids := bytesOnly(t, text)
	for from, want := range []string{"aﾟb", "ﾟb", "ﾟb", "ﾟb", "b", ""} {
		if got, err := tok.After(ids[:from], ids[from:]); got != want || err != nil {
			t.Errorf("after %d: %q, not %q: %v", from, got, want, err)
		}
	}
}
