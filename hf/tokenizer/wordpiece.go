package tokenizer

import (
	"unicode/utf8"
)

// wordPiece cuts a word into tokens from the left, each the longest possible. Tokens that
// do not begin a word have a prefix in the vocabulary. A word that cannot be cut in this way, or
// that is too long, becomes one unknown token.
type wordPiece struct {
	vocabulary
	prefix  string // such as "##"
	unknown int    // the id of the unknown token
	most    int    // the most characters of a word
	longest int    // the most bytes of a token
}

// encode implements model.
func (m *wordPiece) encode(w *work, ids []int, text string) []int {
	if utf8.RuneCountInString(text) > m.most {
		return append(ids, m.unknown)
	}
	start := len(ids)
	for at := 0; at < len(text); {
		end, id := min(len(text), at+m.longest), -1
		for ; end > at; end-- {
			if end < len(text) && !utf8.RuneStart(text[end]) {
				continue
			}
			if !w.spend(len(m.prefix)+end-at+lookWork, 1) {
				return nil
			}
			token := text[at:end]
			if at > 0 {
				token = m.prefix + token
			}
			var ok bool
			if id, ok = m.ids[token]; ok {
				break
			}
			id = -1
		}
		if id < 0 {
			return append(ids[:start], m.unknown)
		}
		ids = append(ids, id)
		at = end
	}
	return ids
}
