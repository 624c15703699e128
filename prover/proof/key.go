package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof/wire"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// Key is what a verifier needs beside the proof: the quantised circuit, the
// commitment to its weights, and the security that proofs must reach. Its digest
// is the model commitment.
type Key struct {
	Circuit *model.Template
	// Trees are the commitments to the fixed tensors: one tree with all of them, or none if the graph has no fixed tensors. For a
	// circuit with a base (model.Graph.Base) there is one tree with the tensors of the base, then one with all others.
	Trees []Tree
	// Security is what proofs for the key have to reach.
	Security Security
	// Source is what the key was made from, nil if that is not known.
	Source *Source
	// Texts has one element if the model is a language model or has a vocabulary of strings, otherwise none.
	Texts []Text
	// Digest is the SHA-256 of the encoded key under a prefix; NewKey, EncodeKey and
	// DecodeKey set it.
	Digest [sha256.Size]byte

	file  []byte // the encoded key; nil until the key has been encoded or decoded
	known *known // what has been derived from the key; nil until it has been encoded or decoded
}

// Tree is a commitment to fixed tensors: the root of a Merkle tree, and the form of the stack of rows whose columns are its leaves
// (docs/protocol.md, "Layout and commitments").
type Tree struct {
	Root hash.Digest
	// RowVars is log2 of the length of a row of the stack under the root, at least 1.
	RowVars int
	// TailLog is 0 if the tree hides nothing. Otherwise it is 2 to 6: each row has a random tail of a 2^TailLog-th of its length, and
	// each leaf a salt (docs/protocol.md, "Hiding openings").
	TailLog int
}

// Roots returns the roots of Trees, in order, as bytes: each as the key file has it.
func (k *Key) Roots() [][hash.DigestBytes]byte {
	list := make([][hash.DigestBytes]byte, len(k.Trees))
	for i := range k.Trees {
		copy(list[i][:], encodeDigest(k.Trees[i].Root))
	}
	return list
}

// FixedTree returns the first of Trees, or nil if there is none. In a circuit with a base it is that of the base. Only the
// tree of a key with one tree may have tails (checkTrees).
func (k *Key) FixedTree() *Tree {
	if len(k.Trees) == 0 {
		return nil
	}
	return &k.Trees[0]
}

// Text returns what the key says of tokens, or nil unless the model is a language model.
func (k *Key) Text() *Text {
	if len(k.Texts) == 0 || k.Texts[0].hasVocabulary() {
		return nil
	}
	return &k.Texts[0]
}

// Vocabulary returns the digest of the vocabulary of a model that takes strings or names classes, nil for other models.
func (k *Key) Vocabulary() *[sha256.Size]byte {
	if len(k.Texts) == 0 || !k.Texts[0].hasVocabulary() {
		return nil
	}
	return &k.Texts[0].Vocabulary
}

const (
	// KeyMagic starts every key file.
	KeyMagic = "PM.key\r\n"
	// MaxKeySize is the size of the largest key file accepted by DecodeKey.
	MaxKeySize = 32 << 20
	// maxKeyMessages bounds the memory that decoding a key takes.
	maxKeyMessages = 1 << 20
	// keyDigestPrefix separates model commitments from other uses of SHA-256.
	keyDigestPrefix = "prove-model key\n"
	keyHeaderSize   = len(KeyMagic) + 4
)

// Hides says whether proofs for the key hide its weights: whether its tree has tails. They hide them only as long as no more proofs
// are made than the key's budget allows (Proofs).
func (k *Key) Hides() bool {
	return k.Tails() > 0
}

// Tails is the TailLog of the first commitment to fixed tensors, 0 if the graph has none.
func (k *Key) Tails() int {
	if t := k.FixedTree(); t != nil {
		return t.TailLog
	}
	return 0
}

// MostPositions returns the greatest number of code positions at which a proof for a key that hides weights opens their rows.
func (k *Key) MostPositions() int { return int(k.Security.Config().MostQueries(k.Tails())) }

