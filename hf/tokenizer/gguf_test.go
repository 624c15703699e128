package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
)

// The digest of a tokenizer is that of what fmt writes, for lists that are written without it too.
func TestWrite(t *testing.T) {
	long := make([]string, 3000)
	for i := range long {
		long[i] = fmt.Sprintf("Ġ%d\x00\xff\"`\\\n\u2028\U0010ffff", i)
	}
	runes := make([]string, 0, 1<<12)
	for r := range rune(1 << 11) {
		runes = append(runes, string(r), "a"+string(r)[:1]+"b")
	}
	for _, p := range []any{runes, nil, "a", []string(nil), []string{}, []string{""}, []string{"a", "`b`"}, long, []int64{1, -2}, []float64{1, 0.5, 1e30}, []int(nil), []int{7}} {
		got, want := sha256.New(), sha256.New()
		write(got, p, p)
		fmt.Fprintf(want, "%#v\n%#v\n", p, p)
		if !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
			t.Errorf("%.40q is written in another way than fmt writes it", fmt.Sprint(p))
		}
	}
}
