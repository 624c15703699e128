package provemodel

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/internal/hiding"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/certify"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cache"
	"github.com/prove-model/prove-model/prover/machine/ledger"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/vocabulary"
)

// Key is a verification key: the quantised model without its weights, and a
// commitment to these. Its digest stands for the model.
type Key = proof.Key

// Commitment is the digest of a key, which stands for the model with its
// weights. Publish it, and compare it whole. What a key of an adapter
// (OpenOptions.Adapter) says of the weights of its base, the same for all
// adapters and in the base's own key, and of the adapter's are such digests too:
// the roots of two trees.
type Commitment [32]byte

// String returns the commitment in hexadecimal.
func (c Commitment) String() string { return hex.EncodeToString(c[:]) }

// ParseCommitment is the inverse of Commitment.String.
func ParseCommitment(s string) (Commitment, error) {
	var c Commitment
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(c) {
		return c, fmt.Errorf("commitment %q: want %d hexadecimal digits", s, 2*len(c))
	}
	copy(c[:], b)
	return c, nil
}

// ReadKey reads a key file. The error wraps ErrInvalid if it is not one.
func ReadKey(r io.Reader) (*Key, error) {
	key, err := proof.ReadKey(r, proof.MaxKeySize)
	return key, invalid(err)
}

// Committed is a circuit with its key, ready to prove any number of runs, also
// of several goroutines at once.
type Committed struct {
	circuit *Circuit
	key     *Key
	file    []byte
	trees   prover.Trees // of the weights: that of the base first, if there is one
	cached  bool
	hiding  *hiding.Key // nil unless the key hides weights
}

// Circuit returns the circuit.
func (c *Committed) Circuit() *Circuit { return c.circuit }

// Key returns the key, which must not be changed.
func (c *Committed) Key() *Key { return c.key }

// KeyFile returns the key as verifiers read it (ReadKey). It must not be
// changed.
func (c *Committed) KeyFile() []byte { return c.file }

// Commitment returns the digest of the key.
func (c *Committed) Commitment() Commitment { return c.key.Digest }

// Cached says that the commitment is that of an earlier run.
func (c *Committed) Cached() bool { return c.cached }

// CommitOptions say how secure the proofs of a key are, and how the work is done. The zero value, as nil, is 100 bits by unique
// decoding, on the processor, without a cache.
type CommitOptions struct {
	Observer Observer // is told how the work goes, unless nil
	Device   *Device  // nil: the processor
	// CacheDir is a folder (UserCacheDir) from which a commitment that was made before is taken, and in which a new one is kept;
	// "" is none. One that cannot be used is warned about.
	CacheDir string
	// SecurityBits is the least security of every round of a proof in bits, proofs of work included: 1 to 120; 0 is 100.
	SecurityBits int
	// GrindBits is the largest proof of work of a round: 1 to 24, or -1 for none; 0 is 16.
	GrindBits int
	// Soundness is the bound that query counts come from: "unique" decoding, as "" is, or "johnson" for shorter proofs.
	Soundness string
	// Hash is what keys and proofs are hashed with: "blake3", as "" is, or "poseidon2", which takes ten times as long.
	Hash string
	// Hide says what the key hides: "weights", or "" for nothing. All proofs of a key that hides weights together
	// say nothing of them but what follows from inputs, outputs and what is public of the circuit, and nothing at all of
	// the values inside of the model. The circuit must be quantised for that (QuantiseOptions.Hide). See docs/hiding.md.
	Hide string
	// SecretFile is the file of the secret of a key that hides weights. Where there is none it is made, readable by its owner
	// alone; else the key is the one that it was made for. Proofs take it, and count in it what they have opened: it must be
	// kept where it is, and be shown to nobody.
	SecretFile string
	// Proofs is for how many proofs a new key that hides weights is good; 0 is 50. More make proofs dearer.
	Proofs int
}

