package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
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
func ParseJSON(data []byte) (t *Tokenizer, err error) {
	err = refuse.Caught(func() { t = fromJSON(data) })
	return t, err
}

func fromJSON(data []byte) *Tokenizer {
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
		{"pre_tokenizer", file.Pre, steps(&t.split, "pretokenizers", readSplitter)}, {"model", file.Model, t.readModel},
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
	t.added = newAdded(file.Added, func(s string) string { return t.normalised(w, s) })
	if err := w.err(); err != nil {
		refuse.With("normalizer: %w", err)
	}
	for _, id := range slices.Concat(t.before, t.after) {
		if id < 0 || id >= t.Size() {
			refuse.With("post_processor: it puts id %d around a text, and ids are from 0 to %d", id, t.Size()-1)
		}
	}
	return t
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }

// kind reads the type of a part.
func kind(raw json.RawMessage) string { return unmarshalled[typed](raw).Type }

// parsed reads a part, all of whose fields must be known: an unknown one may change
// the result.
func parsed[T any](raw json.RawMessage) (part T) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(&part)
	return must.Get(part, err)
}

// typed is embedded where the field "type" is known.
type typed struct {
	Type string `json:"type"`
}

// eachPart reads a part, or, of a sequence, the parts in it.
func eachPart(field string, read func(kind string, raw json.RawMessage)) func(raw json.RawMessage) {
	return func(raw json.RawMessage) {
		parts := []json.RawMessage{raw}
		if kind(raw) == "Sequence" {
			of := unmarshalled[map[string]json.RawMessage](raw)[field]
			refuse.Within(field, func() { parts = unmarshalled[[]json.RawMessage](of) })
		}
		for _, p := range parts {
			own := kind(p)
			if own == "Sequence" {
				refuse.With("a sequence within a sequence")
			}
			read(own, p)
		}
	}
}

// steps reads a part as one step or several, and adds them to a list.
func steps[T any](to *[]T, field string, read func(kind string, raw json.RawMessage) T) func(raw json.RawMessage) {
	return eachPart(field, func(kind string, raw json.RawMessage) { *to = append(*to, read(kind, raw)) })
}

func readNormalizer(kind string, raw json.RawMessage) normaliser {
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
		return readPrecompiled(raw)
	case "Lowercase":
		return bounded(2, lower)
	case "Strip":
		p := parsed[struct {
			typed
			Left  bool `json:"strip_left"`
			Right bool `json:"strip_right"`
		}](raw)
		return bounded(1, func(s string) string {
			if p.Left {
				s = strings.TrimLeftFunc(s, unicode.IsSpace)
			}
			if p.Right {
				s = strings.TrimRightFunc(s, unicode.IsSpace)
			}
			return s
		})
	case "Prepend":
		p := parsed[struct {
			typed
			Prepend string `json:"prepend"`
		}](raw)
		return func(w *work, s string) string {
			if s == "" {
				return s
			}
			return w.joined(p.Prepend, s)
		}
	case "Replace":
		if f := spacesReplaced(raw); f != nil {
			return f
		}
		from, to := replacement(raw)
		return func(w *work, s string) string { return w.replace(s, from, to) }
	case "BertNormalizer":
		p := parsed[struct {
			typed
			bertNormaliser
		}](raw)
		return bounded(3*mostGrowth, p.normalise)
	}
	unknown("the normaliser", kind)
	return nil
}

// jsonPattern is a pattern of a file: a string or a regular expression.
type jsonPattern struct {
	String *string
	Regex  *string
}

// jsonReplacement is a part that replaces what a pattern matches.
type jsonReplacement struct {
	typed
	Pattern jsonPattern `json:"pattern"`
	Content string      `json:"content"`
}

// spacesReplaced returns how runs of spaces are replaced, if that is what a part does by an expression of published files, and nil otherwise.
func spacesReplaced(raw json.RawMessage) normaliser {
	p := parsed[jsonReplacement](raw)
	if p.Pattern.Regex == nil {
		return nil
	}
	switch *p.Pattern.Regex {
	case " {2,}":
		return func(w *work, s string) string { return w.runs(s, p.Content) }
	case `\s+`:
		return func(w *work, s string) string { return w.spaces(s, p.Content, false) }
	case `\s{2,}|[\n\r\t]`:
		return func(w *work, s string) string { return w.spaces(s, p.Content, true) }
	}
	return nil
}

