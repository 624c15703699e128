package tokenizer

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is looked for in a text before anything else.
type addedToken struct {
	ID      int    `json:"id"`
	Content string `json:"content"`
	// Special tokens are not part of a decoded text.
	Special bool `json:"special"`
	// Normalized tokens are looked for in the normalised text.
	Normalized bool `json:"normalized"`
	// SingleWord tokens are not looked for within words. LStrip and RStrip take
	// the space before and after along.
	SingleWord bool `json:"single_word"`
	LStrip     bool `json:"lstrip"`
	RStrip     bool `json:"rstrip"`

	text string // what is looked for is another text where it is normalised
}

// addedTokens are all added tokens of a tokenizer.
type addedTokens struct {
	byID map[int]*addedToken
	ids  map[string]int
	raw  []*addedToken // by the first byte of what is looked for, the longest first
	norm []*addedToken
}

// newAdded enters tokens, in the order of the file.
func newAdded(tokens []addedToken, normalise func(string) string) *addedTokens {
	a := &addedTokens{byID: map[int]*addedToken{}, ids: map[string]int{}}
	for i := range tokens {
		t := &tokens[i]
		if t.Content == "" {
			continue
		}
		t.text = t.Content
		a.byID[t.ID], a.ids[t.Content] = t, t.ID
		if t.Normalized {
			look := *t
			look.Content = normalise(t.Content)
			if look.Content != "" {
				a.norm = append(a.norm, &look)
			}
			continue
		}
		a.raw = append(a.raw, t)
	}
	for _, list := range [][]*addedToken{a.raw, a.norm} {
		slices.SortStableFunc(list, func(a, b *addedToken) int {
			return cmp.Or(int(a.Content[0])-int(b.Content[0]), len(b.Content)-len(a.Content))
		})
	}
	return a
}

func (a *addedTokens) special(id int) bool {
	t := a.byID[id]
	return t != nil && t.Special
}

// piece is a token, or text between tokens where id is negative.
type piece struct {
	id    int
	text  string
	first bool // at the front of the text
}

// cut cuts a text at added tokens and normalises what is between them.
func (a *addedTokens) cut(text string, normalise func(string) string) []piece {
	var out []piece
	for _, p := range find(a.raw, text, true) {
		if p.id >= 0 {
			out = append(out, p)
			continue
		}
		out = append(out, find(a.norm, normalise(p.text), p.first)...)
	}
	return out
}

// find cuts a text at the tokens of a list: at the first place where one is, the
// longest of those there.
func find(list []*addedToken, text string, first bool) []piece {
	var out []piece
	done := 0 // up to here in out
	text2 := func(end int) {
		if end > done {
			out = append(out, piece{-1, text[done:end], first && done == 0})
		}
	}
	for at := 0; at < len(text); {
		t := match(list, text[at:])
		if t == nil {
			at++
			continue
		}
		from, to := at, at+len(t.Content)
		at = to
		if t.SingleWord && (wordBefore(text[:from]) || wordAfter(text[to:])) {
			continue
		}
		if t.LStrip {
			from = max(done, len(strings.TrimRightFunc(text[:from], unicode.IsSpace)))
		}
		if t.RStrip {
			to = len(text) - len(strings.TrimLeftFunc(text[to:], unicode.IsSpace))
		}
		text2(from)
		out = append(out, piece{id: t.ID, first: first && from == 0})
		done, at = to, max(at, to)
	}
	text2(len(text))
	return out
}

// match returns the longest token that a text begins with, or nil.
func match(list []*addedToken, text string) *addedToken {
	i, _ := slices.BinarySearchFunc(list, text[0], func(t *addedToken, b byte) int { return int(t.Content[0]) - int(b) })
	for ; i < len(list) && list[i].Content[0] == text[0]; i++ {
		if strings.HasPrefix(text, list[i].Content) {
			return list[i]
		}
	}
	return nil
}

func wordBefore(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && wordRune(r)
}

func wordAfter(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && wordRune(r)
}

// wordRune says whether r is matched by \w.
func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Pc, r) || unicode.In(r, unicode.Other_Alphabetic, unicode.Join_Control)
}
