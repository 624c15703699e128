package job

import (
	"strings"
	"testing"
)

// FuzzTokens reads files of tokens of any content: what is not refused has some.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{`{"input_ids": [1, 5, 9]}`, `{"input_ids": []}`, `{"input_ids": [1.5]}`, `{"input_ids": [[1]]}`, `[1]`, `{"input_ids": [99999999999999999999]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ids, err := tokensOf(data)
		if (err == nil) != (len(ids) > 0) {
			t.Errorf("%v, %v", ids, err)
		}
		if err != nil && strings.Contains(err.Error(), "Go") {
			t.Errorf("it speaks of Go: %v", err)
		}
	})
}