// replacement reads a part that replaces one string by another.
func replacement(raw json.RawMessage) (from, to string) {
	p := parsed[jsonReplacement](raw)
	if p.Pattern.Regex != nil {
		unknown("the expression to replace", *p.Pattern.Regex)
	}
	if p.Pattern.String == nil || *p.Pattern.String == "" {
		refuse.With("nothing is to be replaced")
	}
	return *p.Pattern.String, p.Content
}

func readSplitter(kind string, raw json.RawMessage) splitter {
	words := splitAt(findRune(unicode.IsSpace), removed)
	switch kind {
	case "ByteLevel":
		p := parsed[struct {
			typed
			Space bool  `json:"add_prefix_space"`
			Trim  bool  `json:"trim_offsets"` // of offsets into the text, which there are none of here
			Regex *bool `json:"use_regex"`
		}](raw)
		return byteLevel(p.Space, p.Regex == nil || *p.Regex)
	case "Split":
		return readSplit(raw)
	case "Digits":
		p := parsed[struct {
			typed
			Individual bool `json:"individual_digits"`
		}](raw)
		b := contiguous
		if p.Individual {
			b = isolated
		}
		return splitAt(findRune(unicode.IsNumber), b)
	case "Punctuation":
		p := parsed[struct {
			typed
			Behavior *behaviour `json:"behavior"`
		}](raw)
		b := isolated
		if p.Behavior != nil {
			b = *p.Behavior
		}
		return splitAt(findRune(bertPunctuation), b.known())
	case "WhitespaceSplit":
		return words
	case "BertPreTokenizer":
		marks := splitAt(findRune(bertPunctuation), isolated)
		return func(w *work, one word) []word { return eachWord(w, words(w, one), marks) }
	case "Metaspace":
		return readMetaspace(raw).split
	}
	unknown("the splitter", kind)
	return nil
}

// byteLevel writes a word's bytes as characters, after the split of GPT-2.
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

func readSplit(raw json.RawMessage) splitter {
	p := parsed[struct {
		typed
		Pattern  jsonPattern `json:"pattern"`
		Behavior behaviour   `json:"behavior"`
		Invert   bool        `json:"invert"`
	}](raw)
	p.Behavior.known()
	if p.Pattern.Regex == nil {
		if p.Invert || p.Pattern.String == nil || *p.Pattern.String == "" {
			refuse.With("it splits at nothing, or keeps nothing else")
		}
		return splitAt(findString(*p.Pattern.String), p.Behavior)
	}
	expression, ok := patterns[*p.Pattern.Regex]
	if !ok {
		unknown("the expression to split with", *p.Pattern.Regex)
	}
	if expression.bare && p.Behavior != removed {
		unknown("this use of the expression, with behaviour", string(p.Behavior))
	}
	// The whole text consists of matches, and of spaces that such a use drops. They become the words, both when they are
	// split points and, with Invert, when they are kept.
	if p.Behavior != isolated && !(p.Behavior == removed && p.Invert) {
		unknown("this use of the expression, with behaviour", string(p.Behavior))
	}
	return expression.split
}

// metaspace replaces spaces by a character, and puts one before a text.
type metaspace struct {
	typed
	Replacement string `json:"replacement"`
	Space       *bool  `json:"add_prefix_space"` // older files
	Scheme      string `json:"prepend_scheme"`   // always, never, first
	Split       *bool  `json:"split"`
	Char        string `json:"str_rep"` // older files: as Replacement
}

func readMetaspace(raw json.RawMessage) metaspace {
	p := parsed[metaspace](raw)
	if p.Scheme == "" {
		p.Scheme = "always"
		if p.Space != nil && !*p.Space {
			p.Scheme = "never"
		}
	}
	if p.Scheme != "always" && p.Scheme != "never" && p.Scheme != "first" {
		unknown("the scheme", p.Scheme)
	}
	if p.Replacement == "" {
		refuse.With("it has no replacement")
	}
	return p
}

func (p metaspace) split(w *work, one word) []word {
	one.text = w.replace(one.text, " ", p.Replacement)
	if (p.Scheme == "always" || p.Scheme == "first" && one.first) && !strings.HasPrefix(one.text, p.Replacement) {
		one.text = w.joined(p.Replacement, one.text)
	}
	if p.Split != nil && !*p.Split {
		return []word{one}
	}
	return splitAt(findString(p.Replacement), following)(w, one)
}

