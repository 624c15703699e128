package ui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// What could move a terminal's cursor or turn its text is escaped; letters of
// any language are not.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"conv1/weights:0": "conv1/weights:0", "größe 图像 é": "größe 图像 é", "": "",
		"a\x1b[2K\rVALID": `a\x1b[2K\rVALID`, "two\nlines\t": `two\nlines\t`,
		"\u009b2J": `\u009b2J`, "\x7f": `\x7f`, "abc\u202edcba": `abc\u202edcba`, "\u200b": `\u200b`, "\ufeff": `\ufeff`, "\u00a0": `\u00a0`,
		"bad \xff bytes": `bad \xff bytes`, "\ufffd": "\ufffd", "\U000e0041": `\U000e0041`,
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q is printed as %q, want %q", in, got, want)
		}
	}
	if got := PrintableLines("a\x1b\nb\r"); got != "a\\x1b\nb\\r" {
		t.Errorf("%q", got)
	}
}

func TestJSONIsPrintable(t *testing.T) {
	for _, in := range []string{"\x1b[2K", "\u009b", "\x7f", "\u202e", "\U000e0041", "größe 图像 \"\\\n"} {
		var b bytes.Buffer
		if err := JSON(&b, []string{in}); err != nil {
			t.Fatal(err)
		}
		if strings.Trim(Printable(strings.ReplaceAll(b.String(), "\n", "")), " ") != strings.ReplaceAll(b.String(), "\n", "") {
			t.Errorf("%q is written as %q", in, b.String())
		}
		var back []string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back[0] != in {
			t.Errorf("%q comes back as %q, %v", in, back, err)
		}
	}
}
