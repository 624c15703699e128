package tokenizer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is a family of regular expressions with which published byte-level BPE tokenizers
// split text:
//
//	'(?:[sdmt]|ll|ve|re)  LETTERS  NUMBERS   ?[^\s\p{L}\p{N}]+TAIL  \s*[\r\n]+  \s+(?!\S)  \s+
//
// The alternatives are tried in this order. Every character is part of a match, unless the pattern is bare.
type pattern struct {
	contractions bool // contractions such as 's are matched before letters
	anyCase      bool // contractions may be in upper case too
	// cased says that the letters of a match are upper case before lower case, so that "HTMLPage" is not split but
	// "pageHTML" is; ends says that a contraction behind the letters belongs to the match.
	cased, ends bool
	// marked says that any one character that is no letter, number or end of a line may stand
	// before letters; otherwise only a space may.
	marked  bool
	numbers int    // the most digits of a match; 0: any number, with a space before them
	tail    string // characters that may follow a match of other characters, such as punctuation
	lines   bool   // white space up to its last end of a line is one match
	// bare says that white space is in no match. Strings of marks are matched before everything else.
	bare  bool
	marks []string
}

// patterns are the regular expressions that are recognised, as files write them.
var patterns = map[string]pattern{
	gpt2:   {contractions: true},
	llama3: {contractions: true, anyCase: true, marked: true, numbers: 3, tail: "\r\n", lines: true},
	qwen2:  {contractions: true, anyCase: true, marked: true, numbers: 1, tail: "\r\n", lines: true},
	o200k:  {anyCase: true, cased: true, ends: true, marked: true, numbers: 3, tail: "\r\n/", lines: true},
	tekken: {cased: true, marked: true, numbers: 1, tail: "\r\n/", lines: true},
	clip:   {contractions: true, numbers: 1, bare: true},

	`<\|startoftext\|>|<\|endoftext\|>|` + clip: {contractions: true, numbers: 1, bare: true, marks: []string{"<|startoftext|>", "<|endoftext|>"}},
}

const (
	gpt2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	llama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	o200k  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	clip   = `'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+`
	tekken = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` +
		`|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// split cuts a word into the matches of the pattern.
func (p pattern) split(w *work, one word) []word {
	var out []word
	for at := 0; at < len(one.text); {
		if p.bare {
			if n := run(one.text[at:], unicode.IsSpace); n > 0 {
				at += n
				continue
			}
		}
		n := p.match(one.text[at:])
		if !w.spend(n+pieceWork, 1) {
			return nil
		}
		out = append(out, word{one.text[at : at+n], one.first && at == 0})
		at += n
	}
	return out
}

// match returns the length of the match at the front of s, which is not empty.
func (p pattern) match(s string) int {
	for _, mark := range p.marks {
		if strings.HasPrefix(s, mark) {
			return len(mark)
		}
	}
	if p.contractions {
		if n := contraction(s, p.anyCase); n > 0 {
			return n
		}
	}
	if n := p.letters(s); n > 0 {
		return n
	}
	if n := p.digits(s); n > 0 {
		return n
	}
	at := 0
	if s[0] == ' ' {
		at = 1
	}
	if n := run(s[at:], other); n > 0 {
		n += at
		return n + len(s[n:]) - len(strings.TrimLeft(s[n:], p.tail))
	}
	n := run(s, unicode.IsSpace)
	if p.lines {
		if i := strings.LastIndexAny(s[:n], "\r\n"); i >= 0 {
			return i + 1
		}
	}
	if n == len(s) {
		return n
	}
	if _, last := utf8.DecodeLastRuneInString(s[:n]); n > last {
		return n - last // \s+(?!\S): the last space is left for what follows
	}
	return n
}

// digits returns the length of the digits at the front of s, with a space before them if p.numbers is 0; or 0 if there are none.
func (p pattern) digits(s string) int {
	if p.numbers == 0 {
		at := 0
		if s[0] == ' ' {
			at = 1
		}
		if n := run(s[at:], unicode.IsNumber); n > 0 {
			return at + n
		}
		return 0
	}
	at := 0
	for range p.numbers {
		r, n := utf8.DecodeRuneInString(s[at:])
		if n == 0 || !unicode.IsNumber(r) {
			break
		}
		at += n
	}
	return at
}

// letters returns the length of the letters at the front of s, with the character that may stand before them; or 0 if there are none.
func (p pattern) letters(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	before := r == ' '
	if p.marked {
		before = r != '\r' && r != '\n' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}
	if !p.cased {
		if before {
			if m := run(s[n:], unicode.IsLetter); m > 0 {
				return n + m
			}
			return 0
		}
		return run(s, unicode.IsLetter)
	}
	// The expression tries its first alternative with and without the character
	// before, then its second.
	for _, f := range []func(string) int{capitalised, capitals} {
		for _, from := range []int{n, 0} {
			if from > 0 && !before {
				continue
			}
			if m := f(s[from:]); m > 0 {
				m += from
				if p.ends {
					m += contraction(s[m:], true)
				}
				return m
			}
		}
	}
	return 0
}

// upper and lowerCase say whether r is in the expressions' sets of upper and lower case letters; many characters are in both.
func upper(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M)
}

