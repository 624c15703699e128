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

// Errors of Verify and ReadKey. Every error that means "this is not proved" wraps
// ErrInvalid; other errors come from the readers or are about options.
var (
	ErrInvalid    = verifier.ErrInvalid
	ErrOtherModel = verifier.ErrOtherModel  // the key is not that of ExpectCommitment, or not that of the model (CheckKey)
	ErrOtherInput = statement.ErrOtherInput // the proof is about another input than VerifyOptions.Input
)

// WeakError is in the error of Verify if the key gives fewer bits of security than
// MinBits asks for.
type WeakError = verifier.WeakError

// Statement is what a valid proof says: the quantised model that the commitment stands
// for maps exactly these inputs to these outputs.
type Statement struct {
	Commitment Commitment
	Inputs     []Tensor           // after rounding to the model's integers
	Outputs    []Tensor           // VerifyOptions.FirstValues may shorten them
	Strength   soundness.Strength // bits of security: proven ones, and those that proofs of work add
	Bytes      int64              // size of the proof
	// Clamped counts the entries of VerifyOptions.Input that are out of the range of their
	// input. They were compared after clamping, so the proof is the same for all values beyond
	// the bound.
	Clamped int
	// Certified says that a certificate shows the static bounds. If it is false, the
	// verifier trusts the issuer of the key that integers of the model never wrap around.
	Certified bool
	// Saturated says how many values inside of the model were, at most, clamped to the
	// range that calibration met: one entry for each look-up table that the key marks as
	// clamping, with the nodes that use it. It is empty if the key marks none. The proof
	// states how often certain rows of the table were used; that these are the rows that
	// clamp is what the key says.
	Saturated []statement.Saturation
	// Reveals lists the outputs in whose place the proof states only which entries are the greatest (ProveOptions.Reveal).
	Reveals []statement.Reveal
	// Hidden lists the inputs and outputs that the proof does not state. The proof says that there are inputs in their ranges for which
	// the model gives the stated values, and nothing else about them.
	Hidden []statement.Hidden
	// Masked says that the proof is masked: it shows nothing about values inside of the model, and no counts for
	// Saturated, except what follows from the stated inputs and outputs and from what is known about the weights.
	Masked bool
	// HiddenFor is the number of proofs for which the key hides its weights: that many proofs together say nothing about
	// the weights except what follows from inputs, outputs, and what the key says. 0 is a key that does not hide them. A
	// proof shows neither how many proofs were made nor that its randomness is random: for both the verifier relies on
	// the prover's program (docs/hiding.md).
	HiddenFor int
	// Generated is what a language model wrote after a prompt, if the key is for generated texts (MaxTokens).
	// Every token follows from the logits. The proof shows that, or the verifier checks it if the proof states
	// the logits.
	Generated *verifier.Written
	// Segment is the place of a segment in a longer text (ProveSegment); nil for other proofs. Generated then covers the segment alone:
	// its Prompt has the tokens of the segment that were given, and its Tokens those that the model wrote.
	Segment *verifier.Segment
	// Several is the number of texts of a proof of several texts (ProveTexts), which are the first axis of all inputs and outputs; 0
	// is a proof of a single text, without that axis. Texts replaces Generated then, with an element for each text.
	Several int
	Texts   []*verifier.Written
	// Text says what tokens mean; nil unless the model is a language model.
	Text *proof.Text
	// Vocabulary is the digest of the vocabulary that maps the strings which the model takes to numbers, or names its classes; nil if
	// the model has no strings. The mapping is not part of the proof. Words is that vocabulary if VerifyOptions.Vocabulary had it;
	// VerifyOptions.Input was then mapped with it.
	Vocabulary *[32]byte
	Words      *vocabulary.Vocabulary
	// Base is the root of the weights of the model that the key's model is an adapter to, and Adapter the root of everything else
	// that the key commits to; nil if the model is no adapter.
	Base, Adapter *Commitment
}

// VerifyOptions say what Verify accepts. The zero value and nil accept any valid proof under
// a key of at least 100 bits of security.
type VerifyOptions struct {
	// MinBits is the least security of the weakest round, in bits and including the proof
	// of work, that the key must give: 0 is 100. Every key gives at least 1.
	MinBits int
	// ExpectCommitment, if not nil, is the commitment of the model that the caller means: no
	// other key is accepted.
	ExpectCommitment *Commitment
	// ExpectBase, if not nil, is the root of the weights of the model that the key's model must be an adapter to. ExpectBaseKey, if
	// not nil, is the key of that model: its weights must be the same tensors, one by one, under the same root.
	ExpectBase    *Commitment
	ExpectBaseKey *Key
	// Input, if not nil, is the input that the proof must be about, after rounding as the key says.
	Input Arrays
	// ExpectInput, if not nil, is a commitment to an input (Committed.CommitInput): the proof must hide an input and show
	// this commitment to it. ExpectInputOf is the name of that input; "" is any.
	ExpectInput   *Commitment
	ExpectInputOf string
	// Sampling, if not nil, is the rule by which a language model's tokens must have been drawn.
	// A proof states tokens and logits, but not that the tokens were drawn from the logits by a
	// rule: Verify draws them again. If Sampling is nil, each token must be the likeliest.
	Sampling *Sampling
	// Certificate, if not nil, is a certificate of the key (Certify). Verify checks it, and
	// checks that with it the static bounds hold for the proof's circuit.
	Certificate io.Reader
	// Vocabulary, if not nil, is the file of the key's vocabulary (Committed.VocabularyFile). Strings of Input are mapped to numbers
	// with it, and numbers of outputs get the names that they stand for.
	Vocabulary []byte
	// From, if not nil, is for Chain: the digest of the first proof's statement (Statement.Segment). That proof is read but not
	// verified. The digest covers all segments up to that one, so the caller must know that they are proved.
	From *Commitment
	// FirstValues limits how many values of each output the statement has: 0 is all. The
	// logits of a language model may be a million values. Verify checks all of them in any
	// case.
	FirstValues int
}

