package model

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the largest number of bytes of a name.
const MaxName = 256

// printable reports whether a name may contain r. Programs print the names in a key, and
// its issuer must not be able to move the cursor, to hide or reverse what comes after, or
// to end the line. Allowed are letters, marks, numbers, punctuation, symbols and the ASCII
// space (unicode.IsPrint). Controls and format characters, such as those that change the
// direction of writing, are not.
func printable(r rune) bool { return unicode.IsPrint(r) }

// validateName checks that a name can be printed as it is.
func validateName(name string) error {
	if len(name) > MaxName {
		return fmt.Errorf("a name of %d bytes, more than %d", len(name), MaxName)
	}
	if isASCII(name) {
		return nil
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("name %q is not UTF-8", name)
	}
	for _, r := range name {
		if !printable(r) {
			return fmt.Errorf("name %q holds %U, which does not print", name, r)
		}
	}
	return nil
}

// isASCII reports whether a name has only printing ASCII characters, as nearly all have.
func isASCII(name string) bool {
	for i := range len(name) {
		if name[i] < ' ' || name[i] > '~' {
			return false
		}
	}
	return true
}

// PrintableName makes a valid name from any string: it replaces characters that do not
// print by U+FFFD, and cuts a string that is too long.
func PrintableName(s string) string {
	s = strings.Map(func(r rune) rune {
		if !printable(r) {
			return utf8.RuneError
		}
		return r
	}, s) // in which bytes that are not UTF-8 are U+FFFD already
	if len(s) <= MaxName {
		return s
	}
	cut := MaxName
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
