package provemodel

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise"
	"github.com/prove-model/prove-model/vocabulary"
)

// Errors of Verify and ReadKey. All that mean "this is not proved" wrap
// ErrInvalid; errors that do not are those of the readers.
var (
	ErrInvalid    = verifier.ErrInvalid
	ErrOtherModel = verifier.ErrOtherModel // wrapped too when ExpectCommitment is another key's
	ErrOtherInput = statement.ErrOtherInput
)

// WeakError is in the error of Verify when the key gives less security than
// MinBits asks for.
type WeakError = verifier.WeakError

// Statement is what a valid proof says: the quantised model with the commitment
// maps the inputs to the outputs, exactly.
type Statement struct {
	Commitment Commitment
	Inputs     []Tensor           // as they were rounded
	Outputs    []Tensor           // FirstValues may leave some out
	Strength   soundness.Strength // proven bits, and what proofs of work add
	Bytes      int64              // size of the proof
	// Clamped counts the entries of the given arrays (VerifyOptions.Input) beyond the range of
	// their input: the proof is the same for all of these.
	Clamped int
	// Certified says that a certificate shows the static bounds. If
	// not, that the integers of the model never wrap rests on who issued the key.
	Certified bool
	// Saturated says how many values inside of the model were, at most, clamped to
	// what calibration met: for each look-up table that the key has clamp, with the
	// nodes that use it. It is empty if the key has none. The proof states the
	// counts; which rows of a table they are of is the key's word.
	Saturated []statement.Saturation
	// Reveals says of which outputs the greatest entries alone are stated, in their place.
	Reveals []statement.Reveal
	// Hidden are the inputs and outputs that the proof does not state: there are inputs in their ranges with which the model gives what
	// it states, and it says nothing else of them.
	Hidden []statement.Hidden
	// Masked says that the proof shows nothing of the values inside of the model, nor what Saturated would say, but
	// what follows from inputs, outputs and whatever is known of the weights: inputs and outputs are in the proof.
	Masked bool
	// HiddenFor is for how many proofs the key hides its weights: together they say nothing of them but what follows from
	// inputs, outputs, and what the key says. 0 is a key that does not hide them. Only whoever proves can count proofs,
	// and that what should be random is, is that program's word: a proof shows neither (docs/hiding.md).
	HiddenFor int
	// Generated is what a language model wrote after a prompt, if the key is for that
	// (MaxTokens): every token is the one that the logits say, by the proof or by the verifier, if it has these.
	Generated *verifier.Written
	// Segment is the place of a part of a text in the whole (ProveSegment), nil of other proofs; Generated is then what of the part the
	// model wrote, and the prompt what of it was given.
	Segment *verifier.Segment
	// Several is how many texts the proof states (ProveTexts), each along the first axis of all inputs and outputs; 0 is one, without
	// that axis. Texts are what the model wrote after each prompt, in the place of Generated.
	Several int
	Texts   []*verifier.Written
	// Text says what tokens mean, nil unless the model is one of language.
	Text *proof.Text
	// Vocabulary is the digest of what maps the strings that the model takes, or names its classes, if it does: that is outside of the
	// proof. Words is that vocabulary, if it was given (VerifyOptions): then Input was mapped with it.
	Vocabulary *[32]byte
	Words      *vocabulary.Vocabulary
	// Base is the root of the weights of the model that the key's is an adapter to, and Adapter that of all else that the key commits
	// to; nil if it is no adapter.
	Base, Adapter *Commitment
}

