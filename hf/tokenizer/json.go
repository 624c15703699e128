package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/prove-model/prove-model/internal/quote"
)

// ParseJSON reads a tokenizer.json. It ignores the file's settings for truncation
// and padding.
func ParseJSON(data []byte) (*Tokenizer, error) {
	var file struct {
		Added      []addedToken    `json:"added_tokens"`
		Normalizer json.RawMessage `json:"normalizer"`
		Pre        json.RawMessage `json:"pre_tokenizer"`
		Model      json.RawMessage `json:"model"`
		Post       json.RawMessage `json:"post_processor"`
		Decoder    json.RawMessage `json:"decoder"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	t := &Tokenizer{joint: " ", digest: sha256.Sum256(data)}
	if absent(file.Model) {
		return nil, errors.New("it has no model")
	}
	for _, part := range []struct {
		name string
		raw  json.RawMessage
		read func(json.RawMessage) error
	}{
		{"normalizer", file.Normalizer, steps(&t.normalise, "normalizers", readNormalizer)},
		{"pre_tokenizer", file.Pre, steps(&t.split, "pretokenizers", readSplitter)}, {"model", file.Model, t.readModel},
		{"post_processor", file.Post, t.readTemplate}, {"decoder", file.Decoder, steps(&t.decode, "decoders", readDecoder)},
	} {
		if absent(part.raw) {
			continue
		}
		if err := part.read(part.raw); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	for _, a := range file.Added {
		if a.ID < 0 || a.ID >= maxID {
			return nil, fmt.Errorf("added token %s has id %d", quote.Name(a.Content), a.ID)
		}
	}
	w := &work{leastWork + workPerFileByte*len(data)}
	t.added = newAdded(file.Added, func(s string) string { return t.normalised(w, s) })
	if err := w.err(); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	for _, id := range slices.Concat(t.before, t.after) {
		if id < 0 || id >= t.Size() {
			return nil, fmt.Errorf("post_processor: it puts id %d around a text, and ids are from 0 to %d", id, t.Size()-1)
		}
	}
	return t, nil
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }

// kind reads the type of a part.
func kind(raw json.RawMessage) (string, error) {
	var t struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(raw, &t)
	return t.Type, err
}

// parsed reads a part, all of whose fields must be known: an unknown one may change
// the result.
func parsed[T any](raw json.RawMessage) (part T, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err = dec.Decode(&part)
	return part, err
}

// typed is embedded where the field "type" is known.
type typed struct {
	Type string `json:"type"`
}

// eachPart calls f with a part and its type, or, if that is a sequence, with the parts in it.
func eachPart(raw json.RawMessage, field string, f func(kind string, raw json.RawMessage) error) error {
	k, err := kind(raw)
	if err != nil {
		return err
	}
	if k != "Sequence" {
		return f(k, raw)
	}
	var s map[string]json.RawMessage
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(s[field], &parts); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	for _, p := range parts {
		k, err := kind(p)
		if err != nil || k == "Sequence" {
			return fmt.Errorf("a sequence within a sequence, or no part at all: %v", err)
		}
		if err := f(k, p); err != nil {
			return err
		}
	}
	return nil
}

// steps reads a part as one step, or its parts as several, and adds them to a list.
func steps[T any](to *[]T, field string, read func(kind string, raw json.RawMessage) (T, error)) func(raw json.RawMessage) error {
	return func(raw json.RawMessage) error {
		return eachPart(raw, field, func(kind string, raw json.RawMessage) error {
			step, err := read(kind, raw)
			*to = append(*to, step)
			return err
		})
	}
}

func readNormalizer(kind string, raw json.RawMessage) (normaliser, error) {
	switch kind {
	case "NFC":
		return bounded(mostGrowth, norm.NFC.String), nil
	case "NFD":
		return bounded(mostGrowth, norm.NFD.String), nil
	case "NFKC":
		return bounded(mostGrowth, norm.NFKC.String), nil
	case "NFKD":
		return bounded(mostGrowth, norm.NFKD.String), nil
	case "StripAccents":
		return bounded(1, func(s string) string { return without(s, accent) }), nil
	case "Precompiled":
		return readPrecompiled(raw)
	case "Lowercase":
		return bounded(2, lower), nil
	case "Strip":
		p, err := parsed[struct {
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
		}), err
	case "Prepend":
		p, err := parsed[struct {
			typed
			Prepend string `json:"prepend"`
		}](raw)
		return func(w *work, s string) string {
			if s == "" {
				return s
			}
			return w.joined(p.Prepend, s)
		}, err
	case "Replace":
		if f := spacesReplaced(raw); f != nil {
			return f, nil
		}
		from, to, err := replacement(raw)
		return func(w *work, s string) string { return w.replace(s, from, to) }, err
	case "BertNormalizer":
		p, err := parsed[struct {
			typed
			bertNormaliser
		}](raw)
		return bounded(3*mostGrowth, p.normalise), err
	}
	return nil, unknown("the normaliser", kind)
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
	p, err := parsed[jsonReplacement](raw)
	if err != nil || p.Pattern.Regex == nil {
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
func replacement(raw json.RawMessage) (from, to string, err error) {
	p, err := parsed[jsonReplacement](raw)
	if err != nil {
		return "", "", err
	}
	if p.Pattern.Regex != nil {
		return "", "", unknown("the expression to replace", *p.Pattern.Regex)
	}
	if p.Pattern.String == nil || *p.Pattern.String == "" {
		return "", "", errors.New("nothing is to be replaced")
	}
	return *p.Pattern.String, p.Content, nil
}

func readSplitter(kind string, raw json.RawMessage) (splitter, error) {
	words := splitAt(findRune(unicode.IsSpace), removed)
	switch kind {
	case "ByteLevel":
		p, err := parsed[struct {
			typed
			Space bool  `json:"add_prefix_space"`
			Trim  bool  `json:"trim_offsets"` // of offsets into the text, which there are none of here
			Regex *bool `json:"use_regex"`
		}](raw)
		return byteLevel(p.Space, p.Regex == nil || *p.Regex), err
	case "Split":
		return readSplit(raw)
	case "Digits":
		p, err := parsed[struct {
			typed
			Individual bool `json:"individual_digits"`
		}](raw)
		b := contiguous
		if p.Individual {
			b = isolated
		}
		return splitAt(findRune(unicode.IsNumber), b), err
	case "Punctuation":
		p, err := parsed[struct {
			typed
			Behavior *behaviour `json:"behavior"`
		}](raw)
		b := isolated
		if p.Behavior != nil {
			b = *p.Behavior
		}
		if err == nil && !b.known() {
			err = unknown("the behaviour", string(b))
		}
		return splitAt(findRune(bertPunctuation), b), err
	case "WhitespaceSplit":
		return words, nil
	case "BertPreTokenizer":
		marks := splitAt(findRune(bertPunctuation), isolated)
		return func(w *work, one word) []word { return eachWord(w, words(w, one), marks) }, nil
	case "Metaspace":
		p, err := readMetaspace(raw)
		return p.split, err
	}
	return nil, unknown("the splitter", kind)
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

func readSplit(raw json.RawMessage) (splitter, error) {
	p, err := parsed[struct {
		typed
		Pattern  jsonPattern `json:"pattern"`
		Behavior behaviour   `json:"behavior"`
		Invert   bool        `json:"invert"`
	}](raw)
	if err != nil {
		return nil, err
	}
	if !p.Behavior.known() {
		return nil, unknown("the behaviour", string(p.Behavior))
	}
	if p.Pattern.Regex == nil {
		if p.Invert || p.Pattern.String == nil || *p.Pattern.String == "" {
			return nil, errors.New("it splits at nothing, or keeps nothing else")
		}
		return splitAt(findString(*p.Pattern.String), p.Behavior), nil
	}
	expression, ok := patterns[*p.Pattern.Regex]
	if !ok {
		return nil, unknown("the expression to split with", *p.Pattern.Regex)
	}
	if expression.bare && p.Behavior != removed {
		return nil, unknown("this use of the expression, with behaviour", string(p.Behavior))
	}
	// The whole text consists of matches, and of spaces that such a use drops. They become the words, both when they are
	// split points and, with Invert, when they are kept.
	if p.Behavior != isolated && !(p.Behavior == removed && p.Invert) {
		return nil, unknown("this use of the expression, with behaviour", string(p.Behavior))
	}
	return expression.split, nil
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

func readMetaspace(raw json.RawMessage) (metaspace, error) {
	p, err := parsed[metaspace](raw)
	if err != nil {
		return p, err
	}
	if p.Scheme == "" {
		p.Scheme = "always"
		if p.Space != nil && !*p.Space {
			p.Scheme = "never"
		}
	}
	if p.Scheme != "always" && p.Scheme != "never" && p.Scheme != "first" {
		return p, unknown("the scheme", p.Scheme)
	}
	if p.Replacement == "" {
		return p, errors.New("it has no replacement")
	}
	return p, nil
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

func (t *Tokenizer) readModel(raw json.RawMessage) error {
	k, err := kind(raw)
	if err != nil {
		return err
	}
	switch k {
	case "BPE", "": // older files do not say
		t.model, err = readBPE(raw)
		return err
	case "Unigram":
		t.model, err = readUnigram(raw)
		return err
	case "WordPiece":
		p, err := parsed[struct {
			typed
			Unknown string         `json:"unk_token"`
			Prefix  string         `json:"continuing_subword_prefix"`
			Most    int            `json:"max_input_chars_per_word"`
			Vocab   map[string]int `json:"vocab"`
		}](raw)
		if err != nil {
			return err
		}
		v, err := newVocabulary(p.Vocab)
		if err != nil {
			return err
		}
		m := &wordPiece{vocabulary: v, prefix: p.Prefix, most: p.Most}
		if m.unknown, err = v.unknownID(p.Unknown); err != nil {
			return err
		}
		for token := range v.ids {
			m.longest = max(m.longest, len(token))
		}
		t.model = m
		return nil
	}
	return unknown("the model", k)
}

func readBPE(raw json.RawMessage) (*bpe, error) {
	p, err := parsed[struct {
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
	if err != nil {
		return nil, err
	}
	if p.Prefix != "" {
		return nil, unknown("continuing_subword_prefix", p.Prefix)
	}
	if p.Dropout != 0 {
		return nil, errors.New("merges are dropped at random")
	}
	v, err := newVocabulary(p.Vocab)
	if err != nil {
		return nil, err
	}
	m := &bpe{vocabulary: v, merges: make(map[uint64]merge, len(p.Merges)), whole: p.Whole, unknown: -1, fuse: p.Fuse, suffix: p.Suffix}
	if p.Unknown != nil {
		if m.unknown, err = v.unknownID(*p.Unknown); err != nil {
			return nil, err
		}
	}
	if m.suffix != "" && (p.Bytes || len(m.suffix) > mostSuffix) {
		return nil, unknown("end_of_word_suffix", m.suffix)
	}
	if p.Bytes {
		if m.bytes = v.byteTokens(); m.bytes == nil {
			return nil, errors.New("unknown characters are to be bytes, but not all bytes are tokens")
		}
	}
	for _, raw := range p.Merges {
		left, right, err := readMerge(raw)
		if err == nil {
			err = m.addMerge(left, right)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// readMerge reads "left right" or ["left", "right"].
func readMerge(raw json.RawMessage) (left, right string, err error) {
	var pair []string
	var joined string
	if json.Unmarshal(raw, &joined) == nil {
		pair = strings.Split(joined, " ")
	} else if err := json.Unmarshal(raw, &pair); err != nil {
		return "", "", err
	}
	if len(pair) != 2 {
		return "", "", fmt.Errorf("a merge of %d tokens", len(pair))
	}
	return pair[0], pair[1], nil
}

func (t *Tokenizer) readTemplate(raw json.RawMessage) error {
	return eachPart(raw, "processors", t.readAround)
}

// readAround reads what is put around a text.
func (t *Tokenizer) readAround(kind string, raw json.RawMessage) error {
	switch kind {
	case "ByteLevel": // of offsets into the text, which there are none of here
		return nil
	case "TemplateProcessing":
		return t.readTemplateOf(raw)
	case "BertProcessing", "RobertaProcessing":
		var p struct {
			CLS [2]json.RawMessage `json:"cls"`
			Sep [2]json.RawMessage `json:"sep"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return err
		}
		var cls, sep int
		if err := json.Unmarshal(p.CLS[1], &cls); err != nil {
			return fmt.Errorf("cls: %w", err)
		}
		if err := json.Unmarshal(p.Sep[1], &sep); err != nil {
			return fmt.Errorf("sep: %w", err)
		}
		t.before, t.after = append(t.before, cls), append(t.after, sep)
		return nil
	}
	return unknown("the template", kind)
}

