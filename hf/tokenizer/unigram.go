package tokenizer

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/prove-model/prove-model/internal/refuse"
)

// unigram cuts a word into the tokens whose scores have the greatest sum (Kudo 2018,
// https://arxiv.org/abs/1804.10959). A character that is no token has the lowest score of all
// tokens minus unknownPenalty.
type unigram struct {
	vocabulary
	scores  []float64   // by id
	unknown int         // the id of the token for unknown text
	longest int         // the most bytes of a token
	worst   float64     // score of an unknown character
	bytes   *byteTokens // if set, unknown text becomes tokens of its bytes
}

const unknownPenalty = 10

// readUnigram reads a model of type Unigram, a list of tokens with their scores.
func readUnigram(p *part) *unigram {
	unknown, vocab := field[*int](p, "unk_id"), field[[][2]json.RawMessage](p, "vocab")
	if unknown == nil || *unknown < 0 || *unknown >= len(vocab) {
		refuse.With("unk_id is no token of the vocabulary")
	}
	m := &unigram{unknown: *unknown, scores: make([]float64, len(vocab))}
	ids := make(map[string]int, len(vocab))
	for i, entry := range vocab {
		var token string
		if err := json.Unmarshal(entry[0], &token); err != nil {
			refuse.With("token %d: %w", i, err)
		}
		if err := json.Unmarshal(entry[1], &m.scores[i]); err != nil {
			refuse.With("the score of token %d: %w", i, err)
		}
		if _, ok := ids[token]; ok || token == "" {
			refuse.With("token %d, %q, is empty or there twice", i, token)
		}
		ids[token] = i
		m.longest, m.worst = max(m.longest, len(token)), min(m.worst, m.scores[i])
	}
	m.worst -= unknownPenalty
	m.vocabulary = newVocabulary(ids)
	if field[bool](p, "byte_fallback") {
		m.bytes = m.byteTokens() // nil if some byte is no token: then unknown text is one unknown token
	}
	return m
}

// encode implements model.
func (m *unigram) encode(w *work, ids []int, text string) []int {
	if !w.spend(len(text)+1, symbolWork) {
		return nil
	}
	// best has, for every place between characters, the best way to cut the text before it: the sum
	// of the scores, where the last token begins, and that token's id.
	type way struct {
		score    float64
		from, id int
		known    bool
	}
	best := make([]way, len(text)+1)
	best[0].known = true
	reach := func(to int, v way) {
		if !best[to].known || v.score > best[to].score {
			best[to] = v
		}
	}
	for at := 0; at < len(text); {
		_, width := utf8.DecodeRuneInString(text[at:])
		single := false
		for end := at + width; end <= min(len(text), at+m.longest); {
			if !w.spend(end-at+lookWork, 1) {
				return nil
			}
			if id, ok := m.ids[text[at:end]]; ok {
				reach(end, way{best[at].score + m.scores[id], at, id, true})
				single = single || end == at+width
			}
			if end == len(text) {
				break
			}
			_, n := utf8.DecodeRuneInString(text[end:])
			end += n
		}
		if !single {
			reach(at+width, way{best[at].score + m.worst, at, m.unknown, true})
		}
		at += width
	}
	// Follow the best way back from the end. Several unknown characters in a row become one piece.
	var cuts []int
	for to := len(text); to > 0; {
		from := best[to].from
		for best[to].id == m.unknown && from > 0 && best[from].id == m.unknown {
			from = best[from].from
		}
		cuts = append(cuts, to)
		to = from
	}
	at := 0
	for i := len(cuts) - 1; i >= 0; i-- {
		ids = m.piece(ids, text[at:cuts[i]])
		at = cuts[i]
	}
	return ids
}

// piece adds the id of a token to ids; for unknown text, it adds the tokens of its bytes, or the unknown token.
func (m *unigram) piece(ids []int, s string) []int {
	if id, ok := m.ids[s]; ok {
		return append(ids, id)
	}
	if m.bytes == nil {
		return append(ids, m.unknown)
	}
	return m.bytes.append(ids, s)
}
