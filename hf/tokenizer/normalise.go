package tokenizer

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// lower converts every character to lower case, without regard to its neighbours.
// The only character that becomes two is İ.
func lower(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "İ", "i̇"))
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

// bertNormaliser is BERT's normaliser. With clean, it removes control characters, and makes white space spaces. With chinese,
// it puts a space on either side of an ideograph. With lower, it makes letters lower case.
type bertNormaliser struct {
	clean, chinese, lower bool
	strip                 *bool // accents are removed; nil: they are if lower is set
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
		s = chinese.ReplaceAllString(s, " $0 ")
	}
	if n.strip != nil && *n.strip || n.strip == nil && n.lower {
		s = without(norm.NFD.String(s), bertMark)
	}
	if n.lower {
		s = lower(s)
	}
	return s
}

// chinese are the ideographs that BERT treats as words.
var chinese = regexp.MustCompile("[\u4E00-\u9FFF\u3400-\u4DBF\U00020000-\U0002A6DF\U0002A700-\U0002B73F\U0002B740-\U0002B81F" +
	"\U0002B920-\U0002CEAF\uF900-\uFAFF\U0002F800-\U0002FA1F]")