// mostAround is the most tokens around a text; published models have one or two.
const mostAround = 1024

func (t *Tokenizer) readTemplateOf(raw json.RawMessage) error {
	var p struct {
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
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	text := false
	for _, part := range p.Single {
		switch {
		case part.Special != nil:
			ids := p.Tokens[part.Special.ID].IDs
			if len(ids) == 0 {
				return fmt.Errorf("token %s of the template has no ids", quote.Name(part.Special.ID))
			}
			if len(t.before)+len(t.after)+len(ids) > mostAround {
				return fmt.Errorf("the template puts more than %d tokens around a text", mostAround)
			}
			if text {
				t.after = append(t.after, ids...)
			} else {
				t.before = append(t.before, ids...)
			}
		case part.Sequence != nil && !text:
			text = true
		default:
			return errors.New("the template of one text is not tokens, the text and tokens")
		}
	}
	if !text {
		return errors.New("the template of one text does not have the text")
	}
	return nil
}

func readDecoder(kind string, raw json.RawMessage) (decoder, error) {
	switch kind {
	case "ByteLevel":
		return decodeByteLevel, nil
	case "ByteFallback":
		return decodeBytes, nil
	case "Fuse":
		return fuse, nil
	case "Replace":
		from, to, err := replacement(raw)
		return replaced(from, to), err
	case "Strip":
		p, err := parsed[struct {
			typed
			Content string `json:"content"`
			Start   int    `json:"start"`
			Stop    int    `json:"stop"`
		}](raw)
		return strip(p.Content, min(p.Start, 64), min(p.Stop, 64)), err
	case "WordPiece":
		p, err := parsed[struct {
			typed
			Prefix  string `json:"prefix"`
			Cleanup bool   `json:"cleanup"`
		}](raw)
		return decodeWordPiece(p.Prefix, p.Cleanup), err
	case "Metaspace":
		p, err := readMetaspace(raw)
		return decodeMetaspace(p.Replacement, p.Scheme != "never"), err
	}
	return nil, unknown("the decoder", kind)
}
