package provemodel

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/families"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/arena"
)

// OpenOptions say what a model file leaves open, and which part of it is the model. With the
// zero value, or nil, the file is taken as it is. An option that has no meaning for the model
// is an error.
type OpenOptions struct {
	// Adapter is a folder with a low-rank adapter (LoRA) to a language model in the Hugging Face layout, as PEFT writes it.
	// Keys then commit to the model's weights under one root, which is the same for every adapter, and to the adapter's
	// weights under another root.
	Adapter string
	// Dims gives values to the symbolic dimensions of a model file, by name. A dimension
	// without a name is called INPUT[AXIS], such as "x[0]".
	Dims map[string]int
	// Input is an input that the model will be run on. Dimensions that Dims leaves open are
	// taken from its shapes.
	Input Arrays
	// Samples are the arrays that the model will be calibrated on. They and Input decide
	// which numbers that are not finite the model's inputs may have: those that occur in
	// them.
	Samples Arrays
	// BindInput makes inputs of an ONNX file constants of the model, by name, with these values.
	// An example is the new shape of a Reshape, which a key cannot leave open.
	BindInput Arrays
	// Outputs names the values of an ONNX file that become the model's outputs: some of the
	// file's outputs, or values inside of the model. Nodes and inputs that none of them needs are
	// left out of the model and of its keys.
	Outputs []string
	// Tokens is the greatest number of tokens of a text: a key is for all lengths up to it. 0 is
	// the model's context, or 1024 if that is less. The float model is opened for the number of
	// tokens of Input, or else for Tokens. For an ONNX model Tokens can be given if the second
	// axis of its inputs is all that it leaves open.
	Tokens int
	// LogitsAt makes a language model give logits at so many positions only, which its second
	// input lists; 0 is all positions.
	LogitsAt int
	// MaxTokens makes a language model write up to so many tokens after a prompt
	// (Circuit.Generate); they count as part of Tokens. The model then gives logits where these
	// tokens are chosen, and its key says that proofs are about generated texts. The key is the
	// same for every MaxTokens.
	MaxTokens int
	// Language is the language spoken in the audio of a speech model, as the model's files name it, such as "en": the decoder's text
	// begins with the token of that language. "" is the default of the files.
	Language string

	start        []int // tokens that begin a speech model's text, as a key has them; nil: as the files and Language say
	fixedWritten bool  // the key that is held against the model is for a fixed number of written tokens, MaxTokens
}

// Open reads a model: an ONNX file, with external data from files in the same folder; a
// folder in the Hugging Face layout, with config.json and SafeTensors; a .safetensors file
// with config.json beside it; or a .gguf file. The files are not trusted: malformed ones
// give an error. An error about nodes names all nodes that cannot be proved. The caller
// closes the model. opts may be nil.
func Open(path string, opts *OpenOptions) (_ *Model, err error) {
	defer must.Catch(&err)
	opts = orDefault(opts)
	open := openONNX
	if hf.Is(path) {
		open = openPublished
	}
	must.OKAs(opts.validate(hf.Is(path)), "model")
	return must.GetAs(open(path, opts))("model"), nil
}

// validate refuses options that have no meaning for the kind of model: published is a folder in the Hugging Face layout
// or a file of weights, else it is an ONNX file.
func (o *OpenOptions) validate(published bool) error {
	switch {
	case published && o.Outputs != nil:
		return errors.New("outputs are chosen of ONNX files only: those of a language model are its logits")
	case !published && o.Adapter != "":
		return errors.New("an ONNX file takes no adapter: give the model as a folder in the Hugging Face layout (--adapter)")
	case !published && o.Language != "":
		return errors.New("a language is for models of speech in the Hugging Face layout (--language)")
	case published && len(o.BindInput) > 0:
		return errors.New("inputs of ONNX files only can be made part of the model (--fix)")
	case !published && (o.LogitsAt != 0 || o.MaxTokens != 0):
		return errors.New("an ONNX file has the outputs that it has: models in the Hugging Face layout and GGUF files write, or give logits at some positions (--max-tokens, --logits)")
	case o.LogitsAt < 0 || o.MaxTokens < 0:
		return fmt.Errorf("logits at %d positions and %d tokens to write: neither can be negative", o.LogitsAt, o.MaxTokens)
	}
	return nil
}

