package proof

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof/wire"
)

// Text says what the tokens of a language model's proofs mean. The circuit's first
// input is these tokens. A second input that is indexes is the positions that logits are of, or the decoder's tokens.
type Text struct {
	// Tokenizer is the SHA-256 of the file of the tokenizer, zeros if the model came
	// without one.
	Tokenizer [sha256.Size]byte
	// Template is the digest of the template that writes conversations as texts
	// (chat.Template.Digest), zeros if the model came without one.
	Template [sha256.Size]byte
	// Ends are the tokens that end a text, increasing.
	Ends []int
	// Generates says that proofs state which part of a text the model wrote: the
	// second input is the positions that the logits, the only output, are of, and a
	// verifier holds the tokens against them (docs/protocol.md, "Text that
	// the model generates").
	Generates bool
	// Start has, of an encoder–decoder, the tokens that every text of the decoder begins with; nil for other models. It generates:
	// the second input is then the decoder's tokens in place of positions, and logits are at all of these.
	Start []int
	// Suppressed are tokens that a decoder never writes, and First those that it does not begin with, both increasing: what it writes are
	// the likeliest of the others.
	Suppressed, First []int
	// Vocabulary is the digest of what maps the strings that a model takes to its inputs, and the numbers of its outputs to names
	// (package vocabulary), zeros if there is none. A text that has one says nothing else: the model is none of language.
	Vocabulary [sha256.Size]byte
}

// hasVocabulary says whether the text is about strings, not tokens.
func (t *Text) hasVocabulary() bool { return t.Vocabulary != [sha256.Size]byte{} }

// HasTokenizer says whether the model came with a tokenizer.
func (t *Text) HasTokenizer() bool { return t.Tokenizer != [sha256.Size]byte{} }

// HasTemplate says whether the model came with a template of conversations.
func (t *Text) HasTemplate() bool { return t.Template != [sha256.Size]byte{} }

// Suppresses says whether there are tokens that the model does not write.
func (t *Text) Suppresses() bool { return t != nil && len(t.Suppressed)+len(t.First) > 0 }

// May says whether the model may write a token, as the first one of its text or as a later one.
func (t *Text) May(token int, first bool) bool {
	_, never := slices.BinarySearch(t.Suppressed, token)
	_, later := slices.BinarySearch(t.First, token)
	return !never && !(first && later)
}

// Likeliest is of how many of the likeliest tokens a proof states which they are, at each position, in place of logits: among these is one
// that the model may write, unless it would seldom write any; 0 is the first alone.
func (t *Text) Likeliest() int {
	if n := len(t.Suppressed) + len(t.First); n > 0 {
		return min(n+1, mostLikeliest)
	}
	return 0
}

// mostLikeliest bounds Likeliest.
const mostLikeliest = 8

// Decoder returns which of a circuit's two inputs the decoder's tokens are, of an encoder–decoder: the second, or the first if that is no
// tokens, as of a model that listens to audio.
func (t *Text) Decoder(g *model.Graph) int {
	if g.IsIds(g.Inputs[1]) {
		return 1
	}
	return 0
}

// Equal says whether two texts are the same; either may be nil.
func (t *Text) Equal(o *Text) bool {
	if t == nil || o == nil {
		return t == o
	}
	return t.Tokenizer == o.Tokenizer && t.Template == o.Template && slices.Equal(t.Ends, o.Ends) && t.Generates == o.Generates && slices.Equal(t.Start, o.Start) &&
		slices.Equal(t.Suppressed, o.Suppressed) && slices.Equal(t.First, o.First) && t.Vocabulary == o.Vocabulary
}

// CheckStatement checks what a key asks of the inputs of a statement at these sizes, beside their ranges: indexes are
// those of entries that are there, and where the second input of a language model is the positions of its logits, these
// are the last ones of the text; or, of a model that writes, the last ones before the end, where the number of written tokens is free;
// or they follow from what the model wrote (verifier.WrittenOf). Of several texts that a model wrote, each may be shorter than
// the longest, in tokens and in those that are written, whose numbers the sizes are; but not those of encoder–decoders. Of a segment
// the positions are the last ones, its last token's included.
func (k *Key) CheckStatement(in *model.Instance, inputs [][]int32) error {
	if in.Texts == 0 {
		return k.checkText(in, inputs)
	}
	for text := range in.Texts {
		if err := k.checkText(in, ofText(inputs, text, in.Texts)); err != nil {
			return fmt.Errorf("text %d: %w", text+1, err)
		}
	}
	return k.checkLongest(inputs, in.Texts)
}

func ofText(lists [][]int32, text, n int) [][]int32 {
	own := make([][]int32, len(lists))
	for i := range own {
		own[i] = model.OfText(lists[i], text, n)
	}
	return own
}

