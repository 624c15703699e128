package provemodel

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/onnx"
)

// OpenOptions say what a model file leaves open, and which of it is the model. The zero value,
// as nil, takes the file as it is. What a model has no use for is refused.
type OpenOptions struct {
	// Dims gives values to the symbolic dimensions of a model file, by name. A dimension
	// without a name is called INPUT[AXIS], as in "x[0]".
	Dims map[string]int
	// Input is what the model will be run on: dimensions that Dims leave open are taken from
	// its shapes.
	Input Arrays
	// Samples are what the model will be calibrated on: their numbers that are not finite are
	// what its inputs may have, beside those of Input.
	Samples Arrays
	// BindInput makes inputs of an ONNX file, by name, part of the model, with these values: such
	// as the new shape of a Reshape, which a key cannot leave open.
	BindInput Arrays
	// Outputs has the named values of an ONNX file be its outputs: some of its own, or values on
	// the way to them. What nothing needs then, inputs too, is not in the model, nor in its keys.
	Outputs []string
	// Tokens is the most tokens that a text of a language model may have: a key is for all
	// lengths up to it. 0 is the model's context, or 1024 if that is less. The float model is
	// opened for the tokens that Input gives, or else for so many. An ONNX model takes it if the
	// second axis of its inputs is all that it leaves open.
	Tokens int
	// LogitsAt has a language model give logits at so many positions alone, which are its second
	// input; 0 is all.
	LogitsAt int
	// MaxTokens has a language model write up to so many tokens after a prompt (Circuit.Write):
	// they count among those of Tokens. It gives logits where they are chosen, and its key says
	// that proofs are of such texts.
	MaxTokens int
}

// Open reads a model: an ONNX file, with external data from files of the same
// folder; a folder in the Hugging Face layout, with config.json and SafeTensors; a
// .safetensors file with config.json beside it; or a .gguf file. opts may be nil. Nothing in
// the files is trusted. An error about nodes names all of them. The caller closes the model.
func Open(path string, opts *OpenOptions) (*Model, error) {
	if opts == nil {
		opts = &OpenOptions{}
	}
	open := openONNX
	if hf.Is(path) {
		open = openPublished
	}
	if err := opts.validate(hf.Is(path)); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	m, err := open(path, opts)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return m, nil
}

// validate refuses options that a kind of model has no use for.
func (o *OpenOptions) validate(published bool) error {
	switch {
	case published && o.Outputs != nil:
		return errors.New("outputs are chosen of ONNX files only: those of a language model are its logits")
	case published && len(o.BindInput) > 0:
		return errors.New("inputs of ONNX files only can be made part of the model (--fix)")
	case !published && (o.LogitsAt != 0 || o.MaxTokens != 0):
		return errors.New("an ONNX file has the outputs that it has: models in the Hugging Face layout and GGUF files write, or give logits at some positions (--max-tokens, --logits)")
	case o.LogitsAt < 0 || o.MaxTokens < 0:
		return fmt.Errorf("logits at %d positions and %d tokens to write: neither can be negative", o.LogitsAt, o.MaxTokens)
	}
	return nil
}

func openONNX(path string, o *OpenOptions) (*Model, error) {
	options := o.Input.Options(o.Dims)
	options.Fixed, options.Outputs, options.Samples, options.Memory = o.BindInput, o.Outputs, o.Samples, MemoryLimit()
	g, err := onnx.Load(path, options)
	if err != nil {
		return nil, err
	}
	m := newModel(path, g, o.Tokens)
	if o.Tokens != 0 && !m.open.isText() {
		m.Close()
		return nil, &onnx.InputsError{Reason: fmt.Errorf("%d tokens are asked for (--tokens), but the second axis of the inputs is not all that the file leaves open", o.Tokens)}
	}
	return m, nil
}