// VerifyOptions say what Verify accepts. The zero value, as nil, accepts any valid proof of a
// key of at least 100 bits.
type VerifyOptions struct {
	// MinBits is the least security of the weakest round, proofs of work included, that the
	// key must give: 0 is 100. Every key gives at least 1.
	MinBits int
	// ExpectCommitment, if not nil, is the commitment of the model that the caller knows: no
	// other key is accepted.
	ExpectCommitment *Commitment
	// ExpectBase, if not nil, is the root of the weights of a model that the key's must be an adapter to, and ExpectBaseKey the key of
	// that model, whose fixed tensors must be the same, one by one, under the same root.
	ExpectBase    *Commitment
	ExpectBaseKey *Key
	// Input, if not nil, is what the proof must be about, rounded as the key says.
	Input Arrays
	// ExpectInput, if not nil, is a commitment (Committed.CommitInput) to a hidden input of which the proof must be.
	ExpectInput *Commitment
	// Sampling, if not nil, is the rule by which a language model's tokens must have been drawn:
	// Verify draws them again. A proof states tokens and logits, and not how the one was chosen
	// by the other. Nil says that each token is the likeliest.
	Sampling *Sampling
	// Certificate, if not nil, is a certificate of the key (Certify). Verify checks it, and that
	// the bounds of the circuit of the proof follow from it.
	Certificate io.Reader
	// Vocabulary, if not nil, is the file of the key's vocabulary (Committed.VocabularyFile): strings of Input are mapped with it, and
	// outputs get the names that they stand for.
	Vocabulary []byte
	// From, if not nil, is for Chain: the digest of the statement (Statement.Segment) of the first proof, which is then read and
	// not verified. It covers all segments before, of which whoever gives it must know that they hold.
	From *Commitment
	// FirstValues is how many values of each output the statement gives: 0 is all. A language
	// model may have a million of them. All are verified.
	FirstValues int
}

// validate refuses what no proof could be held against.
func (o *VerifyOptions) validate() error {
	switch {
	case o.MinBits < 0:
		return fmt.Errorf("MinBits is %d: bits of security are at least 1, or 0 for the default", o.MinBits)
	case o.FirstValues < 0:
		return fmt.Errorf("FirstValues is %d: it must be at least 1, or 0 for all values", o.FirstValues)
	case o.Sampling != nil:
		return o.Sampling.Validate()
	}
	return nil
}

func (o *VerifyOptions) policy() verifier.Policy {
	return verifier.Policy{MinBits: o.MinBits, Commitment: (*[len(Commitment{})]byte)(o.ExpectCommitment), Sampling: o.Sampling}
}

// Verify checks a proof, in one pass, in time and memory that the key bounds. opts may be nil.
// Whoever relies on the result must know that the key is the model's: from its
// owner, or by its commitment (VerifyOptions), or by CheckKey. Package verifier does the
// same without a model reader in the program, also for js/wasm.
func Verify(key *Key, r io.Reader, opts *VerifyOptions) (*Statement, error) {
	opts = orDefault(opts)
	if err := opts.validate(); err != nil {
		return nil, err
	}
	result, err := opts.policy().Verify(key, r)
	if err != nil {
		return nil, invalid(err)
	}
	return opts.stated(key, result)
}

// VerifyFiles is ReadKey and Verify in one, for a key that is needed once: it takes less time.
func VerifyFiles(vk, r io.Reader, opts *VerifyOptions) (*Statement, error) {
	opts = orDefault(opts)
	if err := opts.validate(); err != nil {
		return nil, err
	}
	key, result, err := opts.policy().VerifyFiles(vk, r)
	if err != nil {
		return nil, invalid(err)
	}
	return opts.stated(key, result)
}

