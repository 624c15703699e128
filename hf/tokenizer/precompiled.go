package tokenizer

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/prove-model/prove-model/internal/refuse"
)

// precompiled is the normalisation of a SentencePiece model. trie is a double-array trie of the texts to replace, as the library
// Darts-clone writes one. Its values are offsets in text, which has the replacements, each ended by a zero byte.
type precompiled struct {
	trie []uint32
	text []byte
}

// readPrecompiled reads the field precompiled_charsmap: the bytes of the trie, their number before them, and the replacements.
func readPrecompiled(b []byte) normaliser {
	if len(b) == 0 {
		return func(_ *work, s string) string { return s }
	}
	size := uint64(0)
	if len(b) >= 4 {
		size, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
	}
	if size%4 != 0 || size == 0 || size > uint64(len(b)) {
		refuse.With("precompiled_charsmap is damaged")
	}
	n := &precompiled{}
	for at := uint64(0); at < size; at += 4 {
		n.trie = append(n.trie, binary.LittleEndian.Uint32(b[at:]))
	}
	n.text = b[size:]
	return n.normalise
}

// longestCluster is the number of bytes from which on the characters of a grapheme cluster are replaced only one by one.
const longestCluster = 6

// normalise replaces short grapheme clusters as a whole if the trie has them, and otherwise each of their
// characters.
func (n *precompiled) normalise(w *work, s string) string {
	var b strings.Builder
	add := func(piece string) bool {
		to, ok := n.replace(piece)
		if !ok {
			return false
		}
		if w.spend(len(to), 1) {
			b.Write(to)
		}
		return true
	}
	if !w.spend(len(s), symbolWork) {
		return ""
	}
	for state := -1; s != ""; {
		var cluster string
		cluster, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		if len(cluster) < longestCluster && add(cluster) {
			continue
		}
		for cluster != "" {
			_, size := utf8.DecodeRuneInString(cluster)
			if !add(cluster[:size]) {
				b.WriteString(cluster[:size])
			}
			cluster = cluster[size:]
		}
	}
	return b.String()
}

// replace returns the replacement of a piece, and whether there is one. As in the reference library, it is that of the shortest text in
// the trie that the piece begins with. Units of the trie are as in Darts-clone: bits 0 to 7 are the label, bit 8 says that a text ends
// here, and bits from 10 on are an offset, in units of 256 if bit 9 is set. A unit with a value has it in bits 0 to 30.
func (n *precompiled) replace(piece string) ([]byte, bool) {
	offset := func(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
	at := offset(n.trie[0])
	for i := range len(piece) {
		c := piece[i]
		at ^= uint32(c)
		if c == 0 || at >= uint32(len(n.trie)) {
			return nil, false
		}
		unit := n.trie[at]
		if unit&(1<<31|0xff) != uint32(c) {
			return nil, false
		}
		at ^= offset(unit)
		if unit>>8&1 == 0 { // no text ends here
			continue
		}
		if at >= uint32(len(n.trie)) {
			return nil, false
		}
		from := n.trie[at] &^ (1 << 31)
		if from > uint32(len(n.text)) {
			return nil, false
		}
		to, _, _ := bytes.Cut(n.text[from:], []byte{0})
		return to, true
	}
	return nil, false
}
