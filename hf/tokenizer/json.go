package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/quote"
	"github.com/prove-model/prove-model/internal/refuse"
)

// ParseJSON reads a tokenizer.json. It ignores the file's settings for truncation
// and padding.
func ParseJSON(data []byte) (_ *Tokenizer, err error) {
	defer must.Catch(&err)
	file := unmarshalled[struct {
		Added      []addedToken    `json:"added_tokens"`
		Normalizer json.RawMessage `json:"normalizer"`
		Pre        json.RawMessage `json:"pre_tokenizer"`
		Model      json.RawMessage `json:"model"`
		Post       json.RawMessage `json:"post_processor"`
		Decoder    json.RawMessage `json:"decoder"`
	}](data)
	t := &Tokenizer{joint: " ", digest: sha256.Sum256(data)}
	if absent(file.Model) {
		refuse.With("it has no model")
	}
	for _, part := range []struct {
		name string
		raw  json.RawMessage
		read func(json.RawMessage)
	}{
		{"normalizer", file.Normalizer, steps(&t.normalise, "normalizers", readNormalizer)},
		{"pre_tokenizer", file.Pre, steps(&t.split, "pretokenizers", readSplitter)}, {"model", file.Model, func(raw json.RawMessage) { partOf(raw).read(t.readModel) }},
		{"post_processor", file.Post, eachPart("processors", t.readAround)}, {"decoder", file.Decoder, steps(&t.decode, "decoders", readDecoder)},
	} {
		if !absent(part.raw) {
			refuse.Within(part.name, func() { part.read(part.raw) })
		}
	}
	for _, a := range file.Added {
		if a.ID < 0 || a.ID >= maxID {
			refuse.With("added token %s has id %d", quote.Name(a.Content), a.ID)
		}
	}
	w := &work{leastWork + workPerFileByte*len(data)}
	refuse.Within("normalizer", func() {
		t.added = newAdded(file.Added, func(s string) string { return t.normalised(w, s) })
		must.OK(w.err())
	})
	for _, id := range slices.Concat(t.before, t.after) {
		if id < 0 || id >= t.Size() {
			refuse.With("post_processor: it puts id %d around a text, and ids are from 0 to %d", id, t.Size()-1)
		}
	}
	return t, nil
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }

// part is a part of a file, such as its normalizer.
type part struct {
	fields map[string]json.RawMessage // those that have not been read
	strict bool                       // a field was read, so that all must be (read)
}

func partOf(raw json.RawMessage) *part {
	return &part{fields: unmarshalled[map[string]json.RawMessage](raw)}
}

// field reads a field of a part. It is the zero value if it is absent.
func field[T any](p *part, name string) (v T) {
	p.strict = true
	if raw, ok := p.fields[name]; ok {
		refuse.Within(name, func() { v = unmarshalled[T](raw) })
		delete(p.fields, name)
	}
	return v
}

// read calls by, which reads the fields of the part, with the part's type. If by reads some of the fields, any field that is left over is
// refused, as it may change the result.
func (p *part) read(by func(kind string, p *part)) {
	kind := field[string](p, "type")
	p.strict = false
	by(kind, p)
	for _, name := range slices.Sorted(maps.Keys(p.fields)) {
		if p.strict {
			refuse.With("unknown field %s", quote.Name(name))
		}
	}
}

// eachPart returns a function that reads a part, or, if it is a sequence, all parts in it, which its field list has.
func eachPart(list string, read func(kind string, p *part)) func(raw json.RawMessage) {
	return func(raw json.RawMessage) {
		partOf(raw).read(func(kind string, p *part) {
			if kind != "Sequence" {
				read(kind, p)
				return
			}
			if p.fields[list] == nil {
				refuse.With("a sequence without %s", list)
			}
			parts := field[[]json.RawMessage](p, list)
			p.strict = false
			for _, raw := range parts {
				partOf(raw).read(func(kind string, p *part) {
					if kind == "Sequence" {
						refuse.With("a sequence within a sequence")
					}
					read(kind, p)
				})
			}
		})
	}
}

// steps is eachPart for parts that are steps: it appends what read returns to a list.
func steps[T any](to *[]T, list string, read func(kind string, p *part) T) func(raw json.RawMessage) {
	return eachPart(list, func(kind string, p *part) { *to = append(*to, read(kind, p)) })
}

