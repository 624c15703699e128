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

// Key is a verification key: the quantised model without its weights, and a commitment
// to the weights. Its digest stands for the model.
type Key = proof.Key

// Commitment is the digest of a key. It stands for the model with its weights: publish
// it, and compare all of its 32 bytes. The key of an adapter (OpenOptions.Adapter) has
// two more digests of this type, the roots of two trees: one of the base model's
// weights, which is the same for all adapters and in the key of the base model, and one
// of the adapter's weights.
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

// Committed is a circuit with its key, ready to prove any number of runs. Several
// goroutines may use it at once.
type Committed struct {
	circuit *Circuit
	key     *Key
	file    []byte       // the encoded key
	trees   prover.Trees // Merkle trees of the weights: of an adapter, the base's first
	cached  bool         // the key and the trees come from the cache
	hiding  *hiding.Key  // nil unless the key hides weights
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

// Cached says that the commitment was taken from the cache, where an earlier call of Commit had put it.
func (c *Committed) Cached() bool { return c.cached }

// CommitOptions say how secure the proofs of a key are, and how the commitment is made. The zero value and nil stand for 100
// bits of security by unique decoding, on the processor, without a cache.
type CommitOptions struct {
	Observer Observer // is told how the work goes, unless nil
	Device   *Device  // nil: the processor
	// CacheDir is a folder (UserCacheDir) in which commitments are kept: one that was made before is taken from there, and a new
	// one is put there; "" is no cache. If the folder cannot be used, there is a warning and no cache.
	CacheDir string
	// SecurityBits is the least security of every round of a proof in bits, including its proof of work: 1 to 120; 0 is
	// 100.
	SecurityBits int
	// GrindBits is the greatest number of bits that the proof of work of a round may add: 1 to 24, or -1 for none; 0 is
	// 16.
	GrindBits int
	// Soundness is the proximity bound from which the numbers of queries are computed: "unique" decoding, or "johnson" for
	// shorter proofs. "" is "unique".
	Soundness string
	// Hash is the hash function of keys and proofs: "blake3", or "poseidon2", which takes ten times as long. "" is
	// "blake3".
	Hash string
	// Hide says what the key hides: "weights", or "" for nothing. All proofs of a key that hides weights, taken
	// together, say nothing about the weights except what follows from the inputs, the outputs and the public parts of
	// the circuit, and nothing at all about the values inside of the model. The circuit must be quantised for that
	// (QuantiseOptions.Hide). See docs/hiding.md.
	Hide string
	// SecretFile is the file of the secret of a key that hides weights. If the file exists, Commit makes the key that the
	// secret belongs to; else it makes a new secret and a file that its owner alone can read. Proofs need the secret, and
	// count in the file how many positions they have opened. So the file must stay where it is, and be shown to nobody.
	SecretFile string
	// Proofs is the number of proofs that a new key that hides weights is good for; 0 is 50. Proofs of a key for more of
	// them cost more.
	Proofs int
}

// security returns the security that the options ask for, with defaults in place of zeros.
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

// checkHiding refuses contradictions between Hide and the options that belong to it.
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

// commitBase returns the tree of the base model's weights if the circuit is an adapter, else nil. The base is committed to by
// itself, and that commitment serves all adapters to it.
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

// draft begins a key that hides weights: it chooses the layout, and reads or makes the secret.
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

// Budget says how far a key that hides weights is used up; it is nil for other keys.
func (c *Committed) Budget() (*ledger.Budget, error) { return c.hiding.Budget(c.key) }

// Link proves that another key commits to the same weights of the same circuit as this one. Both were made with option Hide, each with
// its own SecretFile. verifier.CheckLink checks the link. A link says nothing about the weights. It opens both keys as a proof of each
// would, and is counted in both secrets. observer and device may be nil; a nil device is the processor.
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

// check verifies a proof as a verifier with the key file would.
func (c *Committed) check(file []byte, by *Sampling) error {
	key, err := ReadKey(bytes.NewReader(c.file))
	if err == nil {
		_, err = Verify(key, bytes.NewReader(file), &VerifyOptions{MinBits: 1, Sampling: by})
	}
	return err
}

// ErrNotShown is wrapped by the errors of Certify, and of Verify with a certificate, if
// the static bounds of a circuit do not follow from its key and from what a certificate
// can say about the weights. The error names the steps.
var ErrNotShown = certify.ErrNotShown

// CertifyOptions say how a certificate is made. They change none of its bytes.
type CertifyOptions struct {
	Observer     Observer // is told how the work goes, unless nil
	Device       *Device  // nil: the processor
	MemoryBudget int64    // as in ProveOptions
	Workers      int      // likewise
}

func (o *CertifyOptions) validate() error { return checkShare(o.MemoryBudget, o.Workers) }

// Certify proves that the weights of a committed circuit respect the static bounds, and
// returns the certificate. With it (VerifyOptions.Certificate) a verifier computes from
// the key that no integer of the model is ever as large as the field's modulus, and
// need not trust for that whoever issued the key. The certificate is verified before it
// is returned. opts may be nil.
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

// certified checks that the certificate belongs to the key, and that with it the bounds of the circuit g hold.
func (o *VerifyOptions) certified(key *Key, g *model.Graph) error {
	c, err := certify.Verify(key, o.Certificate, o.policy())
	if err == nil && g.Texts > 0 { // each of several texts has the bounds of a proof of one text
		g, err = key.Circuit.At(model.Instance{Sizes: g.Instance.Sizes})
	}
	if err == nil {
		err = c.Check(g)
	}
	return invalid(err)
}

// orDefault returns the options, or a zero value if they are nil.
func orDefault[T any](opts *T) *T {
	if opts == nil {
		return new(T)
	}
	return opts
}

// setText puts into a key what the tokens or strings of the model mean (said).
func (c *Circuit) setText(key *Key) error {
	if t := said(c.language, c.words); t != nil {
		return key.SetText(t)
	}
	return nil
}

// said returns what a key says about the meaning of the model's inputs: language for a model of tokens; for one of
// strings the digest of words, the file of its vocabulary; nil for other models.
func said(language *proof.Text, words []byte) *proof.Text {
	if words == nil {
		return language
	}
	return &proof.Text{Vocabulary: vocabulary.Digest(words)}
}

// says reports whether a key says t about tokens or strings.
func says(key *Key, t *proof.Text) bool {
	if len(key.Texts) == 0 {
		return t == nil
	}
	return key.Texts[0].Equal(t)
}

// VocabularyFile returns the file of the vocabulary whose digest the key has; nil if the model has no strings.
func (c *Committed) VocabularyFile() []byte { return c.circuit.words }

// CommitInput commits to an input of the key's model, and returns the digest of the commitment. name is the input's name; "" will do if
// the model has one input only. Proofs can then hide this input and show its commitment instead (ProveOptions.InputCommitments). That
// works with every model whose input has the same shape as the key's, and the same scale or a finer one. The commitment is good for so
// many proofs; 0 is 50.
//
// The commitment is written to file, and its secret, which also counts the proofs, to file+".secret". Neither file may exist. Entries are
// rounded and clamped as the key says; clamped is the number of entries that were out of range.
func (c *Committed) CommitInput(ctx context.Context, name string, in Arrays, proofs int, file string) (digest Commitment, clamped int, err error) {
	made, clamped, err := hiding.CommitInputOf(ctx, c.key, name, in, proofs, file)
	if err != nil {
		return digest, 0, err
	}
	return made.Digest(), clamped, nil
}
