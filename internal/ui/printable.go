package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable returns s with all characters that do not print as themselves escaped, as
// in Go. Names come from files of other people, and an escape sequence in a name could
// overwrite a verdict on the terminal.
func Printable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if part := s[:n]; r == utf8.RuneError && n == 1 || unprintable(r) {
			quoted := strconv.Quote(part)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(part)
		}
		s = s[n:]
	}
	return b.String()
}

// PrintableLines does for a text of several lines what Printable does for one.
func PrintableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// unprintable holds for control characters, for spaces other than ' ', and for
// invisible characters that change the direction of text.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// escapeJSON escapes the characters of a JSON text that Printable would escape. In JSON
// they occur in strings only.
func escapeJSON(b []byte) []byte {
	if !slices.ContainsFunc(b, func(c byte) bool { return c >= 0x7f }) {
		return b // unprintable characters below 0x7f are escaped in JSON's strings already
	}
	out := make([]byte, 0, len(b))
	for _, r := range string(b) {
		if r < utf8.RuneSelf && r != 0x7f || !unprintable(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}
