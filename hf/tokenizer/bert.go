package tokenizer

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// runes is a set of characters, as ranges in ascending order.
type runes [][2]rune

// parseRunes reads a set from hexadecimal ranges, such as "21-2f 3a".
func parseRunes(s string) runes {
	var out runes
	for f := range strings.FieldsSeq(s) {
		lo, hi, ok := strings.Cut(f, "-")
		if !ok {
			hi = lo
		}
		a, errA := strconv.ParseInt(lo, 16, 32)
		b, errB := strconv.ParseInt(hi, 16, 32)
		if errA != nil || errB != nil {
			panic("tokenizer: a table of characters has " + f)
		}
		out = append(out, [2]rune{rune(a), rune(b)})
	}
	return out
}

func (s runes) has(r rune) bool {
	_, ok := slices.BinarySearchFunc(s, r, func(d [2]rune, r rune) int {
		switch {
		case d[1] < r:
			return -1
		case d[0] > r:
			return 1
		}
		return 0
	})
	return ok
}

var bertTables = sync.OnceValue(func() (t struct{ control, mark, accent, punctuation runes }) {
	t.control, t.mark, t.accent, t.punctuation = parseRunes(controlRanges), parseRunes(markRanges), parseRunes(accentRanges), parseRunes(punctuationRanges)
	return t
})

func bertControl(r rune) bool     { return bertTables().control.has(r) }
func bertMark(r rune) bool        { return bertTables().mark.has(r) }
func accent(r rune) bool          { return bertTables().accent.has(r) }
func bertPunctuation(r rune) bool { return bertTables().punctuation.has(r) }
