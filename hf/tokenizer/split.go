package tokenizer

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// pattern is one of the regular expressions with which published byte-level BPE tokenizers split text.
type pattern struct {
	// expression is anchored. Its group are white spaces, which nothing before it matches, so that every character is part of a match.
	expression func() *regexp.Regexp
	bare       bool // white space is no match
}

// patterns are the expressions that are recognised.
var patterns = func() map[string]pattern {
	all := map[string]pattern{}
	for _, published := range []string{gpt2, llama3, qwen2, o200k, tekken, clip, `<\|startoftext\|>|<\|endoftext\|>|` + clip} {
		own, spaced := strings.CutSuffix(published, `|\s+(?!\S)|\s+`)
		all[published] = pattern{sync.OnceValue(func() *regexp.Regexp {
			// What \s is in Unicode.
			own := strings.NewReplacer(`[^\s`, `[^\t-\r\x{85}\p{Z}`, `\s`, `[\t-\r\x{85}\p{Z}]`).Replace(own + `|(\s+)`)
			return regexp.MustCompile(`^(?:` + own + `)`)
		}), !spaced}
	}
	return all
}()

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

// split cuts a word into the matches.
func (p pattern) split(w *work, one word) []word {
	var out []word
	for at := 0; at < len(one.text); {
		match := p.expression().FindStringSubmatchIndex(one.text[at:])
		n := match[1]
		if match[2] == 0 && p.bare {
			at += n
			continue
		}
		if _, last := utf8.DecodeLastRuneInString(one.text[at : at+n]); match[2] == 0 && n > last && at+n < len(one.text) {
			n -= last // the last space goes with what follows
		}
		if !w.spend(n+pieceWork, 1) {
			return nil
		}
		out = append(out, word{one.text[at : at+n], one.first && at == 0})
		at += n
	}
	return out
}

// behaviour says what happens to the text at which a text is split.
type behaviour string

// The behaviours that are known.
const (
	isolated   behaviour = "Isolated"
	removed    behaviour = "Removed"
	previous   behaviour = "MergedWithPrevious"
	following  behaviour = "MergedWithNext"
	contiguous behaviour = "Contiguous"
)

// known returns the behaviour, and refuses others.
func (b behaviour) known() behaviour {
	if !slices.Contains([]behaviour{isolated, removed, previous, following, contiguous}, b) {
		unknown("the behaviour", string(b))
	}
	return b
}

// splitAt makes a splitter from one that finds the next place to split at, from
// and to, in a text: the length of the text if there is none.
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

// findString finds a string.
func findString(sep string) func(s string) (int, int) {
	return func(s string) (int, int) {
		if i := strings.Index(s, sep); i >= 0 {
			return i, i + len(sep)
		}
		return len(s), len(s)
	}
}

// findRune finds one character of a set.
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
