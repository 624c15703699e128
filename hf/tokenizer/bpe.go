package tokenizer

import (
	"container/heap"
	"fmt"
	"unicode/utf8"

	"github.com/prove-model/prove-model/internal/quote"
	"github.com/prove-model/prove-model/internal/refuse"
)

// vocabulary has tokens by id and ids by token.
type vocabulary struct {
	ids    map[string]int
	tokens []string
}

// maxID is one more than the greatest id that a file may use. Without this bound a hostile file
// could ask for a list of any length.
const maxID = 1 << 24

// newVocabulary returns the vocabulary with these ids. It refuses ids that are used twice, and ids that are far larger than the number of
// tokens.
func newVocabulary(ids map[string]int) vocabulary {
	v := vocabulary{ids: ids}
	most := -1
	for token, id := range ids {
		if id < 0 || id >= maxID {
			refuse.With("token %q has id %d; ids are from 0 to %d", token, id, maxID-1)
		}
		most = max(most, id)
	}
	if most >= 64*(len(ids)+1024) {
		refuse.With("%d tokens have ids up to %d", len(ids), most)
	}
	v.tokens = make([]string, most+1)
	for token, id := range ids {
		if v.tokens[id] != "" {
			refuse.With("tokens %q and %q have the same id", v.tokens[id], token)
		}
		v.tokens[id] = token
	}
	return v
}

// unknownID is the id of the given token, which stands for unknown text. It refuses a token that is not in the vocabulary.
func (v *vocabulary) unknownID(token string) int {
	id, ok := v.ids[token]
	if !ok {
		refuse.With("the unknown token %s is not in the vocabulary", quote.Name(token))
	}
	return id
}

// token is the token with this id, or "".
func (v *vocabulary) token(id int) string {
	if id < 0 || id >= len(v.tokens) {
		return ""
	}
	return v.tokens[id]
}

func (v *vocabulary) size() int { return len(v.tokens) }

// bpe is byte pair encoding. A word starts as a list of its characters. Then, again and
// again, one pair of neighbours is merged: the one that comes first in the list of merges, and
// the leftmost if there are several. This ends when no pair is in the list.
type bpe struct {
	vocabulary
	merges map[uint64]merge // by pairOf
	last   int              // the id of the token that the last merge in the list gives
	// whole says that a word that is a token becomes that token, without merges.
	whole bool
	// unknown is the id for characters that are not in the vocabulary, or −1 if
	// they are left out. fuse says that several in a row become one token.
	unknown int
	fuse    bool
	bytes   *byteTokens // if set, characters that are not in the vocabulary become tokens of their bytes
	suffix  string      // is appended to the last character of a word, to look it up
}

// mostSuffix is the most bytes of bpe.suffix; published models have "</w>".
const mostSuffix = 16

// merge is the id of the token into which a pair is merged. Pairs of lower rank are merged
// first.
type merge struct{ rank, id int }

// addMerge appends a pair of tokens to the list of merges.
func (m *bpe) addMerge(left, right string) {
	a, okA := m.ids[left]
	b, okB := m.ids[right]
	// In most vocabularies the results of the merges have consecutive ids, so that no look-up is needed.
	id, ok := m.last+1, true
	if s := m.token(id); s == "" || len(s) != len(left)+len(right) || s[:len(left)] != left || s[len(left):] != right {
		id, ok = m.ids[left+right]
	}
	m.last = id
	if !okA || !okB || !ok {
		refuse.With("the merge of %q and %q is not of tokens of the vocabulary", left, right)
	}
	rank := len(m.merges)
	if m.merges[pairOf(a, b)] = (merge{rank, id}); len(m.merges) == rank {
		refuse.With("the merge of %q and %q is there twice", left, right)
	}
}

// pairOf packs two ids into one number.
func pairOf(a, b int) uint64 { return uint64(a)<<32 | uint64(b) }

// byteTokens are the ids of single bytes.
type byteTokens [256]int

// append adds the tokens of a text's bytes to ids.
func (t *byteTokens) append(ids []int, text string) []int {
	for _, b := range []byte(text) {
		ids = append(ids, t[b])
	}
	return ids
}

// byteTokens returns the tokens of single bytes, <0x00> to <0xFF>, or nil if the vocabulary lacks one.
func (v *vocabulary) byteTokens() *byteTokens {
	var out byteTokens
	for i := range out {
		id, ok := v.ids[fmt.Sprintf("<0x%02X>", i)]
		if !ok {
			return nil
		}
		out[i] = id
	}
	return &out
}

// encode implements model.
func (m *bpe) encode(w *work, ids []int, text string) []int {
	if m.whole {
		if id, ok := m.ids[text]; ok {
			return append(ids, id)
		}
	}
	if !w.spend(utf8.RuneCountInString(text), symbolWork) || !w.spend(len(text), lookWork) {
		return nil
	}
	symbols := make([]int, 0, len(text))
	fused := false // the last character was unknown
	for i, r := range text {
		n := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, n = utf8.DecodeRuneInString(text[i:])
		}
		one := text[i : i+n]
		if i+n == len(text) {
			one += m.suffix
		}
		if id, ok := m.ids[one]; ok {
			symbols, fused = append(symbols, id), false
			continue
		}
		if m.bytes != nil {
			symbols, fused = m.bytes.append(symbols, text[i:i+n]), false
			continue
		}
		if m.unknown >= 0 && !(fused && m.fuse) {
			symbols = append(symbols, m.unknown)
		}
		fused = true
	}
	return mergePairs(ids, symbols, func(a, b int) (merge, bool) {
		to, ok := m.merges[pairOf(a, b)]
		return to, ok
	})
}

// mergePairs merges neighbouring symbols, the pair of the lowest rank first and the leftmost of
// several, until find has no merge for any pair. It appends the result to ids. It uses symbols as
// working space; next and prev link the symbols that are left.
func mergePairs(ids, symbols []int, find func(a, b int) (merge, bool)) []int {
	n := len(symbols)
	next, prev := make([]int, n), make([]int, n)
	var queue pairs
	look := func(i int) {
		if j := next[i]; j < n {
			if to, ok := find(symbols[i], symbols[j]); ok {
				heap.Push(&queue, pair{to, i, symbols[i], symbols[j]})
			}
		}
	}
	for i := range symbols {
		next[i], prev[i] = i+1, i-1
	}
	for i := range symbols {
		look(i)
	}
	for len(queue) > 0 {
		p := heap.Pop(&queue).(pair)
		i := p.at
		if symbols[i] != p.left {
			continue // the symbol was merged after this pair was queued
		}
		j := next[i]
		if j >= n || symbols[j] != p.right {
			continue
		}
		symbols[i], symbols[j] = p.id, -1
		next[i] = next[j]
		if next[i] < n {
			prev[next[i]] = i
		}
		look(i)
		if prev[i] >= 0 {
			look(prev[i])
		}
	}
	for _, s := range symbols {
		if s >= 0 {
			ids = append(ids, s)
		}
	}
	return ids
}

// pair is a possible merge of a symbol with its right neighbour.
type pair struct {
	merge
	at, left, right int // the index of the symbol, and the two symbols when the pair was queued
}

// pairs is a heap of pairs: the first is that of the lowest rank, and the leftmost of these.
type pairs []pair

func (p pairs) Len() int { return len(p) }
func (p pairs) Less(i, j int) bool {
	return p[i].rank < p[j].rank || p[i].rank == p[j].rank && p[i].at < p[j].at
}
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pairs) Push(x any)   { *p = append(*p, x.(pair)) }
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