// security is what the options ask of proofs.
func (o *CommitOptions) security() (proof.Security, error) {
	sec := proof.DefaultSecurity
	switch {
	case o.SecurityBits < 0 || o.SecurityBits > 120:
		return sec, fmt.Errorf("SecurityBits is %d: want 1 to 120, or 0 for %d", o.SecurityBits, sec.TargetBits)
	case o.GrindBits < -1 || o.GrindBits > 24:
		return sec, fmt.Errorf("GrindBits is %d: want 1 to 24, -1 for none, or 0 for %d", o.GrindBits, sec.GrindBits)
	}
	if o.SecurityBits > 0 {
		sec.TargetBits = o.SecurityBits
	}
	switch {
	case o.GrindBits == -1:
		sec.GrindBits = 0
	case o.GrindBits > 0:
		sec.GrindBits = o.GrindBits
	}
	var err error
	if o.Soundness != "" {
		if sec.Mode, err = proof.ParseMode(o.Soundness); err != nil {
			return sec, err
		}
	}
	if o.Hash != "" {
		sec.Hash, err = hash.Parse(o.Hash)
	}
	return sec, err
}

// checkHiding refuses options that go together with no key that hides weights, or with those alone.
func (o *CommitOptions) checkHiding() error {
	switch {
	case o.Hide == "" && (o.SecretFile != "" || o.Proofs != 0):
		return errors.New("options SecretFile and Proofs are of keys that hide weights, and Hide is empty")
	case o.Hide == "":
		return nil
	case o.Hide != hiding.Weights:
		return fmt.Errorf("option Hide is %q: want %q, or nothing", o.Hide, hiding.Weights)
	case o.SecretFile == "":
		return errors.New("a key that hides weights has a secret: option SecretFile says in which file")
	case o.Proofs < 0:
		return fmt.Errorf("option Proofs is %d: want 1 or more, or 0 for 50", o.Proofs)
	}
	return nil
}

// Commit commits to a circuit's weights and makes its key. opts may be nil.
func Commit(ctx context.Context, c *Circuit, opts *CommitOptions) (_ *Committed, err error) {
	defer must.Catch(&err)
	o := orDefault(opts)
	sec := must.Get(o.security())
	must.OK(o.checkHiding())
	w := newWatch(o.Observer)
	defer w.stop()
	if o.Hide != "" {
		return c.commitHiding(ctx, o, sec, w)
	}
	dev := orProcessor(o.Device)
	base := must.Get(c.commitBase(ctx, o))
	entry := entryOf(o.CacheDir, w, c.commitmentID(sec))
	if known := entry.commitment(c, base); known != nil {
		return known, ctx.Err()
	}
	e, p, err := c.estimateUnit(dev, sec)
	must.OK(err)
	must.OK(e.within())
	dev.set().Reserve(p, 1, w.warn)
	made := &Committed{circuit: c}
	must.OK(w.run(ctx, phaseCommitModel, func() (err error) {
		defer must.Catch(&err)
		opts := prover.Options{Backend: dev.set().Backend(w.warn), Base: base}
		made.key, made.trees, err = prover.CommitPlanned(ctx, c.quantised.Circuit, p, c.quantised.Weights, sec, opts)
		must.OK(err)
		must.OK(made.key.SetSource(c.source))
		return c.setText(made.key)
	}))
	made.file = made.key.Encoded()
	content := &cache.Entry{Key: made.file}
	if n := len(made.trees); n > 0 {
		content.Layers = must.Get(made.trees[n-1].Layers(ctx))
	}
	entry.put(content)
	return made, nil
}

// commitBase returns the tree of the weights that the circuit is an adapter to, nil for others: that of a commitment of their own,
// made once for all adapters.
func (c *Circuit) commitBase(ctx context.Context, o *CommitOptions) (_ *whir.Tree, err error) {
	defer must.Catch(&err)
	if c.base == nil {
		return nil, nil
	}
	of := must.GetAs(Commit(ctx, c.base, o))("the base of the adapter")
	if k := c.baseKey; k != nil && (len(k.Trees) != 1 || k.Trees[0] != of.key.Trees[0]) {
		return nil, errors.New("the weights of the base are not those that its key commits to, or the key asks for another security, hash or soundness than this one is to")
	}
	return of.trees[0], nil
}

