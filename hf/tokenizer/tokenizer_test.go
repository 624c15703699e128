package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The folders of testdata have small tokenizers of every kind, with what the
// reference libraries make of the lines in lines.json. PROVE_MODEL_TOKENIZERS names
// a folder with more lines (scripts/hf/tokenizer_cases.py makes it).
func TestReference(t *testing.T) {
	dirs := []string{"testdata"}
	if dir := os.Getenv("PROVE_MODEL_TOKENIZERS"); dir != "" {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		var lines []string
		readJSON(t, filepath.Join(dir, "lines.json"), &lines)
		cases, err := filepath.Glob(filepath.Join(dir, "*", "cases.json"))
		if err != nil || len(cases) < 16 {
			t.Fatalf("%d folders: %v", len(cases), err)
		}
		for _, path := range cases {
			t.Run(filepath.Base(dir)+"/"+filepath.Base(filepath.Dir(path)), func(t *testing.T) {
				t.Parallel()
				tok, err := Open(filepath.Dir(path))
				if err != nil {
					t.Fatal(err)
				}
				compare(t, tok, lines, path)
			})
		}
	}
}

func compare(t *testing.T, tok *Tokenizer, lines []string, path string) {
	var want []struct {
		IDs  []int  `json:"ids"`
		Text string `json:"text"`
	}
	readJSON(t, path, &want)
	if len(want) != len(lines) || len(lines) == 0 {
		t.Fatalf("%d results for %d lines", len(want), len(lines))
	}
	wrong := 0
	for i, line := range lines {
		got := encoded(t, tok, line)
		if !slices.Equal(got, want[i].IDs) {
			wrong++
			if wrong <= 5 {
				t.Errorf("%q:\n got %q %v\nwant %q %v", line, names(tok, got), got, names(tok, want[i].IDs), want[i].IDs)
			}
			continue
		}
		if text := decoded(t, tok, got); text != want[i].Text {
			wrong++
			if wrong <= 5 {
				t.Errorf("%v is decoded to\n     %q\nwant %q", got, text, want[i].Text)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d lines differ", wrong, len(lines))
	}
}

func encoded(t *testing.T, tok *Tokenizer, text string) []int {
	t.Helper()
	ids, err := tok.Encode(text)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func decoded(t *testing.T, tok *Tokenizer, ids []int) string {
	t.Helper()
	text, err := tok.Decode(ids)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func names(tok *Tokenizer, ids []int) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i], _ = tok.Token(id)
	}
	return out
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
