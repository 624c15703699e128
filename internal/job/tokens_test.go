package job

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A file has the tokens of one text, by themselves or as a batch of one.
func TestReadTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.json")
	for text, want := range map[string][]int{
		`{"input_ids": [1, 5, 9]}`: {1, 5, 9}, `{"input_ids": [[1, 5, 9]]}`: {1, 5, 9},
		`{"input_ids": [[1], [5]]}`: nil, `{"input_ids": [[]]}`: nil,
		`{"input_ids": []}`: nil, `{"input_ids": [[1, "x"]]}`: nil, `{"input_ids": [1.5]}`: nil, `{"input_ids": [[[1]]]}`: nil, `{}`: nil,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readTokens(path)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
