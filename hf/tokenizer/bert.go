package tokenizer

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// parseRunes reads a set of characters from hexadecimal ranges in ascending order, such as "21-2f 3a".
func parseRunes(s string) *unicode.RangeTable {
	out := &unicode.RangeTable{}
	for f := range strings.FieldsSeq(s) {
		lo, hi, ok := strings.Cut(f, "-")
		if !ok {
			hi = lo
		}
		a, errA := strconv.ParseUint(lo, 16, 32)
		b, errB := strconv.ParseUint(hi, 16, 32)
		if errA != nil || errB != nil {
			panic("tokenizer: a table of characters has " + f)
		}
		out.R32 = append(out.R32, unicode.Range32{Lo: uint32(a), Hi: uint32(b), Stride: 1})
	}
	return out
}

// bertTables are the sets of characters in tables.go.
var bertTables = sync.OnceValue(func() (t struct{ control, mark, accent, punctuation *unicode.RangeTable }) {
	t.control, t.mark, t.accent, t.punctuation = parseRunes(controlRanges), parseRunes(markRanges), parseRunes(accentRanges), parseRunes(punctuationRanges)
	return t
})

func bertControl(r rune) bool     { return unicode.Is(bertTables().control, r) }
func bertMark(r rune) bool        { return unicode.Is(bertTables().mark, r) }
func accent(r rune) bool          { return unicode.Is(bertTables().accent, r) }
func bertPunctuation(r rune) bool { return unicode.Is(bertTables().punctuation, r) }
