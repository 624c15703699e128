package tokenizer

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// lower converts every character to lower case, without regard to its neighbours.
// One character becomes two.
func lower(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == 'İ' {
			b.WriteString("i̇")
		} else {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// without removes the characters of a set.
func without(s string, set func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if set(r) {
			return -1
		}
		return r
	}, s)
}

// bertNormaliser is BERT's normaliser.
type bertNormaliser struct {
	clean, chinese, lower bool
	strip                 *bool // accents; nil: as lower
}

func (n bertNormaliser) normalise(s string) string {
	if n.clean {
		s = strings.Map(func(r rune) rune {
			switch {
			case bertControl(r):
				return -1
			case unicode.IsSpace(r):
				return ' '
			}
			return r
		}, s)
	}
	if n.chinese {
		var b strings.Builder
		for _, r := range s {
			if chinese(r) {
				b.WriteByte(' ')
				b.WriteRune(r)
				b.WriteByte(' ')
			} else {
				b.WriteRune(r)
			}
		}
		s = b.String()
	}
	if n.strip != nil && *n.strip || n.strip == nil && n.lower {
		s = without(norm.NFD.String(s), bertMark)
	}
	if n.lower {
		s = lower(s)
	}
	return s
}

// chinese reports whether r is one of the ideographs that BERT treats as words.
func chinese(r rune) bool {
	for _, d := range [][2]rune{
		{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF}, {0x2F800, 0x2FA1F},
	} {
		if r >= d[0] && r <= d[1] {
			return true
		}
	}
	return false
}
