package corpus

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/tokenizer"
)

// letters has the bytes of ASCII as tokens, with one before a text and one after it.
func letters(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	var vocabulary []string
	for c := ' '; c <= '~'; c++ {
		vocabulary = append(vocabulary, fmt.Sprintf("%q: %d", string(c), c-' '+2))
	}
	k, err := tokenizer.ParseJSON([]byte(`{"model": {"type": "BPE", "merges": [], "vocab": {` + strings.Join(vocabulary, ", ") + `}}, "decoder": {"type": "Fuse"},
		"added_tokens": [{"id": 0, "content": "<s>", "special": true}, {"id": 1, "content": "</s>", "special": true}],
		"post_processor": {"type": "TemplateProcessing", "pair": [], "special_tokens": {
			"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}, "</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}},
			"single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestTokens(t *testing.T) {
	k := letters(t)
	for _, most := range []int{1, 2, 5, 64, 1 << 20} {
		got, err := Tokens(k, nil, 9, most, k.Size())
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(Pieces()) {
			t.Fatalf("%d texts of %d pieces", len(got), len(Pieces()))
		}
		for i, ids := range got {
			if len(ids) > most || ids[0] != 0 || most > 1 && ids[len(ids)-1] != 1 {
				t.Errorf("at most %d: piece %d is %v", most, i, ids)
			}
			if whole, err := k.Encode(Pieces()[i]); err != nil || most == 64 && len(ids) != min(most, len(whole)) || most > 64 && !slices.Equal(ids, whole) {
				t.Errorf("at most %d: piece %d has %d tokens of %d", most, i, len(ids), len(whole))
			}
		}
	}
	c, err := chat.Parse("{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Tokens(k, c, 3, 1<<20, k.Size())
	if err != nil || len(got) != 3 {
		t.Fatal(len(got), err)
	}
	if second, err := k.Decode(got[1]); err != nil || !strings.HasPrefix(second, "user:Which planet") {
		t.Errorf("the second text is %q: %v", second, err)
	}
	if got, err := Tokens(k, nil, 3, 64, 1); err != nil || len(got) != 3 || !slices.Equal(got[0], []int{0}) {
		t.Errorf("without an embedding: %v %v", got, err)
	}
}

// The pieces are text, and all of them are long enough for the ranges of a model.
func TestPieces(t *testing.T) {
	for i, p := range Pieces() {
		if !utf8.ValidString(p) || len(p) < 400 || strings.Contains(p, "%%") || strings.TrimSpace(p) != p {
			t.Errorf("piece %d: %q", i, p)
		}
	}
	if n := len(Pieces()); n != 8 {
		t.Errorf("%d pieces", n)
	}
}