func openONNX(path string, o *OpenOptions) (_ *Model, err error) {
	defer must.Catch(&err)
	options := o.Input.Options(o.Dims)
	options.Fixed, options.Outputs, options.Samples, options.Memory = o.BindInput, o.Outputs, o.Samples, arena.Bounded()
	g := must.Get(onnx.Load(path, options))
	m := newModel(path, g, o.Tokens)
	if o.Tokens != 0 && !m.open.isText() {
		m.Close()
		return nil, &onnx.InputsError{Reason: fmt.Errorf("%d tokens are asked for (--tokens), but the second axis of the inputs is not all that the file leaves open", o.Tokens)}
	}
	return m, nil
}

// defaultContext is the greatest number of tokens that keys are for if neither Tokens nor Input asks for more, in a
// model whose context is longer.
const defaultContext = 1024

// openPublished opens a folder in the Hugging Face layout, or a file of weights. With an adapter it opens the model
// without the adapter too, as the base.
func openPublished(path string, o *OpenOptions) (_ *Model, err error) {
	defer must.Catch(&err)
	var base *Model
	if o.Adapter != "" {
		alone := *o
		alone.Adapter = ""
		of := must.Get(openPublished(path, &alone))
		base = of
	}
	out, err := openAdapted(path, o)
	if err != nil && base != nil {
		base.Close()
	}
	must.OK(err)
	out.base = base
	return out, nil
}

// openAdapted opens a model, with its adapter if the options name one, and reads what its tokens mean.
func openAdapted(path string, o *OpenOptions) (_ *Model, err error) {
	defer must.Catch(&err)
	m := must.Get(hf.OpenAdapted(path, o.Adapter))
	g, most, err := o.graphOf(m)
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := newModel(path, g, most)
	if out.refuse = m.Refuse; m.Refuse != nil && m.Fixed {
		tokens := g.Inputs[0].Shape[1]
		out.refuse = func(texts []float64) error { return refused(m.Refuse, texts, tokens) }
	}
	if m.Context > 0 && !m.Pairs {
		text, err := hf.TextOf(path, m.Vocabulary)
		if err != nil {
			m.Close()
			return nil, err
		}
		if text.Generates = o.MaxTokens > 0; m.Speech == nil || text.Generates {
			text.Start = m.Start
		}
		if m.Speech != nil && text.Generates {
			text.Suppressed, text.First, out.listens = m.Speech.Suppressed, m.Speech.First, *m.Speech
		}
		// A second input (len(g.Inputs) == 2) names the positions of the logits. A key with a text says that these are the last positions.
		if text.Generates || text.HasTokenizer() || len(text.Ends) > 0 || len(g.Inputs) == 2 {
			out.language = text
		}
	}
	return out, nil
}

// graphOf builds the graph that the options ask for. most is the greatest number of
// tokens that keys are for, 0 for a model of images.
func (o *OpenOptions) graphOf(m *hf.Model) (g *graph.Graph, most int, err error) {
	defer must.Catch(&err)
	tokens, most, err := o.tokensOf(m)
	must.OK(err)
	at := must.Get(o.logitsAt(m, tokens))
	if m.Speech != nil && o.MaxTokens > 0 {
		g, err = o.listening(m, most)
		return g, most, err
	}
	if o.Language != "" {
		return nil, 0, errors.New("a language is for models of speech that write (--language, --max-tokens)")
	}
	if m.Start != nil && m.Speech == nil {
		if o.MaxTokens == 0 {
			return nil, 0, errors.New("the model is an encoder–decoder, which writes: say how many tokens at most with --max-tokens")
		}
		g, err = m.Writing(tokens, len(m.Start)-1+o.MaxTokens)
		return g, most, err
	}
	if o.MaxTokens > 0 {
		if !m.Next {
			return nil, 0, errors.New("--max-tokens: the model is no language model that writes: it does not give the logits of next tokens")
		}
		if len(o.Input) > 0 {
			tokens += o.MaxTokens
		}
		if tokens > most || tokens <= o.MaxTokens {
			return nil, 0, fmt.Errorf("%d tokens and %d more are %d: the key is for up to %d (--tokens), and the model takes %d", tokens-o.MaxTokens, o.MaxTokens, tokens, most, m.Context)
		}
		at = o.MaxTokens
	}
	if o.MaxTokens > 0 && !o.fixedWritten {
		g, err = m.Writing(tokens, at)
	} else {
		g, err = m.Graph(tokens, at)
	}
	return g, most, err
}

