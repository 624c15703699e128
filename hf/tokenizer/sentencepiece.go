package tokenizer

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// space is the character that stands for a space in SentencePiece's vocabularies.
const space = "▁"

// The types of pieces.
const (
	pieceNormal      = 1
	pieceUnknown     = 2
	pieceControl     = 3
	pieceUserDefined = 4
	pieceUnused      = 5
	pieceByte        = 6
)

// scored is a token of a vocabulary with scores; kind is one of the types of pieces.
type scored struct {
	text  string
	score float32
	kind  int
}

// sentencePiece is SentencePiece's BPE. Among all neighbours whose joined text is a
// token, those whose token has the greatest score are merged first.
type sentencePiece struct {
	vocabulary
	scores  []float32   // by id
	whole   []bool      // by id: merging may make this token
	unknown int         // the id of the token for unknown characters
	bytes   *byteTokens // if set, unknown characters become tokens of their bytes
}

// newSentencePiece returns the model with these tokens, whose ids are their indexes. It refuses a vocabulary without an unknown token, or
// with some bytes as tokens and not others.
func newSentencePiece(pieces []scored) *sentencePiece {
	m := &sentencePiece{unknown: -1}
	ids := map[string]int{}
	for i, p := range pieces {
		if p.text == "" || !utf8.ValidString(p.text) || p.score != p.score {
			refuse.With("token %d is %q with score %v", i, p.text, p.score)
		}
		if _, ok := ids[p.text]; ok {
			refuse.With("token %q is there twice", p.text)
		}
		ids[p.text] = i
		m.scores = append(m.scores, p.score)
		m.whole = append(m.whole, p.kind == pieceNormal || p.kind == pieceUserDefined)
		if p.kind == pieceUnknown {
			m.unknown = i
		}
	}
	m.vocabulary = newVocabulary(ids)
	if m.unknown < 0 {
		refuse.With("the vocabulary has no token for what is unknown")
	}
	if slices.ContainsFunc(pieces, func(p scored) bool { return p.kind == pieceByte }) {
		if m.bytes = m.byteTokens(); m.bytes == nil {
			refuse.With("some bytes are tokens, but not all of them")
		}
	}
	return m
}

// encode implements model.
func (m *sentencePiece) encode(w *work, ids []int, text string) []int {
	if !w.spend(utf8.RuneCountInString(text), 4*symbolWork) {
		return nil
	}
	// Each different text gets a number, and a symbol is the number of its text, so that merging
	// works on pairs of numbers.
	texts := []string{}
	number := map[string]int{}
	enter := func(s string) int {
		n, ok := number[s]
		if !ok {
			n = len(texts)
			number[s] = n
			texts = append(texts, s)
		}
		return n
	}
	symbols := make([]int, 0, len(text))
	for at := 0; at < len(text); {
		_, n := utf8.DecodeRuneInString(text[at:])
		symbols = append(symbols, enter(text[at:at+n]))
		at += n
	}
	// The rank of a pair follows from the score of the token that it becomes.
	merged := mergePairs(nil, symbols, func(a, b int) (merge, bool) {
		if !w.spend(len(texts[a])+len(texts[b])+lookWork, 1) {
			return merge{}, false
		}
		text := texts[a] + texts[b]
		id, ok := m.ids[text]
		if !ok || !m.whole[id] {
			return merge{}, false
		}
		return merge{rankOf(m.scores[id]), enter(text)}, true
	})
	unknown := false
	for _, n := range merged {
		id, ok := m.ids[texts[n]]
		switch {
		case ok:
			ids = append(ids, id)
		case m.bytes != nil:
			ids = m.bytes.append(ids, texts[n])
		case !unknown: // several unknown characters in a row become one token
			ids = append(ids, m.unknown)
		}
		unknown = !ok && m.bytes == nil
	}
	return ids
}

// rankOf maps scores to integers: the greater the score, the lower the integer. It uses that the bits of positive floats, read as integers,
// have the same order as the floats, and those of negative floats the opposite one.
func rankOf(score float32) int {
	bits := int(int32(math.Float32bits(score + 0))) // −0 is 0
	if bits < 0 {
		bits = math.MinInt32 - bits
	}
	return -bits
}