// Proofs returns how many proofs may be made for a key that hides weights before their opened columns may say something of the
// weights: the positions that tails hide, divided by those that one proof opens. It returns 0 for other keys.
func (k *Key) Proofs() int {
	if !k.Hides() {
		return 0
	}
	return int(soundness.Budget(k.FixedTree().RowVars, k.Tails())) / max(1, k.MostPositions())
}

// NewKey returns the key of a circuit, encoded. p is the plan of its proofs with all
// free dimensions of size 1, which fixes the row lengths; roots are the roots of the
// trees of fixed tensors, in order.
func NewKey(c *model.Template, p *plan.Plan, sec Security, roots ...hash.Digest) (*Key, error) {
	k := &Key{Circuit: c, Security: sec}
	rows := p.Choice.FixedRows()
	if len(roots) != len(rows) {
		return nil, fmt.Errorf("encoding the key: %d roots of %d trees", len(roots), len(rows))
	}
	for i, root := range roots {
		k.Trees = append(k.Trees, Tree{Root: root, RowVars: rows[i], TailLog: p.Choice.FixedTailLog})
	}
	err := k.check()
	if err == nil && sec.Config() != p.Config {
		err = errors.New("the plan is for another security")
	}
	if err = k.encode(err); err != nil {
		return nil, err
	}
	k.known.graph, k.known.plan = p.Graph, p
	return k, nil
}

// SetSource sets the source of a key that has been encoded before, and encodes it again.
// The circuit stays the same, so the plan that has been made is kept.
func (k *Key) SetSource(s *Source) error {
	k.Source = s
	return k.encodeAgain()
}

// SetText sets what the key says of tokens or strings, and encodes the key again, as SetSource does. With nil the key says nothing of
// them.
func (k *Key) SetText(t *Text) error {
	k.Texts = nil
	if t != nil {
		k.Texts = []Text{*t}
	}
	return k.encodeAgain()
}

// encodeAgain encodes a changed key and keeps the circuit and the plan that have been derived.
func (k *Key) encodeAgain() error {
	known := k.known
	if err := k.encode(k.check()); err != nil {
		return err
	}
	k.known = known
	return nil
}

// EncodeKey returns the key file of k and sets k.Digest. Equal keys give equal
// bytes. It fails if the graph or the parameters are not valid.
func EncodeKey(k *Key) ([]byte, error) {
	if err := k.encode(k.validate()); err != nil {
		return nil, err
	}
	return k.file, nil
}

// Encoded returns the key file of a key that has been encoded or decoded and not
// changed since. The caller must not change the bytes.
func (k *Key) Encoded() []byte { return k.file }

// encode sets file, Digest and known from the exported fields. invalid is what checks of the key have found: if it is not nil, encode
// only returns it.
func (k *Key) encode(invalid error) error {
	var b []byte
	if invalid == nil {
		b = keyMessage.Append(binary.LittleEndian.AppendUint32([]byte(KeyMagic), Version), k)
		_, invalid = parseKey(b) // a key that is written must be one that can be read, limits included
	}
	if invalid != nil {
		return fmt.Errorf("encoding the key: %w", invalid)
	}
	k.file, k.Digest, k.known = b, keyDigest(b), &known{}
	return nil
}

// Holds reports whether the key's circuit encodes to the same bytes as c, names included.
func (k *Key) Holds(c *model.Template) bool {
	return bytes.Equal(graphMessage.Append(nil, k.Circuit), graphMessage.Append(nil, c))
}

// DecodeKey reads a key file, which may be hostile. It checks the encoding, the circuit, and the ranges of all parameters, which the
// verifier relies on. It cannot check that the committed weights are those of some model, nor the static bounds on integers, which
// the issuer of the key vouches for (docs/protocol.md, "Statement"). Its errors wrap ErrMalformed.
func DecodeKey(b []byte) (*Key, error) {
	k, err := decodeKey(b, nil)
	if err != nil {
		return nil, malformedKey(err)
	}
	return k, nil
}

func malformedKey(err error) error { return fmt.Errorf("%w key: %w", ErrMalformed, err) }