func lowerCase(r rune) bool { return unicode.In(r, unicode.Ll, unicode.Lm, unicode.Lo, unicode.M) }

// capitalised returns the length of the match of UPPER*LOWER+ at the front of s, or 0.
func capitalised(s string) int {
	n := run(s, upper)
	if m := run(s[n:], lowerCase); m > 0 {
		return n + m
	}
	// The match ends with the last character of the run that is in both sets.
	for n > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:n])
		if lowerCase(r) {
			return n
		}
		n -= size
	}
	return 0
}

// capitals returns the length of the match of UPPER+LOWER* at the front of s, or 0.
func capitals(s string) int {
	n := run(s, upper)
	if n == 0 {
		return 0
	}
	return n + run(s[n:], lowerCase)
}

// contraction returns the length of 's, 't, 're, 've, 'm, 'll or 'd at the front of s, or 0. anyCase allows upper case.
func contraction(s string, anyCase bool) int {
	if len(s) == 0 || s[0] != '\'' {
		return 0
	}
	s = s[1:]
	fold := func(r rune) rune {
		switch {
		case !anyCase:
			return r
		case r == 'ſ':
			return 's' // Unicode's case folding
		}
		return unicode.ToLower(r)
	}
	a, n := utf8.DecodeRuneInString(s)
	b, m := utf8.DecodeRuneInString(s[n:])
	a, b = fold(a), fold(b)
	switch {
	case n == 0:
		return 0
	case strings.ContainsRune("stmd", a):
		return 1 + n
	case m > 0 && (a == 'r' && b == 'e' || a == 'v' && b == 'e' || a == 'l' && b == 'l'):
		return 1 + n + m
	}
	return 0
}

// other says whether r is neither white space nor a letter nor a number.
func other(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r)
}

// run returns the length of the longest prefix of s whose characters are all in a set.
func run(s string, set func(rune) bool) int {
	n := len(s) - len(strings.TrimLeftFunc(s, set))
	return n
}

// behaviour says what happens to the separators at which a text is split.
type behaviour string

// The behaviours that are known.
const (
	isolated   behaviour = "Isolated"           // a separator is a word
	removed    behaviour = "Removed"            // separators are dropped
	previous   behaviour = "MergedWithPrevious" // a separator ends the word before it
	following  behaviour = "MergedWithNext"     // a separator begins the word after it
	contiguous behaviour = "Contiguous"         // adjacent separators are one word
)

// known returns the behaviour, and refuses one that is not known.
func (b behaviour) known() behaviour {
	if !slices.Contains([]behaviour{isolated, removed, previous, following, contiguous}, b) {
		unknown("the behaviour", string(b))
	}
	return b
}

// splitAt makes a splitter at separators. find returns where the first separator of s begins and
// ends; both are the length of s if there is none.
func splitAt(find func(s string) (from, to int), b behaviour) splitter {
	return func(w *work, one word) []word {
		type part struct {
			from, to int
			match    bool
		}
		var parts []part
		for at := 0; at < len(one.text); {
			from, to := find(one.text[at:])
			if !w.spend(to+2*pieceWork, 1) {
				return nil
			}
			if from > 0 {
				parts = append(parts, part{at, at + from, false})
			}
			if to > from {
				parts = append(parts, part{at + from, at + to, true})
			}
			at += to
		}
		var out []part
		for i, p := range parts {
			last := len(out) - 1
			switch {
			case b == removed && p.match:
				continue
			case b == previous && p.match && i > 0 && !parts[i-1].match,
				b == following && i > 0 && parts[i-1].match && !p.match,
				b == contiguous && p.match && i > 0 && parts[i-1].match:
				out[last].to = p.to
				continue
			}
			out = append(out, p)
		}
		words := make([]word, len(out))
		for i, p := range out {
			words[i] = word{one.text[p.from:p.to], one.first && p.from == 0}
		}
		return words
	}
}

// findString returns a find for splitAt whose separator is a string.
func findString(sep string) func(s string) (int, int) {
	return func(s string) (int, int) {
		if i := strings.Index(s, sep); i >= 0 {
			return i, i + len(sep)
		}
		return len(s), len(s)
	}
}

// findRune returns a find for splitAt whose separators are the characters of a set.
func findRune(set func(rune) bool) func(s string) (int, int) {
	return func(s string) (int, int) {
		i := strings.IndexFunc(s, set)
		if i < 0 {
			return len(s), len(s)
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		return i, i + n
	}
}
