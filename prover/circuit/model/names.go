package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxName is the largest number of bytes of a name.
const MaxName = 256

// unnamed are the ranges of characters that no name holds, first and last: controls, format characters (among them those that
// change the direction of writing), spaces other than the ASCII one, separators, surrogates, characters for private use, code
// points that Unicode will never assign, and code points that it reserves for more such characters. The list is part of the
// format of keys and does not change with the version of Unicode, since which keys are valid must not depend on the program
// that reads them.
var unnamed = [][2]rune{
	{0x00, 0x1f}, {0x7f, 0xa0}, {0xad, 0xad}, {0x600, 0x605}, {0x61c, 0x61c}, {0x6dd, 0x6dd}, {0x70f, 0x70f}, {0x890, 0x891}, {0x8e2, 0x8e2},
	{0x1680, 0x1680}, {0x180e, 0x180e}, {0x2000, 0x200f}, {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000}, {0xd800, 0xf8ff},
	{0xfdd0, 0xfdef}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
	{0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff}, {0x2fffe, 0x2ffff}, {0x3fffe, 0xe00ff}, {0xe01f0, 0x10ffff},
}

// printable reports whether a name may hold r. Programs print names in a key. With
// other characters a hostile key could move the cursor, end the line, or hide or
// reverse what is printed after the name.
func printable(r rune) bool {
	if r < unnamed[1][0] { // ASCII, as most characters are
		return r > unnamed[0][1]
	}
	_, found := slices.BinarySearchFunc(unnamed, r, func(of [2]rune, r rune) int {
		if of[0] <= r && r <= of[1] {
			return 0
		}
		return cmp.Compare(of[0], r)
	})
	return !found
}

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
	}, s) // strings.Map has replaced bytes that are not UTF-8 by U+FFFD
	if len(s) <= MaxName {
		return s
	}
	cut := MaxName
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