// decodeKey is DecodeKey. next is the instance of the circuit that the caller needs next, or nil: its circuit is
// built in parallel with the validation of the key, which builds the circuit of all sizes 1, or after it (model.Template.Beside).
func decodeKey(b []byte, next *model.Instance) (*Key, error) {
	k, err := parseKey(b)
	if err != nil {
		return nil, err
	}
	k.file, k.known = b, &known{}
	if next == nil || isUnit(k.Circuit, next) {
		err = k.validate()
		k.known.spare = true
	} else if err = k.check(); err == nil {
		_, k.known.graph, err = k.Circuit.Beside(k.Circuit.Unit(), *next)
	}
	k.known.checked = err == nil
	return k, err
}

// isUnit reports whether an instance is the one that validate builds, with all sizes 1.
func isUnit(c *model.Template, in *model.Instance) bool {
	unit := c.Unit()
	return in.Equal(&unit)
}

// parseKey reads a key file: limits, magic, version, canonical encoding, and that roots are digests of the suite. It does not check
// that the graph is valid.
func parseKey(b []byte) (*Key, error) {
	if len(b) > MaxKeySize {
		return nil, fmt.Errorf("%d bytes are over the limit of %d", len(b), MaxKeySize)
	}
	if len(b) < keyHeaderSize || string(b[:len(KeyMagic)]) != KeyMagic {
		return nil, errors.New("not a prove-model key")
	}
	if v := binary.LittleEndian.Uint32(b[len(KeyMagic):]); v != Version {
		return nil, refuseVersion(v)
	}
	k := &Key{}
	var err error
	parallel.Do(
		func() { k.Digest = keyDigest(b) },
		func() { err = keyMessage.Decode(b[keyHeaderSize:], k, maxKeyMessages) },
	)
	if err == nil {
		err = k.checkRoots()
	}
	if err != nil {
		return nil, err
	}
	return k, nil
}

var keyMessage = wire.New("Key", nil,
	wire.Optional(1, "graph", graphMessage, func(k *Key) **model.Template { return &k.Circuit }).Needed(),
	wire.Part(3, "security", securityMessage, func(k *Key) *Security { return &k.Security }).Needed(),
	wire.Optional(5, "source", sourceMessage, func(k *Key) **Source { return &k.Source }),
	wire.List(6, "texts", textMessage, func(k *Key) *[]Text { return &k.Texts }),
	wire.Reserved[Key](8, "log_blowup"),
	wire.List(9, "trees", treeMessage, func(k *Key) *[]Tree { return &k.Trees }),
	wire.Reserved[Key](10, "hiding"),
)

var treeMessage = wire.New("Tree", nil,
	rootField(1, func(t *Tree) *hash.Digest { return &t.Root }),
	wire.Num(2, "row_vars", count, func(t *Tree) *int { return &t.RowVars }),
	wire.Reserved[Tree](3, "size"),
	wire.Num(4, "tail_log", wire.Number{Kind: wire.Uint32, Most: soundness.MaxTailLog}, func(t *Tree) *int { return &t.TailLog }),
	wire.Reserved[Tree](5, "kind"),
	wire.Reserved[Tree](6, "subject"),
	wire.Reserved[Tree](7, "spans"),
)

// checkRoots refuses roots that are no digests of the key's suite. With Poseidon2 each word must be below p, so that an element of F
// has one encoding.
func (k *Key) checkRoots() error {
	for i := range k.Trees {
		if err := checkDigest(k.Security.Hash, k.Trees[i].Root); err != nil {
			return fmt.Errorf("root of tree %d: %w", i, err)
		}
	}
	return nil
}

// ReadKey reads a key file of at most max bytes (and MaxKeySize) from r.
func ReadKey(r io.Reader, max int64) (*Key, error) {
	b, err := readKey(r, max)
	if err != nil {
		return nil, err
	}
	return DecodeKey(b)
}

