package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// After returns the text that tokens add to the text of the tokens before them. It takes
// time in proportion to the number of all tokens; a Stream does not. Its error is that of
// Decode.
func (t *Tokenizer) After(before, tokens []int) (string, error) {
	s := t.Stream(before)
	s.ids = append(s.ids, tokens...)
	return s.Rest()
}

// A Stream decodes tokens as they come.
type Stream struct {
	t       *Tokenizer
	ids     []int
	written string // of the text of all ids
	err     error  // of decoding
}

// Stream returns a stream of tokens that follow the given ones.
func (t *Tokenizer) Stream(before []int) *Stream {
	s := &Stream{t: t, ids: slices.Clone(before)}
	s.written, s.err = t.Decode(before)
	return s
}

// Next returns the text that a token adds and that later tokens cannot change: bytes that
// begin a character wait for the rest of it. It returns "" if the tokens cannot be
// decoded; Rest returns the error.
func (s *Stream) Next(id int) string {
	s.ids = append(s.ids, id)
	all := s.all()
	if strings.HasSuffix(all, "\uFFFD") {
		return ""
	}
	return s.add(all)
}

// Rest returns what Next held back, at the end of a text, or the error of Decode.
func (s *Stream) Rest() (string, error) {
	rest := s.add(s.all())
	return rest, s.err
}

// all is the text of all tokens, or that of those before a failure.
func (s *Stream) all() string {
	if s.err == nil {
		var all string
		if all, s.err = s.t.Decode(s.ids); s.err == nil {
			return all
		}
	}
	return s.written
}

// add returns the new part of the text of all tokens. If a token changes earlier text,
// for instance removes a space, the new part begins where the two texts differ.
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