// readNormalizer reads a step of the normalizer, of the given type.
func readNormalizer(kind string, p *part) normaliser {
	switch kind {
	case "NFC":
		return bounded(mostGrowth, norm.NFC.String)
	case "NFD":
		return bounded(mostGrowth, norm.NFD.String)
	case "NFKC":
		return bounded(mostGrowth, norm.NFKC.String)
	case "NFKD":
		return bounded(mostGrowth, norm.NFKD.String)
	case "StripAccents":
		return bounded(1, func(s string) string { return without(s, accent) })
	case "Precompiled":
		return readPrecompiled(field[[]byte](p, "precompiled_charsmap"))
	case "Lowercase":
		return bounded(2, lower)
	case "Strip":
		left, right := field[bool](p, "strip_left"), field[bool](p, "strip_right")
		return bounded(1, func(s string) string {
			if left {
				s = strings.TrimLeftFunc(s, unicode.IsSpace)
			}
			if right {
				s = strings.TrimRightFunc(s, unicode.IsSpace)
			}
			return s
		})
	case "Prepend":
		before := field[string](p, "prepend")
		return func(w *work, s string) string {
			if s == "" {
				return s
			}
			return w.joined(before, s)
		}
	case "Replace":
		pattern, to := field[jsonPattern](p, "pattern"), field[string](p, "content")
		if f := pattern.spaces(to); f != nil {
			return f
		}
		from := pattern.plain()
		return func(w *work, s string) string { return w.replace(s, from, to) }
	case "BertNormalizer":
		n := bertNormaliser{
			clean: field[bool](p, "clean_text"), chinese: field[bool](p, "handle_chinese_chars"),
			strip: field[*bool](p, "strip_accents"), lower: field[bool](p, "lowercase"),
		}
		return bounded(3*mostGrowth, n.normalise)
	}
	unknown("the normaliser", kind)
	return nil
}

// jsonPattern is a pattern of a file: a string or a regular expression.
type jsonPattern struct {
	String *string
	Regex  *string
}

// UnmarshalJSON refuses unknown fields, which may change the meaning of the pattern.
func (p *jsonPattern) UnmarshalJSON(data []byte) error {
	type plain jsonPattern
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode((*plain)(p))
}

// spaces returns a normaliser that replaces runs of spaces by to, if the pattern is one of the expressions for such runs that published
// files have, and nil otherwise.
func (p jsonPattern) spaces(to string) normaliser {
	if p.Regex == nil {
		return nil
	}
	switch *p.Regex {
	case " {2,}":
		return func(w *work, s string) string { return w.runs(s, to) }
	case `\s+`:
		return func(w *work, s string) string { return w.spaces(s, to, false) }
	case `\s{2,}|[\n\r\t]`:
		return func(w *work, s string) string { return w.spaces(s, to, true) }
	}
	return nil
}

// plain is the string of a pattern to be replaced. It refuses regular expressions.
func (p jsonPattern) plain() string {
	if p.Regex != nil {
		unknown("the expression to replace", *p.Regex)
	}
	if p.String == nil || *p.String == "" {
		refuse.With("nothing is to be replaced")
	}
	return *p.String
}

// readSplitter reads a step of the pre_tokenizer, of the given type.
func readSplitter(kind string, p *part) splitter {
	words := splitAt(findRune(unicode.IsSpace), removed)
	switch kind {
	case "ByteLevel":
		field[bool](p, "trim_offsets") // about offsets of tokens in the text, which this package does not give
		regex := field[*bool](p, "use_regex")
		return byteLevel(field[bool](p, "add_prefix_space"), regex == nil || *regex)
	case "Split":
		return readSplit(p)
	case "Digits":
		b := contiguous
		if field[bool](p, "individual_digits") {
			b = isolated
		}
		return splitAt(findRune(unicode.IsNumber), b)
	case "Punctuation":
		b := isolated
		if given := field[*behaviour](p, "behavior"); given != nil {
			b = *given
		}
		return splitAt(findRune(bertPunctuation), b.known())
	case "WhitespaceSplit":
		return words
	case "BertPreTokenizer":
		marks := splitAt(findRune(bertPunctuation), isolated)
		return func(w *work, one word) []word { return eachWord(w, words(w, one), marks) }
	case "Metaspace":
		return readMetaspace(p).split
	}
	unknown("the splitter", kind)
	return nil
}