// stated is the statement of a proof that holds, if it is the one asked for.
func (o *VerifyOptions) stated(key *Key, result *verifier.Result) (*Statement, error) {
	n := math.MaxInt
	if o.FirstValues > 0 {
		n = o.FirstValues
	}
	var err error
	s := &Statement{
		Commitment: key.Digest, Strength: result.Strength, Bytes: result.Bytes,
		Inputs: statement.Inputs(result), Outputs: statement.FirstOutputs(result, n), Saturated: statement.Saturations(result), Reveals: statement.Reveals(result), Hidden: statement.HiddenIn(result), Masked: result.Masked, HiddenFor: key.Proofs(),
		Generated: result.Written, Segment: result.Segment, Several: result.Circuit.Texts, Texts: result.Texts, Text: key.Text(), Vocabulary: key.Vocabulary(),
	}
	if s.Words, err = o.words(key); err != nil {
		return nil, err
	}
	statement.Name(s.Outputs, s.Words)
	if err := o.state(key, s); err != nil {
		return nil, err
	}
	if o.ExpectInput != nil && !slices.ContainsFunc(result.Committed, func(c *proof.InputCommitment) bool { return c.Digest() == *o.ExpectInput }) {
		return nil, fmt.Errorf("%w: it is of no input that is committed to as %s", ErrInvalid, o.ExpectInput)
	}
	if o.Input != nil && len(s.Inputs) == 0 && len(s.Hidden) > 0 {
		return nil, fmt.Errorf("%w: %w: it hides its inputs, and does not say whether it is about these", ErrInvalid, ErrOtherInput)
	}
	if s.Vocabulary != nil && s.Words == nil && slices.ContainsFunc(o.Input, func(a onnx.Input) bool { return a.Strings != nil }) {
		return nil, fmt.Errorf("%w: %w: strings are given, and only the key's vocabulary says which numbers they become: give its file (--vocabulary)", ErrInvalid, ErrOtherInput)
	}
	if o.Input != nil {
		arrays, err := o.Input.Mapped(s.Words)
		if err == nil {
			arrays, err = arrays.For(asInputs(s.Inputs))
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w: %w", ErrInvalid, ErrOtherInput, err)
		}
		given := make([]statement.Array, len(arrays)) // by position, of shapes that fit
		for i, a := range arrays {
			given[i].Values = a.Values
		}
		if s.Clamped, err = statement.Compare(result, given); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	if o.Certificate != nil {
		if err := o.certified(key, result.Circuit); err != nil {
			return nil, err
		}
		s.Certified = true
	}
	return s, nil
}

// words is the vocabulary that is given, if it is the key's.
func (o *VerifyOptions) words(key *Key) (*vocabulary.Vocabulary, error) {
	if o.Vocabulary == nil {
		return nil, nil
	}
	return statement.Vocabulary(key, o.Vocabulary)
}

// asInputs are the inputs of a statement for arrays to be read as.
func asInputs(tensors []Tensor) []graph.Input {
	return seq.Map(tensors, func(t Tensor) graph.Input { return graph.Input{Name: t.Name, Shape: t.Shape} })
}

// invalid has an error about malformed bytes wrap ErrInvalid.
func invalid(err error) error {
	if errors.Is(err, proof.ErrMalformed) && !errors.Is(err, ErrInvalid) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return err
}

// ErrNoSource is wrapped by the error of CheckKey for a key that cannot be made
// again, because it does not say what it was made from or was made by another
// version of the quantiser: then there is no answer.
var ErrNoSource = errors.New("the key cannot be held against a model")

// CheckKeyOptions say what the model of a key is, beside its file, and how the work is done.
type CheckKeyOptions struct {
	BindInput Arrays   // as the model was opened with
	Outputs   []string // likewise
	Adapter   string   // likewise
	BaseKey   *Key     // of an adapter: the key of the model without it
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
func CheckKey(ctx context.Context, path string, key *Key, opts *CheckKeyOptions) (err error) {
	defer must.Catch(&err)
	o := orDefault(opts)
	w := newWatch(o.Observer)
	defer w.stop()
	source := key.Source
	switch {
	case key.Hides():
		return fmt.Errorf("%w: it hides weights, so it does not say what it was made from, and its commitment depends on a secret", ErrNoSource)
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
		must.OK(checkFile(path, source.Files[0]))
	}
	if key.Text() != nil && key.Text().Generates && !hf.Is(path) {
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
	must.OK(err)
	defer m.Close()
	c := must.Get(m.remake(ctx, w, key, o.BaseKey))
	return w.run(ctx, phaseCommitModel, func() error {
		roots, err := prover.Roots(ctx, key, c.quantised.Weights, prover.Options{Backend: orProcessor(o.Device).set().Backend(w.warn)})
		if err != nil {
			return err
		}
		for i, root := range roots {
			if root != key.Trees[i].Root {
				return fmt.Errorf("%w: it commits to other weights", ErrOtherModel)
			}
		}
		return nil
	})
}

// remake quantises the model as the key says. The error wraps ErrOtherModel if that does not
// give the computation of the key.
// base is the key of what the model is an adapter to, if it is one.
func (m *Model) remake(ctx context.Context, w *watch, key, base *Key) (_ *Circuit, err error) {
	defer must.Catch(&err)
	must.OK(m.hash(ctx, w))
	if !slices.Equal(m.files(), key.Source.Files) {
		return nil, fmt.Errorf("%w: it was made from other external data, or with other inputs that are part of it or other outputs", ErrOtherModel)
	}
	if !says(key, said(m.language, m.words())) {
		return nil, fmt.Errorf("%w: it was made with another tokenizer, another chat template, other tokens that end a text, or another vocabulary", ErrOtherModel)
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
	if m.base != nil {
		if base == nil {
			return nil, fmt.Errorf("%w: the key is that of an adapter: give the key of its base too", ErrNoSource)
		}
		of := must.GetAs(m.base.remake(ctx, w, base, nil))("the key of the base")
		settings.Base = of.asBase()
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
	in, g := shapes(key), key.Circuit.Graph
	opts := &OpenOptions{Input: in, BindInput: o.BindInput, Outputs: o.Outputs, Adapter: o.Adapter, Tokens: longest(key)}
	if key.Text() != nil && key.Text().Generates && len(in) == 2 {
		n := model.Size(in[1].Shape)
		if text := key.Text(); text.Start != nil && text.Decoder(g) == 0 { // a model of speech, whose key is for any number of tokens
			opts.MaxTokens, opts.Input, opts.start = 1, nil, text.Start
			return Open(path, opts)
		}
		opts.MaxTokens, opts.Input, opts.fixedWritten = n, nil, g.Tensors[g.Inputs[1]].Scales == nil
		if longest(key) == 0 {
			opts.Tokens = model.Size(in[0].Shape)
		}
	}
	return Open(path, opts)
}

// checkFile holds a file against a SHA-256.
func checkFile(path string, want [sha256.Size]byte) (err error) {
	defer must.Catch(&err)
	f := must.GetAs(os.Open(path))("model")
	defer f.Close()
	h := sha256.New()
	must.GetAs(io.Copy(h, f))("model")
	if got := h.Sum(nil); [sha256.Size]byte(got) != want {
		return fmt.Errorf("%w: it was made from a file with the SHA-256 %x, and that of %s is %x", ErrOtherModel, want, path, got)
	}
	return nil
}

// longest is the most tokens of a text, if a key is for texts of any length, else 0.
func longest(key *Key) int {
	g := key.Circuit.Graph
	if len(key.Circuit.Free) == 0 || len(g.Inputs) == 0 {
		return 0
	}
	if scales := g.Tensors[g.Inputs[0]].Scales; len(scales) != 2 || scales[0] != 0 || scales[1] != 1 {
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

// errOtherBase is wrapped, beside ErrInvalid, by the error of Verify for a key that is an adapter to another model than the one asked
// for (VerifyOptions.ExpectBase), or to none.
var errOtherBase = errors.New("the key is not that of an adapter to this model")

// state says which roots a key of an adapter has, if it is one, and whether they are those asked for.
func (o *VerifyOptions) state(key *Key, s *Statement) error {
	if roots := key.Roots(); len(roots) == 2 {
		s.Base, s.Adapter = (*Commitment)(&roots[0]), (*Commitment)(&roots[1])
	}
	switch {
	case o.ExpectBase == nil && o.ExpectBaseKey == nil:
		return nil
	case s.Base == nil:
		return fmt.Errorf("%w: %w: it is no adapter's", ErrInvalid, errOtherBase)
	case o.ExpectBase != nil && *o.ExpectBase != *s.Base:
		return fmt.Errorf("%w: %w: the root of its base is %s, not %s", ErrInvalid, errOtherBase, s.Base, o.ExpectBase)
	}
	if o.ExpectBaseKey != nil {
		return checkBase(key, o.ExpectBaseKey)
	}
	return nil
}

// checkBase checks that an adapter's key has the tensors of the base's key under the same root: each of the same shape, on the same
// scale, in the same place.
func checkBase(key, base *Key) error {
	if len(base.Trees) != 1 || base.Trees[0] != key.Trees[0] || base.Security.Hash != key.Security.Hash {
		return fmt.Errorf("%w: %w: it has another commitment to the weights of its base", ErrInvalid, errOtherBase)
	}
	g, of := key.Circuit.Graph, base.Circuit.Graph
	ids := of.FixedIDs()
	if len(ids) != len(g.Base) {
		return fmt.Errorf("%w: %w: its base has %d tensors, not %d", ErrInvalid, errOtherBase, len(g.Base), len(ids))
	}
	for i, id := range ids {
		t, own := &of.Tensors[id], &g.Tensors[g.Base[i]]
		if t.Name != own.Name || !slices.Equal(t.Shape, own.Shape) || t.Frac != own.Frac || !slices.Equal(t.Fracs, own.Fracs) {
			return fmt.Errorf("%w: %w: tensor %q of it has another shape or scale, or is not in its place", ErrInvalid, errOtherBase, t.Name)
		}
	}
	return nil
}