// ReadKeyFor is ReadKey for a caller that next verifies a proof with header h: it builds the circuit at that proof's sizes in parallel
// with the validation of the key. An unsuitable header is no error here; Key.GraphOf refuses it.
func ReadKeyFor(r io.Reader, max int64, h *Header) (*Key, error) {
	b, err := readKey(r, max)
	if err != nil {
		return nil, err
	}
	next := h.Instance()
	k, err := decodeKey(b, &next)
	if err != nil {
		return nil, malformedKey(err)
	}
	return k, nil
}

// readKey reads at most max bytes, and MaxKeySize. It reads one byte more than is allowed, to tell a file that is too long.
func readKey(r io.Reader, max int64) ([]byte, error) {
	max = min(max, MaxKeySize)
	var buf bytes.Buffer
	if n := sizeOf(r); n <= max { // room for the whole file, so that buf does not grow
		buf.Grow(int(n) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(r, max+1)); err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	b := buf.Bytes()
	if int64(len(b)) > max {
		return nil, malformed("key is over the limit of %d bytes", max)
	}
	return b, nil
}

// maxFrac keeps 2^(−Frac) a normal float64.
const maxFrac = 1000

func wideFrac(f int) bool { return f < -maxFrac || f > maxFrac }

// validate checks everything in the key except what needs a plan: that the security can be reached.
func (k *Key) validate() error {
	if err := k.check(); err != nil {
		return err
	}
	_, err := k.at(k.Circuit.Unit())
	return err
}

// check checks the parts of the key that the circuit's own validation (model.Template.At) does not: the security, scales of
// tensors, trees, source and texts.
func (k *Key) check() error {
	if k.Circuit == nil || k.Circuit.Graph == nil {
		return errors.New("no circuit")
	}
	g := k.Circuit.Graph
	if err := k.Security.Validate(); err != nil {
		return err
	}
	for i := range g.Tensors {
		t := &g.Tensors[i]
		if k := slices.IndexFunc(t.Fracs, wideFrac); k >= 0 {
			return fmt.Errorf("tensor %d: scale 2^%d out of range", i, t.Fracs[k])
		}
		if wideFrac(t.Frac) {
			return fmt.Errorf("tensor %d: scale 2^%d out of range", i, t.Frac)
		}
	}
	if err := k.checkTrees(); err != nil {
		return err
	}
	if k.Source != nil {
		if err := k.Source.validate(); err != nil {
			return fmt.Errorf("source: %w", err)
		}
	}
	if len(k.Texts) > 1 {
		return fmt.Errorf("%d texts: this program reads keys of models with one", len(k.Texts))
	}
	for i := range k.Texts {
		if err := k.Texts[i].validate(g); err != nil {
			return fmt.Errorf("text: %w", err)
		}
	}
	return nil
}

// checkTrees checks that there is one commitment for each stack of fixed tensors, and that row lengths and tails are in range. With
// a stack and no commitment to it, a prover could take any values for its tensors.
func (k *Key) checkTrees() error {
	if stacks := len(k.Circuit.Graph.FixedStacks()); stacks != len(k.Trees) {
		return fmt.Errorf("stacks of fixed tensors: %d, commitments to them: %d", stacks, len(k.Trees))
	}
	for i := range k.Trees {
		if n := k.Trees[i].RowVars; n < 1 || n > soundness.MaxLogDomain {
			return fmt.Errorf("tree %d: rows of 2^%d values", i, n)
		}
		if j := k.Trees[i].TailLog; j != 0 && (j < soundness.MinTailLog || j > soundness.MaxTailLog) {
			return fmt.Errorf("tree %d: tails of a 2^%d-th of a row", i, j)
		}
		if len(k.Trees) > 1 && k.Trees[i].TailLog != 0 {
			return fmt.Errorf("tree %d of %d: tails, which hide the one tree of a key alone", i, len(k.Trees))
		}
	}
	return nil
}

// keyDigest returns the model commitment of the key file b.
func keyDigest(b []byte) (d [sha256.Size]byte) {
	h := sha256.New()
	h.Write([]byte(keyDigestPrefix))
	h.Write(b)
	h.Sum(d[:0])
	return d
}
