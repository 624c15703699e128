package job

import (
	"fmt"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/corpus"
	"github.com/prove-model/prove-model/hf/families"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/must"
)

// Limits of the bundled texts that a model is calibrated on. The number of pieces and
// of tokens in each are chosen so that running the float model on them takes about
// textWork products, but at least one piece of leastPiece tokens.
const (
	textWork   = 1 << 36
	leastPiece = 64
	mostPiece  = 128
	mostPieces = 9
)

// setTexts sets the bundled texts as the samples of a language model or an encoder, so
// that the key does not depend on the prompt. done is false for other models and for
// those without a tokenizer.
func (j *Job) setTexts(cfg *config.Config) (done bool, err error) {
	defer must.Catch(&err)
	if !hf.Is(cfg.Model) || j.Model.MostTokens() == 0 {
		return false, nil
	}
	g := j.Model.Graph()
	bound := g.Rows(g.Inputs[0].Name) // number of rows of the embedding
	from := TokenizerOf(cfg.Model)
	t := j.tokenizer()
	if t == nil {
		if t, err = tokenizer.Open(from); err != nil {
			return false, nil
		}
	}
	c, err := chat.Open(from)
	if err != nil {
		c = nil
	}
	pieces, most := piecesFor(j.Model.Parameters())
	texts := must.GetAs(corpus.Tokens(t, c, pieces, min(most, j.Model.MostTokens()), bound))("calibration on the bundled text: tokenizer")
	if len(texts) == 0 {
		return false, nil
	}
	j.Samples = must.GetAs(j.Model.TextSamples(texts))("calibration on the bundled text")
	n := 0
	for _, t := range texts {
		n += len(t)
	}
	j.SamplesFrom, j.Calibrated = fmt.Sprintf("the bundled text, %d tokens in %d pieces", n, len(texts)), true
	return true, nil
}

// Predicts says whether the model's output are logits of next tokens, one row for each position.
func (j *Job) Predicts() bool {
	out := j.Model.Outputs()
	return j.Model.MostTokens() > 0 && len(out) == 1 && out[0].Name == families.Logits && len(out[0].Shape) == 3
}

// piecesFor returns how many pieces, of how many tokens each, a model with so many parameters is calibrated on.
func piecesFor(parameters int) (pieces, tokens int) {
	n := textWork / max(parameters, 1)
	tokens = min(max(n, leastPiece), mostPiece)
	return min(max(n/tokens, 1), mostPieces), tokens
}

// tokenizer returns the prompt's tokenizer, nil if there is none.
func (j *Job) tokenizer() *tokenizer.Tokenizer {
	if j.prompt == nil {
		return nil
	}
	return j.prompt.Tokenizer
}

// repeated returns n tokens, those of the prompt over and over. They stand for text
// that the model has not written yet.
func repeated(prompt []int, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = prompt[i%len(prompt)]
	}
	return out
}