// validate refuses options with which no proof could be accepted.
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

// Verify checks a proof. It reads the proof once, and the key bounds the time and memory that
// it takes. Whoever relies on the result must know that the key is the model's: from its
// owner, or by its commitment (ExpectCommitment), or by CheckKey. Package verifier does the
// same without linking a model reader into the program, also for js/wasm. opts may be nil.
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

// VerifyFiles does the work of ReadKey and Verify in less time, for a key that is used once.
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

// stated returns the statement of a valid proof, or an error if it is not a statement that the options accept.
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
	if o.ExpectInput != nil && !o.expectsInput(key, result) {
		of := ""
		if o.ExpectInputOf != "" {
			of = fmt.Sprintf(" %q", o.ExpectInputOf)
		}
		return nil, fmt.Errorf("%w: it is of no input%s that is committed to as %s", ErrInvalid, of, o.ExpectInput)
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

// expectsInput says whether the proof names the commitment that the options expect, for an input of the name that they expect.
func (o *VerifyOptions) expectsInput(key *Key, result *verifier.Result) bool {
	g := key.Circuit.Graph
	for i, c := range result.Committed {
		name := g.Tensors[g.Inputs[result.CommittedInputs[i]]].Name
		if c.Digest() == *o.ExpectInput && (o.ExpectInputOf == "" || o.ExpectInputOf == name) {
			return true
		}
	}
	return false
}

// words decodes the vocabulary of the options, and checks that it has the digest that the key holds; nil if the options
// have none.
func (o *VerifyOptions) words(key *Key) (*vocabulary.Vocabulary, error) {
	if o.Vocabulary == nil {
		return nil, nil
	}
	return statement.Vocabulary(key, o.Vocabulary)
}

// asInputs returns the inputs of a statement in the form that arrays are matched with.
func asInputs(tensors []Tensor) []graph.Input {
	return seq.Map(tensors, func(t Tensor) graph.Input { return graph.Input{Name: t.Name, Shape: t.Shape} })
}

// invalid makes an error about malformed bytes wrap ErrInvalid.
func invalid(err error) error {
	if errors.Is(err, proof.ErrMalformed) && !errors.Is(err, ErrInvalid) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return err
}

// ErrNoSource is wrapped by the error of CheckKey for a key that cannot be made again
// from the model, because the key does not say what it was made from, or was made by
// another version of the quantiser. CheckKey then says neither yes nor no.
var ErrNoSource = errors.New("the key cannot be held against a model")

// CheckKeyOptions say how the key's model was opened, and how CheckKey works.
type CheckKeyOptions struct {
	BindInput Arrays   // as in OpenOptions when the key was made
	Outputs   []string // likewise
	Adapter   string   // likewise
	BaseKey   *Key     // for an adapter: the key of the model without it
	Device    *Device  // nil: the processor
	Observer  Observer // is told how the work goes, unless nil
}

// CheckKey finds out whether a key is that of the model in the given file or folder. It
// quantises the model again with the ranges and options that the key records, commits
// to the weights, and compares the whole key. It takes nothing from the cache. A nil
// error means yes. An error that wraps ErrOtherModel means no, and gives the reason;
// any other error means that there is no answer. opts may be nil.
//
// Whoever made the key chose its ranges and options. They decide how close the circuit
// is to the float model (Compare), and nothing else.
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

// remake quantises the model as the key says. The error wraps ErrOtherModel if the result is
// not the key's circuit. base is the key of the model that m is an adapter to; nil if m is
// no adapter.
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
	// This compares the whole key except for the root and the parameters of the opening.
	// The root is compared by CheckKey. The parameters are free to choose, and every
	// verifier checks them.
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

// checkFile checks that a file has the given SHA-256.
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

// longest returns the greatest length of the texts that a key is for, in tokens; 0 if the key is not for texts of any
// length.
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

// shapes returns arrays without values that have the shapes of a key's inputs. They fix
// the dimensions that a model file leaves open. Free dimensions have size 1.
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

// errOtherBase is wrapped, together with ErrInvalid, by the error of Verify for a key whose model is an adapter to another model than
// ExpectBase or ExpectBaseKey says, or is no adapter.
var errOtherBase = errors.New("the key is not that of an adapter to this model")

// state puts into the statement the two roots of an adapter's key, and checks that the base is the one that the options
// expect.
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

// checkBase checks that an adapter's key commits to the base's weights as the base's key does: under the same root, with the same
// name, shape, scale and place of every tensor.
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