// checkLongest checks that of several texts that a model wrote, one is as long as all, and one has as many written tokens as
// there are positions, where the key leaves these sizes open: so a statement has one form.
func (k *Key) checkLongest(inputs [][]int32, n int) error {
	t, g := k.Text(), k.Circuit.Graph
	if t == nil || !t.Generates || t.Start != nil { // a decoder's text is all of its input
		return nil
	}
	longest, most := 0, 0
	for text := range n {
		positions := model.OfText(inputs[1], text, n)
		last := positions[len(positions)-1]
		longest, most = max(longest, int(last)+2), max(most, int(last-positions[0])+1)
	}
	if length := len(inputs[0]) / n; g.Tensors[g.Inputs[0]].Scales != nil && longest != length {
		return fmt.Errorf("the longest of %d texts has %d tokens, and there is room for %d", n, longest, length)
	}
	if positions := len(inputs[1]) / n; g.Tensors[g.Inputs[1]].Scales != nil && most != positions {
		return fmt.Errorf("of %d texts at most %d tokens are written, and there are logits at %d positions", n, most, positions)
	}
	return nil
}

// checkText is CheckStatement for one text, which may be one of several.
func (k *Key) checkText(in *model.Instance, inputs [][]int32) error {
	if err := k.Circuit.CheckIds(in.Sizes, inputs); err != nil {
		return err
	}
	t, g := k.Text(), k.Circuit.Graph
	if t == nil || t.Start != nil || len(inputs) != 2 || !g.IsIds(g.Inputs[1]) || t.Generates && (in.Texts > 0 || g.Tensors[g.Inputs[1]].Scales == nil) {
		return nil
	}
	tokens, positions, before := len(inputs[0]), inputs[1], 0
	if t.Generates && in.Segment == nil { // a token follows from the logits at the one before it
		before = 1
	}
	for i, at := range positions {
		if want := tokens - len(positions) + i - before; int(at) != want {
			if before > 0 {
				return fmt.Errorf("logits at position %d of a text of %d tokens, of which %d are written: the key's are at %d", at, tokens, len(positions), want)
			}
			return fmt.Errorf("logits at position %d of a text of %d tokens, where the key's are those of the last: %d", at, tokens, want)
		}
	}
	return nil
}

// Bounds on the tokens that end a text, and those that a decoder's begins with.
const (
	maxEnds  = 1 << 10
	maxStart = 1 << 6
)

func (t *Text) validate(g *model.Graph) error {
	if t.hasVocabulary() {
		if !t.Equal(&Text{Vocabulary: t.Vocabulary}) {
			return errors.New("it has a vocabulary, and says something of tokens")
		}
		return nil
	}
	switch {
	case len(t.Ends) > maxEnds:
		return fmt.Errorf("%d tokens that end a text, at most %d", len(t.Ends), maxEnds)
	case !increasing(t.Ends):
		return errors.New("tokens that end a text are not increasing")
	case !increasing(t.Suppressed) || !increasing(t.First) || max(len(t.Suppressed), len(t.First)) > maxEnds:
		return fmt.Errorf("tokens that are not written are not increasing, or more than %d", maxEnds)
	case len(t.Start) > maxStart || !areTokens(t.Start):
		return fmt.Errorf("%d tokens that a decoder's text begins with, or one that is none", len(t.Start))
	case t.Start == nil && t.Suppresses():
		return errors.New("it has tokens that are not written, and none that a decoder's text begins with")
	case t.Start != nil && !t.Generates:
		return errors.New("it has tokens that a decoder's text begins with, and does not generate")
	case len(g.Inputs) == 0 || !g.IsIds(g.Inputs[0]):
		return errors.New("its first input is not tokens")
	case t.Generates && !t.mayGenerate(g):
		return errors.New("it generates, but its inputs and outputs are not tokens, positions and logits")
	}
	return nil
}

func (t *Text) mayGenerate(g *model.Graph) bool {
	return len(g.Inputs) == 2 && len(g.Outputs) == 1 && (t.Start != nil || g.IsIds(g.Inputs[1])) && g.Tensors[g.Outputs[0]].Kind != model.Empty
}

var textMessage = wire.New("Text", nil,
	optionalSHA256(1, "tokenizer", func(t *Text) *[sha256.Size]byte { return &t.Tokenizer }),
	wire.Nums(2, "ends", count, func(t *Text) *[]int { return &t.Ends }),
	wire.Flag(3, "writes", func(t *Text) *bool { return &t.Generates }),
	optionalSHA256(4, "template", func(t *Text) *[sha256.Size]byte { return &t.Template }),
	optionalSHA256(5, "vocabulary", func(t *Text) *[sha256.Size]byte { return &t.Vocabulary }),
	wire.Reserved[Text](6, "input"),
	wire.Reserved[Text](7, "positions"),
	wire.Reserved[Text](8, "logits"),
	wire.Nums(9, "starts", count, func(t *Text) *[]int { return &t.Start }),
	wire.Nums(10, "suppressed", count, func(t *Text) *[]int { return &t.Suppressed }),
	wire.Nums(11, "suppressed_first", count, func(t *Text) *[]int { return &t.First }),
)

// areTokens says whether all are such of a circuit.
func areTokens(ids []int) bool {
	return !slices.ContainsFunc(ids, func(id int) bool { return id < 0 || id >= model.Bound })
}

// increasing says whether tokens are, and of a circuit.
func increasing(ids []int) bool {
	for i := range ids {
		if i > 0 && ids[i] <= ids[i-1] {
			return false
		}
	}
	return areTokens(ids)
}