// byteLevel is a splitter that writes a word's bytes as characters (toLetters). With space, it puts a space before a word that does not
// begin with one. With regex, it first splits the word as GPT-2 does.
func byteLevel(space, regex bool) splitter {
	return func(w *work, one word) []word {
		if space && !strings.HasPrefix(one.text, " ") {
			one.text = w.joined(" ", one.text)
		}
		words := []word{one}
		if regex {
			words = patterns[gpt2].split(w, one)
		}
		for i := range words {
			if w.spend(len(words[i].text), 3) { // letters have up to 2 bytes
				words[i].text = toLetters(words[i].text)
			}
		}
		return words
	}
}

// readSplit reads a splitter of type Split: at a string, or by one of the expressions in patterns.
func readSplit(p *part) splitter {
	pattern, b, invert := field[jsonPattern](p, "pattern"), field[behaviour](p, "behavior").known(), field[bool](p, "invert")
	if pattern.Regex == nil {
		if invert || pattern.String == nil || *pattern.String == "" {
			refuse.With("it splits at nothing, or keeps nothing else")
		}
		return splitAt(findString(*pattern.String), b)
	}
	expression, ok := patterns[*pattern.Regex]
	if !ok {
		unknown("the expression to split with", *pattern.Regex)
	}
	// The expressions match the whole text, except for the white space that a bare one leaves out. The matches become the words:
	// those of the others by "Isolated", or by "Removed" with invert, which removes what is between matches, and those of a bare one
	// by the latter alone.
	if expression.bare && b != removed || b != isolated && !(b == removed && invert) {
		unknown("this use of the expression, with behaviour", string(b))
	}
	return expression.split
}

// metaspace is a splitter that replaces spaces by a character, may put one before a text, and splits before each.
type metaspace struct {
	replacement, scheme string // the character; before which texts it is put: always, never, or first (at the front of the whole text)
	whole               bool   // the text is not split
}

// readMetaspace reads the fields of a Metaspace, which may be a splitter or a decoder.
func readMetaspace(p *part) metaspace {
	space, split := field[*bool](p, "add_prefix_space"), field[*bool](p, "split") // older files have the former in place of a scheme
	field[string](p, "str_rep")                                                   // older files repeat the replacement here
	m := metaspace{field[string](p, "replacement"), field[string](p, "prepend_scheme"), split != nil && !*split}
	if m.scheme == "" {
		m.scheme = "always"
		if space != nil && !*space {
			m.scheme = "never"
		}
	}
	if m.scheme != "always" && m.scheme != "never" && m.scheme != "first" {
		unknown("the scheme", m.scheme)
	}
	if m.replacement == "" {
		refuse.With("it has no replacement")
	}
	return m
}

func (m metaspace) split(w *work, one word) []word {
	one.text = w.replace(one.text, " ", m.replacement)
	if (m.scheme == "always" || m.scheme == "first" && one.first) && !strings.HasPrefix(one.text, m.replacement) {
		one.text = w.joined(m.replacement, one.text)
	}
	if m.whole {
		return []word{one}
	}
	return splitAt(findString(m.replacement), following)(w, one)
}

// readModel reads the model, of the given type.
func (t *Tokenizer) readModel(kind string, p *part) {
	switch kind {
	case "BPE", "": // older files have no type
		t.model = readBPE(p)
	case "Unigram":
		t.model = readUnigram(p)
	case "WordPiece":
		v := newVocabulary(field[map[string]int](p, "vocab"))
		m := &wordPiece{vocabulary: v, prefix: field[string](p, "continuing_subword_prefix"), most: field[int](p, "max_input_chars_per_word")}
		m.unknown = v.unknownID(field[string](p, "unk_token"))
		for token := range v.ids {
			m.longest = max(m.longest, len(token))
		}
		t.model = m
	default:
		unknown("the model", kind)
	}
}