func (t *Tokenizer) readModel(raw json.RawMessage) {
	switch k := kind(raw); k {
	case "BPE", "": // older files do not say
		t.model = readBPE(raw)
	case "Unigram":
		t.model = readUnigram(raw)
	case "WordPiece":
		p := parsed[struct {
			typed
			Unknown string         `json:"unk_token"`
			Prefix  string         `json:"continuing_subword_prefix"`
			Most    int            `json:"max_input_chars_per_word"`
			Vocab   map[string]int `json:"vocab"`
		}](raw)
		v := newVocabulary(p.Vocab)
		m := &wordPiece{vocabulary: v, prefix: p.Prefix, most: p.Most, unknown: v.unknownID(p.Unknown)}
		for token := range v.ids {
			m.longest = max(m.longest, len(token))
		}
		t.model = m
	default:
		unknown("the model", k)
	}
}

func readBPE(raw json.RawMessage) *bpe {
	p := parsed[struct {
		typed
		Dropout float64           `json:"dropout"`
		Unknown *string           `json:"unk_token"`
		Prefix  string            `json:"continuing_subword_prefix"`
		Suffix  string            `json:"end_of_word_suffix"`
		Fuse    bool              `json:"fuse_unk"`
		Bytes   bool              `json:"byte_fallback"`
		Whole   bool              `json:"ignore_merges"`
		Vocab   map[string]int    `json:"vocab"`
		Merges  []json.RawMessage `json:"merges"`
	}](raw)
	if p.Prefix != "" {
		unknown("continuing_subword_prefix", p.Prefix)
	}
	if p.Dropout != 0 {
		refuse.With("merges are dropped at random")
	}
	v := newVocabulary(p.Vocab)
	m := &bpe{vocabulary: v, merges: make(map[uint64]merge, len(p.Merges)), whole: p.Whole, unknown: -1, fuse: p.Fuse, suffix: p.Suffix}
	if p.Unknown != nil {
		m.unknown = v.unknownID(*p.Unknown)
	}
	if m.suffix != "" && (p.Bytes || len(m.suffix) > mostSuffix) {
		unknown("end_of_word_suffix", m.suffix)
	}
	if p.Bytes {
		if m.bytes = v.byteTokens(); m.bytes == nil {
			refuse.With("unknown characters are to be bytes, but not all bytes are tokens")
		}
	}
	for _, raw := range p.Merges {
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

// readAround reads what is put around a text.
func (t *Tokenizer) readAround(kind string, raw json.RawMessage) {
	switch kind {
	case "ByteLevel": // of offsets into the text, which there are none of here
	case "TemplateProcessing":
		t.readTemplate(raw)
	case "BertProcessing", "RobertaProcessing":
		p := unmarshalled[struct {
			CLS [2]json.RawMessage `json:"cls"`
			Sep [2]json.RawMessage `json:"sep"`
		}](raw)
		refuse.Within("cls", func() { t.before = append(t.before, unmarshalled[int](p.CLS[1])) })
		refuse.Within("sep", func() { t.after = append(t.after, unmarshalled[int](p.Sep[1])) })
	default:
		unknown("the template", kind)
	}
}

// mostAround is the most tokens around a text; published models have one or two.
const mostAround = 1024

func (t *Tokenizer) readTemplate(raw json.RawMessage) {
	p := unmarshalled[struct {
		Single []struct {
			Special *struct {
				ID string `json:"id"`
			} `json:"SpecialToken"`
			Sequence *struct {
				ID string `json:"id"`
			} `json:"Sequence"`
		} `json:"single"`
		Tokens map[string]struct {
			IDs []int `json:"ids"`
		} `json:"special_tokens"`
	}](raw)
	text := false
	for _, part := range p.Single {
		switch {
		case part.Special != nil:
			ids := p.Tokens[part.Special.ID].IDs
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

func readDecoder(kind string, raw json.RawMessage) decoder {
	switch kind {
	case "ByteLevel":
		return decodeByteLevel
	case "ByteFallback":
		return decodeBytes
	case "Fuse":
		return fuse
	case "Replace":
		from, to := replacement(raw)
		return replaced(from, to)
	case "Strip":
		p := parsed[struct {
			typed
			Content string `json:"content"`
			Start   int    `json:"start"`
			Stop    int    `json:"stop"`
		}](raw)
		return strip(p.Content, min(p.Start, 64), min(p.Stop, 64))
	case "WordPiece":
		p := parsed[struct {
			typed
			Prefix  string `json:"prefix"`
			Cleanup bool   `json:"cleanup"`
		}](raw)
		return decodeWordPiece(p.Prefix, p.Cleanup)
	case "Metaspace":
		p := readMetaspace(raw)
		return decodeMetaspace(p.Replacement, p.Scheme != "never")
	}
	unknown("the decoder", kind)
	return nil
}