// draft begins a key that hides weights.
func (c *Circuit) draft(o *CommitOptions, sec proof.Security) (*hiding.Draft, error) {
	if c.base != nil {
		return nil, errors.New("a model with an adapter has weights under two trees, and keys hide one: merge the adapter into the model for a key that hides its weights")
	}
	if !c.hides {
		return nil, errors.New("the circuit tells of its weights: quantise with option Hide for a key that hides them")
	}
	return hiding.NewDraft(c.quantised.Circuit, sec, o.SecretFile, o.Proofs)
}

// commitHiding is Commit for a key that hides weights.
func (c *Circuit) commitHiding(ctx context.Context, o *CommitOptions, sec proof.Security, w *watch) (_ *Committed, err error) {
	defer must.Catch(&err)
	d := must.Get(c.draft(o, sec))
	dev := orProcessor(o.Device)
	must.OK(must.Get(c.estimatePlan(dev, d.Plan)).within())
	dev.set().Reserve(d.Plan, 1, w.warn)
	made := &Committed{circuit: c}
	var tails *prf.Key
	var entry *entry
	must.OK(w.run(ctx, phaseCommitModel, func() (err error) {
		defer must.Catch(&err)
		tails = must.Get(d.Tails(c.quantised.Circuit, c.quantised.Weights, sec))
		entry = entryOf(o.CacheDir, w, c.hidingID(sec, tails))
		if found := entry.commitment(c, nil); found != nil {
			made = found
			return nil
		}
		made.key, made.trees, err = prover.CommitMasked(ctx, c.quantised.Circuit, d.Plan, c.quantised.Weights, sec, tails, prover.Options{Backend: dev.set().Backend(w.warn)})
		must.OK(err)
		return c.setText(made.key)
	}))
	made.hiding = must.Get(d.Made(made.key.Digest, tails))
	if made.cached {
		return made, nil
	}
	made.file = made.key.Encoded()
	content := &cache.Entry{Key: made.file}
	content.Layers = must.Get(made.trees[0].Layers(ctx))
	entry.put(content)
	return made, nil
}

// Budget says how far a key that hides weights is used up; nil is another key.
func (c *Committed) Budget() (*ledger.Budget, error) { return c.hiding.Budget(c.key) }

// Link proves that another key hides the same weights of the same circuit as this one: both were committed to with option Hide,
// each with its own SecretFile. verifier.CheckLink checks it. A link says nothing of the weights; it opens both keys, as a proof of each
// does, and is counted in both secrets. The observer may be nil, and so may the device, for the processor.
func (c *Committed) Link(ctx context.Context, to *Committed, observer Observer, device *Device) ([]byte, error) {
	if c.hiding == nil || to.hiding == nil {
		return nil, errors.New("a link is of two keys that hide weights")
	}
	w := newWatch(observer)
	defer w.stop()
	var file []byte
	err := w.run(ctx, phaseLink, func() error {
		of := [2]prover.Linked{{Key: c.key, Tree: c.trees[0], Hiding: c.hiding.Options()}, {Key: to.key, Tree: to.trees[0], Hiding: to.hiding.Options()}}
		l, err := prover.Link(ctx, of, c.circuit.quantised.Weights, prover.Options{Backend: orProcessor(device).set().Backend(w.warn)})
		if err != nil {
			return err
		}
		file = l.Encode()
		if _, err := verifier.CheckLink(c.key, to.key, bytes.NewReader(file), 1); err != nil {
			return fmt.Errorf("%w: %w", ErrSelfCheck, err)
		}
		return nil
	})
	return file, err
}

// check verifies a proof as anyone would who has key and proof.
func (c *Committed) check(file []byte, by *Sampling) error {
	key, err := ReadKey(bytes.NewReader(c.file))
	if err == nil {
		_, err = Verify(key, bytes.NewReader(file), &VerifyOptions{MinBits: 1, Sampling: by})
	}
	return err
}

// ErrNotShown is wrapped by the errors of Certify, and of Verify with a
// certificate, when the bounds of a circuit do not follow from its key and what
// a certificate can say of the weights. The error names the steps.
var ErrNotShown = certify.ErrNotShown