// readBPE reads a model of type BPE.
func readBPE(p *part) *bpe {
	if prefix := field[string](p, "continuing_subword_prefix"); prefix != "" {
		unknown("continuing_subword_prefix", prefix)
	}
	if field[float64](p, "dropout") != 0 {
		refuse.With("merges are dropped at random")
	}
	v, merges := newVocabulary(field[map[string]int](p, "vocab")), field[[]json.RawMessage](p, "merges")
	m := &bpe{
		vocabulary: v, merges: make(map[uint64]merge, len(merges)), unknown: -1, whole: field[bool](p, "ignore_merges"),
		fuse: field[bool](p, "fuse_unk"), suffix: field[string](p, "end_of_word_suffix"),
	}
	if unknown := field[*string](p, "unk_token"); unknown != nil {
		m.unknown = v.unknownID(*unknown)
	}
	bytes := field[bool](p, "byte_fallback")
	if m.suffix != "" && (bytes || len(m.suffix) > mostSuffix) {
		unknown("end_of_word_suffix", m.suffix)
	}
	if bytes {
		if m.bytes = v.byteTokens(); m.bytes == nil {
			refuse.With("unknown characters are to be bytes, but not all bytes are tokens")
		}
	}
	for _, raw := range merges {
		m.addMerge(readMerge(raw))
	}
	return m
}

// readMerge reads "left right" or ["left", "right"].
func readMerge(raw json.RawMessage) (left, right string) {
	var pair []string
	var joined string
	if json.Unmarshal(raw, &joined) == nil {
		pair = strings.Split(joined, " ")
	} else {
		pair = unmarshalled[[]string](raw)
	}
	if len(pair) != 2 {
		refuse.With("a merge of %d tokens", len(pair))
	}
	return pair[0], pair[1]
}

// readAround reads which tokens are put before and after a text.
func (t *Tokenizer) readAround(kind string, p *part) {
	switch kind {
	case "ByteLevel": // changes only offsets of tokens in the text, which this package does not give
	case "TemplateProcessing":
		t.readTemplate(p)
	case "BertProcessing", "RobertaProcessing":
		cls, sep := field[[2]json.RawMessage](p, "cls"), field[[2]json.RawMessage](p, "sep")
		refuse.Within("cls", func() { t.before = append(t.before, unmarshalled[int](cls[1])) })
		refuse.Within("sep", func() { t.after = append(t.after, unmarshalled[int](sep[1])) })
	default:
		unknown("the template", kind)
	}
	p.strict = false // the other fields are about pairs of texts
}

// mostAround is the most tokens around a text; published models have one or two.
const mostAround = 1024

// readTemplate reads the template of a single text: special tokens, the text, and special tokens.
func (t *Tokenizer) readTemplate(p *part) {
	type named struct {
		ID string `json:"id"`
	}
	single := field[[]struct {
		Special  *named `json:"SpecialToken"`
		Sequence *named `json:"Sequence"`
	}](p, "single")
	tokens := field[map[string]struct {
		IDs []int `json:"ids"`
	}](p, "special_tokens")
	text := false
	for _, part := range single {
		switch {
		case part.Special != nil:
			ids := tokens[part.Special.ID].IDs
			if len(ids) == 0 {
				refuse.With("token %s of the template has no ids", quote.Name(part.Special.ID))
			}
			if len(t.before)+len(t.after)+len(ids) > mostAround {
				refuse.With("the template puts more than %d tokens around a text", mostAround)
			}
			if text {
				t.after = append(t.after, ids...)
			} else {
				t.before = append(t.before, ids...)
			}
		case part.Sequence != nil && !text:
			text = true
		default:
			refuse.With("the template of one text is not tokens, the text and tokens")
		}
	}
	if !text {
		refuse.With("the template of one text does not have the text")
	}
}

// readDecoder reads a step of the decoder, of the given type.
func readDecoder(kind string, p *part) decoder {
	switch kind {
	case "ByteLevel":
		return decodeByteLevel
	case "ByteFallback":
		return decodeBytes
	case "Fuse":
		return fuse
	case "Replace":
		return replaced(field[jsonPattern](p, "pattern").plain(), field[string](p, "content"))
	case "Strip":
		return strip(field[string](p, "content"), min(field[int](p, "start"), 64), min(field[int](p, "stop"), 64))
	case "WordPiece":
		return decodeWordPiece(field[string](p, "prefix"), field[bool](p, "cleanup"))
	case "Metaspace":
		m := readMetaspace(p)
		return decodeMetaspace(m.replacement, m.scheme != "never")
	}
	unknown("the decoder", kind)
	return nil
}
