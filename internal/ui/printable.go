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

// Printable returns s with everything escaped, as in Go, that does not print
// as itself: names come from files of others, and an escape sequence in one
// could paint over a verdict.
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

// PrintableLines is Printable for text of several lines.
func PrintableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// unprintable holds for control characters, spaces other than ' ', and the
// invisible characters that turn the direction of text.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// escapeJSON does for JSON, in which only strings have such characters, what
// Printable does for text.
func escapeJSON(b []byte) []byte {
	if !slices.ContainsFunc(b, func(c byte) bool { return c >= 0x7f }) {
		return b // others below that are in no string of JSON
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
