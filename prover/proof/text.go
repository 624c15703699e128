package proof

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof/wire"
)

// Text says what the tokens of a language model's proofs mean. The circuit's first input is the tokens. If a second input is
// indexes too, it is the positions at which there are logits or, for an encoder–decoder, the decoder's tokens. For a model of
// strings, Text has the digest of a Vocabulary and nothing else.
type Text struct {
	// Tokenizer is the SHA-256 of the file of the tokenizer, zeros if the model came
	// without one.
	Tokenizer [sha256.Size]byte
	// Template is the digest of the template that writes conversations as texts
	// (chat.Template.Digest), zeros if the model came without one.
	Template [sha256.Size]byte
	// Ends are the tokens that end a text, increasing.
	Ends []int
	// Generates says that proofs state which part of a text the model wrote. The second input
	// is then the positions at which there are logits, the logits are the only output, and a
	// verifier checks that the tokens follow from them (docs/protocol.md, "Text that
	// the model generates").
	Generates bool
	// Start has, for an encoder–decoder, the tokens with which every text of the decoder begins; nil for other models. With Start,
	// Generates is set, the decoder's tokens take the place of positions (Decoder), and there are logits at all of them.
	Start []int
	// Suppressed are tokens that a decoder never writes, and First those that it does not write as its first token. Both are
	// increasing. Each token that it writes is the likeliest of the others.
	Suppressed, First []int
	// Vocabulary is the digest of the file that maps strings to the model's inputs, and numbers of its outputs to names (package
	// vocabulary); zeros if there is none. If it is set, all other fields are unset, as the model is no language model.
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

// May says whether the model may write a token: as the first token that it writes if first is set, otherwise as a later one.
func (t *Text) May(token int, first bool) bool {
	_, never := slices.BinarySearch(t.Suppressed, token)
	_, later := slices.BinarySearch(t.First, token)
	return !never && !(first && later)
}

// Likeliest returns how many of the likeliest tokens a proof should reveal at each position in place of logits (model.Reveal.Top).
// It is one more than the number of suppressed tokens, so that one of them is a token that the model may write, but at most
// mostLikeliest; then it may happen that none is, and there is no proof. 0 means that the likeliest token alone is revealed.
func (t *Text) Likeliest() int {
	if n := len(t.Suppressed) + len(t.First); n > 0 {
		return min(n+1, mostLikeliest)
	}
	return 0
}

// mostLikeliest bounds Likeliest.
const mostLikeliest = 8

// Decoder returns, for an encoder–decoder, which of the circuit's two inputs is the decoder's tokens: 1, or 0 if the second input is
// not tokens but, for example, audio samples that the encoder listens to.
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

// CheckStatement checks what a key demands of a statement's inputs at these sizes, besides their ranges. inputs are by their place in
// the key (model.Instance.Spread). It checks that
//
//   - every index picks an entry that exists, and not a zero of the padding;
//   - if the second input of a language model is the positions of its logits, they are the last n positions of the text; if the
//     model writes, and the number of written tokens is free, they are the n positions before the last, as each token follows from the
//     logits before it. In a segment they are the last n positions, the last token's included. If the number of positions is fixed,
//     or there are several texts, verifier.WrittenOf checks positions of a model that writes;
//   - of several texts that a model without encoder wrote, each of which may be shorter than the sizes say, the longest one fills the
//     length, and one has as many written tokens as there are positions (checkLongest).
//
// Without these checks a prover could choose which rows of the circuit a statement is about.
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

// ofText returns the part of each input that belongs to one of n texts.
func ofText(lists [][]int32, text, n int) [][]int32 {
	own := make([][]int32, len(lists))
	for i := range own {
		own[i] = model.OfText(lists[i], text, n)
	}
	return own
}

// checkLongest checks that, of several texts that a model wrote, the longest has as many tokens as there is room for, and the one
// with the most written tokens as many as there are positions, where these sizes are free. So a statement has one form: a prover
// cannot pad all texts.
func (k *Key) checkLongest(inputs [][]int32, n int) error {
	t, g := k.Text(), k.Circuit.Graph
	if t == nil || !t.Generates || t.Start != nil { // a decoder's text is all of its input
		return nil
	}
	longest, most := 0, 0
	for text := range n {
		positions := model.OfText(inputs[1], text, n)
		last := positions[len(positions)-1]
		// The logits at position last choose the text's last token, which is at last + 1.
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

// validate checks that a key's text is in its limits and goes with the circuit's inputs and outputs, which are read by their place.
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

// mayGenerate says whether a circuit has the form that Generates demands: two inputs, of which the second is indexes unless
// there is a Start, and one output that has entries.
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

// areTokens says whether all ids are in [0, model.Bound), as every integer of a circuit.
func areTokens(ids []int) bool {
	return !slices.ContainsFunc(ids, func(id int) bool { return id < 0 || id >= model.Bound })
}

// increasing says whether ids are strictly increasing tokens (areTokens).
func increasing(ids []int) bool {
	for i := range ids {
		if i > 0 && ids[i] <= ids[i-1] {
			return false
		}
	}
	return areTokens(ids)
}
