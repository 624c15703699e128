package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// decoder is a step that turns tokens into pieces of text, or pieces into others.
type decoder func(w *work, tokens []string) []string

// mapped is a decoder that applies f to each token and its index. f may make a token at
// most 8 bytes longer.
func mapped(f func(i int, token string) string) decoder {
	return func(w *work, tokens []string) []string {
		out := make([]string, len(tokens))
		for i, t := range tokens {
			if w.spend(2*len(t)+pieceWork, 1) {
				out[i] = f(i, t)
			}
		}
		return out
	}
}

// replaced is a decoder that replaces every occurrence of a string in each token.
func replaced(from, to string) decoder {
	return func(w *work, tokens []string) []string {
		out := make([]string, len(tokens))
		for i, t := range tokens {
			if w.spend(pieceWork, 1) {
				out[i] = w.replace(t, from, to)
			}
		}
		return out
	}
}

// byteLetters has the character that stands for each byte in byte-level vocabularies: the
// character with that number if it is a visible one, otherwise one from U+0100 on. letterBytes is the inverse.
var byteLetters, letterBytes = func() (letters [256]rune, bytes map[rune]byte) {
	bytes = map[rune]byte{}
	next := rune(256)
	for b := range letters {
		r := rune(b)
		if !(r >= '!' && r <= '~' || r >= '¡' && r <= '¬' || r >= '®' && r <= 'ÿ') {
			r = next
			next++
		}
		letters[b], bytes[r] = r, byte(b)
	}
	return letters, bytes
}()

// toLetters replaces each byte of a text by its character in byteLetters.
func toLetters(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(byteLetters[s[i]])
	}
	return b.String()
}

// fromLetters is the inverse of toLetters. It returns a token with other characters as it is.
func fromLetters(token string) string {
	var b []byte
	for _, r := range token {
		c, ok := letterBytes[r]
		if !ok {
			return token
		}
		b = append(b, c)
	}
	return string(b)
}

// decodeByteLevel joins the bytes of all tokens to one text. Bytes that are not valid UTF-8 become U+FFFD (lossy).
func decodeByteLevel(w *work, tokens []string) []string {
	var b strings.Builder
	for _, t := range tokens {
		if w.spend(len(t), 6) { // up to one U+FFFD, of 3 bytes, for every byte
			b.WriteString(fromLetters(t))
		}
	}
	return []string{lossy(b.String())}
}

// decodeBytes joins tokens of single bytes, such as <0x41>, to characters. Bytes that
// are not valid UTF-8 become one U+FFFD each.
func decodeBytes(w *work, tokens []string) []string {
	if !w.spend(len(tokens), pieceWork) {
		return nil
	}
	var out []string
	var bytes []byte
	flush := func() {
		if len(bytes) == 0 {
			return
		}
		s := string(bytes)
		if !utf8.ValidString(s) {
			s = strings.Repeat("�", len(bytes))
		}
		out, bytes = append(out, s), bytes[:0]
	}
	for _, t := range tokens {
		if b, ok := byteToken(t); ok {
			bytes = append(bytes, b)
			continue
		}
		flush()
		out = append(out, t)
	}
	flush()
	return out
}

// byteToken returns the byte of a token such as <0x41>, and false for other tokens.
func byteToken(t string) (byte, bool) {
	if len(t) != 6 || !strings.HasPrefix(t, "<0x") || t[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(t[3:5], 16, 8)
	return byte(b), err == nil
}

// fuse joins all tokens.
func fuse(w *work, tokens []string) []string { return []string{w.join(tokens, "")} }

// strip is a decoder that removes content from the front of each token, up to start times, and from the
// end, up to stop times.
func strip(content string, start, stop int) decoder {
	return mapped(func(_ int, t string) string {
		for range start {
			t = strings.TrimPrefix(t, content)
		}
		for range stop {
			t = strings.TrimSuffix(t, content)
		}
		return t
	})
}

// decodeWordPiece puts a space before tokens that begin a word, and removes the prefix of those inside a word.
// With cleanup, it removes spaces before punctuation and in contractions.
func decodeWordPiece(prefix string, cleanup bool) decoder {
	clean := strings.NewReplacer()
	if cleanup {
		clean = strings.NewReplacer(" .", ".", " ?", "?", " !", "!", " ,", ",", " ' ", "'", " n't", "n't", " 'm", "'m", " do not", " don't", " 's", "'s", " 've", "'ve", " 're", "'re")
	}
	return mapped(func(i int, t string) string {
		if i > 0 {
			if rest, ok := strings.CutPrefix(t, prefix); ok {
				t = rest
			} else {
				t = " " + t
			}
		}
		return clean.Replace(t)
	})
}

// decodeMetaspace replaces the character that stands for spaces by spaces. prepended says that
// encoding puts a space before a text; the character is then removed from the first token.
func decodeMetaspace(replacement string, prepended bool) decoder {
	return mapped(func(i int, t string) string {
		if i == 0 && prepended {
			return strings.ReplaceAll(t, replacement, "")
		}
		return strings.ReplaceAll(t, replacement, " ")
	})
}

// lossy replaces bytes that are not valid UTF-8 by U+FFFD. As the Unicode standard recommends (§3.9, U+FFFD
// Substitution of Maximal Subparts), the longest beginning of a character becomes one U+FFFD.
func lossy(s string) string {
	s, _ = unicode.UTF8.NewDecoder().String(s) // this decoder returns no errors
	return s
}
