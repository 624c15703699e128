package provemodel

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/quantise"
)

// ErrNoSource is wrapped by the error of CheckKey for a key that cannot be made
// again, because it does not say what it was made from or was made by another
// version of the quantiser: then there is no answer.
var ErrNoSource = errors.New("the key cannot be held against a model")

// CheckKeyOptions say what the model of a key is, beside its file, and how the work is done.
type CheckKeyOptions struct {
	BindInput Arrays   // as the model was opened with
	Outputs   []string // likewise
	Device    *Device  // nil: the processor
	Observer  Observer // is told how the work goes, unless nil
}

// CheckKey finds out whether a key is that of the model file at the given path:
// it quantises the model again with the ranges and options that the key records,
// commits to the weights, and compares the whole key. Nothing is taken from the
// cache. An error that wraps ErrOtherModel says no, with the reason, and any
// other that there is no answer. opts may be nil.
//
// Ranges and options are the choice of whoever made the key. They decide how
// close to the float model the circuit is (Compare), and nothing else.
func CheckKey(ctx context.Context, path string, key *Key, opts *CheckKeyOptions) error {
	o := orDefault(opts)
	w := newWatch(o.Observer)
	defer w.stop()
	source := key.Source
	switch {
	case source == nil:
		return fmt.Errorf("%w: it does not say what it was made from", ErrNoSource)
	case source.Quantiser != quantise.Version:
		return fmt.Errorf("%w: version %d of the quantiser made it, and this program has version %d", ErrNoSource, source.Quantiser, quantise.Version)
	}
	if _, err := key.Plan(key.Circuit.Unit()); err != nil {
		return fmt.Errorf("%w: it is not valid: %w", ErrOtherModel, err)
	}
	// Before the model is read, so that another file is told from one that cannot be read.
	if !isFolder(path) {
		if err := checkFile(path, source.Files[0]); err != nil {
			return err
		}
	}
	if key.Text != nil && key.Text.Generates && !hf.Is(path) {
		return fmt.Errorf("%w: it is for a model that writes, and an ONNX file does not", ErrOtherModel)
	}
	m, err := openFor(path, key, o)
	if err != nil && isFolder(path) {
		if h, broken := hf.Open(path); broken == nil {
			h.Close()
			return fmt.Errorf("%w: the model cannot be opened as it says: %w", ErrOtherModel, err)
		}
	}
	if other := new(onnx.InputsError); errors.As(err, &other) {
		return fmt.Errorf("%w: it has other inputs: %w", ErrOtherModel, err)
	}
	if err != nil {
		return err
	}
	defer m.Close()
	c, err := m.remake(ctx, w, key)
	if err != nil {
		return err
	}
	return w.run(ctx, phaseCommitModel, func() error {
		root, err := prover.Root(ctx, key, c.quantised.Weights, prover.Options{Backend: orProcessor(o.Device).set().Backend(w.warn)})
		if err != nil {
			return err
		}
		if root != key.Root {
			return fmt.Errorf("%w: it commits to other weights", ErrOtherModel)
		}
		return nil
	})
}

// remake quantises the model as the key says. The error wraps ErrOtherModel if that does not
// give the computation of the key.
func (m *Model) remake(ctx context.Context, w *watch, key *Key) (*Circuit, error) {
	if err := m.hash(ctx, w); err != nil {
		return nil, err
	}
	if !slices.Equal(m.files(), key.Source.Files) {
		return nil, fmt.Errorf("%w: it was made from other external data, or with other inputs that are part of it or other outputs", ErrOtherModel)
	}
	if !key.Text.Equal(m.language) {
		return nil, fmt.Errorf("%w: it was made with another tokenizer, or other tokens that end a text", ErrOtherModel)
	}
	r, err := m.ranges(key.Source.Ranges, len(key.Circuit.Free) > 0)
	if err != nil {
		return nil, fmt.Errorf("%w: its ranges are not the model's: %w", ErrOtherModel, err)
	}
	settings := settingsOf(key.Source)
	settings.Length = longest(key)
	if settings.Formats, err = m.formats(key.Source.Formats, len(key.Circuit.Free) > 0); err != nil {
		return nil, fmt.Errorf("%w: its formats are not the model's: %w", ErrOtherModel, err)
	}
	c, err := m.quantise(ctx, w, r, settings)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the model cannot be quantised as it says: %w", ErrOtherModel, err)
	}
	// All but the root and the parameters of the opening, which are the key's to
	// choose and checked by every verifier.
	if !key.Holds(c.quantised.Circuit) || !key.Source.Equal(c.source) {
		return nil, fmt.Errorf("%w: quantising the model as it says gives another computation", ErrOtherModel)
	}
	return c, nil
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// openFor opens the model in the shapes that a key is for.
func openFor(path string, key *Key, o *CheckKeyOptions) (*Model, error) {
	in := shapes(key)
	opts := &OpenOptions{Input: in, BindInput: o.BindInput, Outputs: o.Outputs, Tokens: longest(key)}
	if key.Text != nil && key.Text.Generates && len(in) == 2 {
		n := model.Size(in[1].Shape)
		opts.MaxTokens, opts.Input = n, nil
		if longest(key) == 0 {
			opts.Tokens = model.Size(in[0].Shape)
		}
	}
	return Open(path, opts)
}

// checkFile holds a file against a SHA-256.
func checkFile(path string, want [sha256.Size]byte) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	if got := h.Sum(nil); [sha256.Size]byte(got) != want {
		return fmt.Errorf("%w: it was made from a file with the SHA-256 %x, and that of %s is %x", ErrOtherModel, want, path, got)
	}
	return nil
}

// longest is the most tokens of a text, if a key is for texts of any length, else 0.
func longest(key *Key) int {
	g := key.Circuit.Graph
	if len(key.Circuit.Free) != 1 || len(g.Inputs) == 0 {
		return 0
	}
	if scales := g.Tensors[g.Inputs[0]].Scales; len(scales) != 2 || scales[0] != 0 {
		return 0
	}
	return key.Circuit.Free[0].Bound
}

// shapes are arrays without values in the shapes of a key's inputs, which the
// model file may leave open; free dimensions have size 1.
func shapes(key *Key) Arrays {
	g := key.Circuit.Graph
	arrays := make(Arrays, len(g.Inputs))
	for i, id := range g.Inputs {
		t := &g.Tensors[id]
		arrays[i].Name, arrays[i].Shape, arrays[i].Numbers = t.Name, t.Shape, graph.Numbers(t.Numbers)
		if t.Shape == nil {
			arrays[i].Shape = []int{}
		}
	}
	return arrays
}