// pieceTokenizer is a tokenizer with a SentencePiece vocabulary. at says before which texts a space is put,
// and escape that the vocabulary has spaces as the character "▁".
func pieceTokenizer(pieces []scored, at lead, escape bool) *Tokenizer {
	m := newSentencePiece(pieces)
	var plain, added []addedToken
	for i, p := range pieces {
		switch p.kind {
		case pieceControl:
			added = append(added, addedToken{ID: i, Content: p.text, Special: true})
		case pieceUserDefined:
			content := p.text
			if escape {
				content = strings.ReplaceAll(content, space, " ")
			}
			t := addedToken{ID: i, Content: content}
			added, plain = append(added, t), append(plain, t)
		}
	}
	t := &Tokenizer{model: m, added: newAdded(added, nil), plain: newAdded(plain, nil), lead: at}
	if escape {
		t.split = []splitter{func(w *work, one word) []word {
			one.text = w.replace(one.text, " ", space)
			return []word{one}
		}}
	}
	unknown := m.token(m.unknown)
	t.decode = []decoder{
		mapped(func(_ int, s string) string {
			if s == unknown {
				return " ⁇ "
			}
			return strings.ReplaceAll(s, space, " ")
		}), decodeBytes, fuse,
	}
	if at != noLead {
		t.decode = append(t.decode, strip(" ", 1, 0))
	}
	return t
}

// ParseSentencePiece reads tokenizer.model, a SentencePiece model of BPE whose
// normaliser changes only spaces.
func ParseSentencePiece(data []byte) (_ *Tokenizer, err error) {
	defer must.Catch(&err)
	var pieces []scored
	spec := modelSpec{kind: 1, bos: 1, prefix: true, extra: true, escape: true}
	refuse.Within("not a SentencePiece model, or damaged", func() {
		fields(data, func(number protowire.Number, v uint64, b []byte) {
			switch number {
			case 1:
				p := scored{kind: pieceNormal}
				fields(b, func(number protowire.Number, v uint64, b []byte) {
					switch number {
					case 1:
						p.text = string(b)
					case 2:
						p.score = math.Float32frombits(uint32(v))
					case 3:
						p.kind = int(v)
					}
				})
				pieces = append(pieces, p)
			case 2:
				fields(b, spec.trainer)
			case 3:
				fields(b, spec.normalizer)
			}
		})
	})
	spec.check()
	at := noLead
	if spec.prefix {
		at = frontLead
	}
	t := pieceTokenizer(pieces, at, spec.escape)
	t.digest = sha256.Sum256(data)
	// The file does not say which tokens are put before a text. Models with a token
	// that begins a text expect that one.
	if spec.bos >= 0 && spec.bos < len(pieces) && pieces[spec.bos].kind == pieceControl {
		t.before = []int{spec.bos}
	}
	return t, nil
}

// modelSpec has the settings of a SentencePiece model besides its pieces.
type modelSpec struct {
	kind                  int    // model_type: 1 unigram, 2 BPE, 3 word, 4 char
	bos                   int    // id of the token that begins a text
	prefix, extra, escape bool   // add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces
	charsmap              int    // bytes of precompiled_charsmap
	name                  string // of the normalisation
	suffix                bool   // treat_whitespace_as_suffix
}

// trainer reads a field of the message TrainerSpec.
func (s *modelSpec) trainer(number protowire.Number, v uint64, _ []byte) {
	switch number {
	case 3:
		s.kind = int(v)
	case 24:
		s.suffix = v != 0
	case 41:
		s.bos = int(int32(v))
	}
}

// normalizer reads a field of the message NormalizerSpec.
func (s *modelSpec) normalizer(number protowire.Number, v uint64, b []byte) {
	switch number {
	case 1:
		s.name = string(b)
	case 2:
		s.charsmap = len(b)
	case 3:
		s.prefix = v != 0
	case 4:
		s.extra = v != 0
	case 5:
		s.escape = v != 0
	}
}

// check refuses settings that are not supported.
func (s *modelSpec) check() {
	switch {
	case s.kind != 2:
		unknown("the kind of SentencePiece model", cmp.Or(map[int]string{1: "unigram", 3: "word", 4: "char"}[s.kind], fmt.Sprint(s.kind)))
	case s.charsmap > 0:
		unknown("the normalisation", s.name)
	case s.extra:
		unknown("the normalisation", "remove_extra_whitespaces")
	case s.suffix:
		unknown("the normalisation", "treat_whitespace_as_suffix")
	}
}

// fields calls f for each field of a protobuf message, with the field's number and its value: v for
// a varint, fixed32 or fixed64, and b for bytes.
func fields(data []byte, f func(number protowire.Number, v uint64, b []byte)) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		must.Get(n, protowire.ParseError(n))
		data = data[n:]
		var v uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(data)
		case protowire.Fixed32Type:
			var w uint32
			w, n = protowire.ConsumeFixed32(data)
			v = uint64(w)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(data)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(data)
		default:
			refuse.With("field %d of wire type %d", number, kind)
		}
		must.Get(n, protowire.ParseError(n))
		data = data[n:]
		f(number, v, b)
	}
}