// CertifyOptions say how a certificate is made. No byte of it depends on them.
type CertifyOptions struct {
	Observer     Observer // is told how the work goes, unless nil
	Device       *Device  // nil: the processor
	MemoryBudget int64    // as in ProveOptions
	Workers      int      // likewise
}

func (o *CertifyOptions) validate() error { return checkShare(o.MemoryBudget, o.Workers) }

// Certify proves that the weights of a committed circuit respect the static
// bounds: with the certificate (Certificate) a verifier computes from the key
// that no integer of the model is ever as large as the field, and need not trust
// whoever issued the key for it. The certificate is verified before it is
// returned. opts may be nil.
func (c *Committed) Certify(ctx context.Context, opts *CertifyOptions) (_ []byte, err error) {
	defer must.Catch(&err)
	o := orDefault(opts)
	must.OK(o.validate())
	if c.hiding != nil {
		return nil, errors.New("a key that hides weights has no certificate: it would state their sums and ranges")
	}
	w := newWatch(o.Observer)
	defer w.stop()
	var file bytes.Buffer
	err = await(ctx, func() error {
		_, err := certify.Prove(ctx, c.key, c.trees, c.circuit.quantised.Weights, c.circuit.quantised.Blocks, &file, orProcessor(o.Device).prover(devices.Share{Memory: o.MemoryBudget, Workers: o.Workers}, w))
		return err
	})
	w.end(err)
	must.OK(err)
	err = w.run(ctx, phaseCheck, func() error {
		check := &VerifyOptions{MinBits: 1, Certificate: bytes.NewReader(file.Bytes())}
		return check.certified(c.key, c.circuit.quantised.Graph)
	})
	if err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", ErrSelfCheck, err)
		}
		return nil, err
	}
	return file.Bytes(), nil
}

// certified checks the certificate for a circuit of the key.
func (o *VerifyOptions) certified(key *Key, g *model.Graph) error {
	c, err := certify.Verify(key, o.Certificate, o.policy())
	if err == nil && g.Texts > 0 { // each text has the bounds of one
		g, err = key.Circuit.At(model.Instance{Sizes: g.Instance.Sizes})
	}
	if err == nil {
		err = c.Check(g)
	}
	return invalid(err)
}

// orDefault returns options, those of the zero value for nil.
func orDefault[T any](opts *T) *T {
	if opts == nil {
		return new(T)
	}
	return opts
}

// setText has a key say what tokens mean, or what maps strings.
func (c *Circuit) setText(key *Key) error {
	if t := said(c.language, c.words); t != nil {
		return key.SetText(t)
	}
	return nil
}

// said is what keys say of tokens, or of strings, of which words is the vocabulary's file; nil if nothing.
func said(language *proof.Text, words []byte) *proof.Text {
	if words == nil {
		return language
	}
	return &proof.Text{Vocabulary: vocabulary.Digest(words)}
}

// says reports whether a key says that of tokens or strings.
func says(key *Key, t *proof.Text) bool {
	if len(key.Texts) == 0 {
		return t == nil
	}
	return key.Texts[0].Equal(t)
}

// VocabularyFile is the file of the vocabulary whose digest the key has; nil if the model says nothing of strings.
func (c *Committed) VocabularyFile() []byte { return c.circuit.words }

// CommitInput commits to the input of this name, "" for a model's only one, for so many proofs (0: 50) of models whose input has the same
// shape as that of the key, and the same scale or a finer one: they show the commitment that is returned, and nothing of the input
// (ProveOptions.InputCommitments). The commitment is written to a file, and its secret, which counts the proofs, beside it with .secret behind
// the name; neither may be there. Entries are rounded and clamped as the key says; clamped is how many were beyond its range.
func (c *Committed) CommitInput(ctx context.Context, name string, in Arrays, proofs int, file string) (digest Commitment, clamped int, err error) {
	made, clamped, err := hiding.CommitInputOf(ctx, c.key, name, in, proofs, file)
	if err != nil {
		return digest, 0, err
	}
	return made.Digest(), clamped, nil
}
