package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// After returns the text that tokens add to the text of the tokens before them. Its error is
// that of Decode.
func (t *Tokenizer) After(before, tokens []int) (string, error) {
	s := t.Stream(before)
	s.ids = append(s.ids, tokens...)
	return s.Rest()
}

// A Stream decodes tokens as they come.
type Stream struct {
	t       *Tokenizer
	ids     []int
	written string // the text so far, without what Next holds back
	err     error  // the first error of decoding
}

// Stream returns a stream of tokens that follow the given ones.
func (t *Tokenizer) Stream(before []int) *Stream {
	s := &Stream{t: t, ids: slices.Clone(before)}
	s.written, s.err = t.Decode(before)
	return s
}

// Next returns the text that a token adds. It returns "" while the text ends with an incomplete
// character, which later tokens may complete. It also returns "" if the tokens cannot be decoded;
// Rest returns the error.
func (s *Stream) Next(id int) string {
	s.ids = append(s.ids, id)
	all := s.all()
	if strings.HasSuffix(all, "\uFFFD") {
		return ""
	}
	return s.add(all)
}

// Rest returns, at the end of a text, the text that Next held back, or the error of Decode.
func (s *Stream) Rest() (string, error) {
	rest := s.add(s.all())
	return rest, s.err
}

// all is the text of all tokens, or, after an error, the text so far.
func (s *Stream) all() string {
	if s.err == nil {
		var all string
		if all, s.err = s.t.Decode(s.ids); s.err == nil {
			return all
		}
	}
	return s.written
}

// add returns the part of all, the text of all tokens, that was not returned before. If a token changed
// earlier text, for instance removed a space, this part begins at the first character that differs.
func (s *Stream) add(all string) string {
	rest, ok := strings.CutPrefix(all, s.written)
	if !ok {
		n := 0
		for n < min(len(all), len(s.written)) && all[n] == s.written[n] {
			n++
		}
		for n < len(all) && !utf8.RuneStart(all[n]) {
			n--
		}
		rest = all[n:]
	}
	s.written = all
	return rest
}
