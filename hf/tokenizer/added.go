package tokenizer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is searched for in a text before the text is split in any
// other way.
type addedToken struct {
	ID      int    `json:"id"`
	Content string `json:"content"`
	// Special tokens are left out of a decoded text.
	Special bool `json:"special"`
	// Normalized tokens are searched for in the normalised text.
	Normalized bool `json:"normalized"`
	// SingleWord tokens are not found inside words. LStrip and RStrip make the white space
	// before and after the token a part of it.
	SingleWord bool `json:"single_word"`
	LStrip     bool `json:"lstrip"`
	RStrip     bool `json:"rstrip"`
}

// addedTokens are all added tokens of a tokenizer.
type addedTokens struct {
	byID map[int]*addedToken
	raw  prefixes // those that are searched for in the text as it is
	norm prefixes // those that are searched for in the normalised text
}

// prefixes finds tokens at the front of a text.
type prefixes struct {
	tokens map[string]*addedToken // by their text
	// lengths has, for each byte, the lengths of the tokens that begin with it, the longest first.
	lengths [256][]int
}

// newAdded indexes tokens in the order of the file. Of several with the same text, the first is found.
func newAdded(tokens []addedToken, normalise func(string) string) *addedTokens {
	a := &addedTokens{byID: map[int]*addedToken{}}
	raw, norm := map[string]*addedToken{}, map[string]*addedToken{}
	for i := range tokens {
		t := &tokens[i]
		if t.Content == "" {
			continue
		}
		a.byID[t.ID] = t
		to, look := raw, t.Content
		if t.Normalized {
			to, look = norm, normalise(t.Content)
		}
		if _, twice := to[look]; look != "" && !twice {
			to[look] = t
		}
	}
	a.raw, a.norm = byPrefix(raw), byPrefix(norm)
	return a
}

// byPrefix returns the prefixes with these tokens, which are given by their text.
func byPrefix(tokens map[string]*addedToken) prefixes {
	p := prefixes{tokens: tokens}
	for look := range tokens {
		p.lengths[look[0]] = append(p.lengths[look[0]], len(look))
	}
	for i, list := range p.lengths {
		slices.SortFunc(list, func(a, b int) int { return b - a })
		p.lengths[i] = slices.Clip(slices.Compact(list))
	}
	return p
}

// piece is an added token, or the text between two of them, for which id is −1.
type piece struct {
	id    int
	text  string
	first bool // the piece is at the front of the text
}

// cut cuts a text at added tokens and normalises the text between them.
func (a *addedTokens) cut(w *work, text string, normalise normaliser) []piece {
	var out []piece
	for _, p := range a.raw.find(w, text, true) {
		if p.id >= 0 {
			out = append(out, p)
			continue
		}
		out = append(out, a.norm.find(w, normalise(w, p.text), p.first)...)
	}
	return out
}

// find cuts a text at tokens, from the front: at the first place where a token begins it takes the
// longest one, and goes on behind it. first says that the text is at the front of the whole text.
func (p *prefixes) find(w *work, text string, first bool) []piece {
	var out []piece
	done := 0 // the text up to here is in out
	between := func(end int) {
		if end > done {
			out = append(out, piece{-1, text[done:end], first && done == 0})
		}
	}
	if !w.spend(len(text), 1) {
		return nil
	}
	for at := 0; at < len(text); {
		t, n := p.match(w, text[at:])
		if t == nil {
			at++
			continue
		}
		if !w.spend(n+2*pieceWork, 1) {
			return nil
		}
		from, to := at, at+n
		at = to
		before, _ := utf8.DecodeLastRuneInString(text[:from]) // of "" it is U+FFFD, which is in no word
		after, _ := utf8.DecodeRuneInString(text[to:])
		if t.SingleWord && (wordRune(before) || wordRune(after)) {
			continue
		}
		if t.LStrip {
			from = done + len(strings.TrimRightFunc(text[done:from], unicode.IsSpace))
		}
		if t.RStrip {
			to = len(text) - len(strings.TrimLeftFunc(text[to:], unicode.IsSpace))
		}
		between(from)
		out = append(out, piece{id: t.ID, first: first && from == 0})
		done, at = to, max(at, to)
	}
	between(len(text))
	return out
}

// match returns the longest token that a text, which is not empty, begins with, and its length; or nil if there is none.
func (p *prefixes) match(w *work, text string) (*addedToken, int) {
	for _, n := range p.lengths[text[0]] {
		if n > len(text) {
			continue
		}
		if !w.spend(n+lookWork, 1) {
			break
		}
		if t := p.tokens[text[:n]]; t != nil {
			return t, n
		}
	}
	return nil, 0
}

// wordRune says whether the class \w of the reference library's regular expressions has r.
func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Pc, r) || unicode.In(r, unicode.Other_Alphabetic, unicode.Join_Control)
}