// logitsAt returns at how many positions there are logits, or how many pairs of texts there are for a model of pairs; 0
// if neither the options nor the input say so.
func (o *OpenOptions) logitsAt(m *hf.Model, tokens int) (int, error) {
	at := o.LogitsAt
	if at != 0 && (m.Context == 0 || o.MaxTokens > 0) {
		return 0, errors.New("LogitsAt is for language models that write nothing: MaxTokens says itself where logits are")
	}
	if len(o.Input) == 2 && o.Input[1].Name == families.Positions {
		n := model.Size(o.Input[1].Shape)
		if at != 0 && at != n {
			return 0, fmt.Errorf("the input has %d positions, and LogitsAt is %d", n, at)
		}
		at = n
	}
	if m.Pairs && len(o.Input) > 0 && tokens > 0 {
		ids := o.tokenIDs()
		at = max(len(ids.Values), graph.Size(ids.Shape)) / tokens
	}
	return at, nil
}

// listening builds the graph of a speech model that writes. Its decoder reads at most `most` tokens.
func (o *OpenOptions) listening(m *hf.Model, most int) (*graph.Graph, error) {
	var err error
	if o.start != nil {
		err = m.TranscribeAs(o.start)
	} else {
		err = m.Transcribe(o.Language)
	}
	if err != nil {
		return nil, err
	}
	tokens := len(m.Start) - 1 + o.MaxTokens
	if tokens > most {
		return nil, fmt.Errorf("the decoder begins with %d tokens, and writes up to %d: the key is for up to %d in all (--tokens), and the model takes %d",
			len(m.Start), o.MaxTokens, most, m.Context)
	}
	return m.Listening(tokens)
}

// tokenIDs returns the array of token ids of Input: the one with a known name, or else the first.
func (o *OpenOptions) tokenIDs() onnx.Input {
	for _, name := range []string{families.IDs, families.Answer} {
		for _, a := range o.Input {
			if a.Name == name {
				return a
			}
		}
	}
	return o.Input[0]
}

// refused cuts texts into texts of so many tokens, calls refuse for each unless it is nil, and returns the first error.
func refused(refuse func([]float64) error, texts []float64, tokens int) error {
	if refuse == nil || tokens < 1 {
		return nil
	}
	for at := 0; at+tokens <= len(texts); at += tokens {
		if err := refuse(texts[at : at+tokens]); err != nil {
			return err
		}
	}
	return nil
}

// tokensOf returns for how many tokens the float model is opened, and the greatest
// number that keys are for. The number may be given as Tokens, as a value of Dims, or
// by the length of Input.
func (o *OpenOptions) tokensOf(m *hf.Model) (tokens, most int, err error) {
	defer must.Catch(&err)
	said := o.Tokens
	for name, n := range o.Dims {
		if name != families.Tokens || m.Context == 0 {
			return 0, 0, fmt.Errorf("--dim %s: the model's inputs have no such dimension", name)
		}
		if said != 0 && said != n {
			return 0, 0, fmt.Errorf("--dim %s=%d and %d tokens contradict each other", name, n, said)
		}
		said = n
	}
	if m.Context == 0 {
		if said != 0 {
			return 0, 0, errors.New("tokens: the model takes images")
		}
		return 0, 0, nil
	}
	input := must.Get(o.inputTokens(m))
	if most = said; said == 0 {
		most = min(m.Context, max(defaultContext, input))
	}
	switch {
	case most < 1 || most > m.Context:
		return 0, 0, fmt.Errorf("%d tokens: the model takes 1 to %d", most, m.Context)
	case input > most:
		return 0, 0, fmt.Errorf("the input has %d tokens, and at most %d are asked for (--tokens)", input, most)
	case input > 0:
		return input, most, nil
	// A key is made, and no text is given: the key is for all lengths.
	case said == 0 && o.MaxTokens > 0:
		return most, most, nil
	case said == 0:
		return 0, 0, fmt.Errorf("the model takes any number of tokens up to %d: give an input, or their number with --tokens N", m.Context)
	}
	return said, most, nil
}

// inputTokens returns how many tokens the input has, or each of its texts for a model of pairs; 0 if no input is given.
func (o *OpenOptions) inputTokens(m *hf.Model) (int, error) {
	if len(o.Input) == 0 {
		return 0, nil
	}
	first := o.tokenIDs()
	ids := first.Values
	for i, id := range ids {
		if id < 0 || id >= float64(m.Vocabulary) || id != math.Trunc(id) {
			return 0, fmt.Errorf("token %d is %s: the model's tokens are 0 to %d", i+1, strconv.FormatFloat(id, 'f', -1, 64), m.Vocabulary-1)
		}
	}
	n := len(ids)
	if n == 0 { // the array has a shape and no values
		n = graph.Size(first.Shape)
	}
	if shape := first.Shape; m.Pairs && len(shape) > 1 { // each row is a text
		n = shape[len(shape)-1]
	}
	return n, refused(m.Refuse, ids, n)
}
