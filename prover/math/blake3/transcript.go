package blake3

import (
	"encoding/binary"

	"github.com/prove-model/prove-model/prover/math/field"
)

// A Transcript turns messages into challenges (docs/proof-format.md, "Hash suites"). It is 32 bytes of state, a hash of all
// that has been moved over, and the messages since, each as an item with its type and length before it. What is drawn is the
// extended output of a keyed hash of both, of which the first 32 bytes are the next state.
//
// It is not safe for concurrent use, but that several goroutines may fork it.
type Transcript struct {
	pending []byte // the state, then the items
	open    int    // where the last item begins if it can get longer, else 0
}

// Types of items. Elements, digests and numbers that follow others of their type are one item with these.
const (
	itemElements byte = 1 + iota // of F, in 4 bytes each
	itemDigests
	itemNumbers // of 64 bits
	itemBytes
	itemNonce
	itemEnds // of children
)

// The keys of a transcript's hashes.
var (
	keyDraw = DeriveKey("prove-model blake3 v1: transcript, draw", nil)
	keyMove = DeriveKey("prove-model blake3 v1: transcript, move", nil)
	keyFork = DeriveKey("prove-model blake3 v1: transcript, fork", nil)
	keyJoin = DeriveKey("prove-model blake3 v1: transcript, join", nil)
	// KeyWork is exported for searches on devices.
	KeyWork = DeriveKey("prove-model blake3 v1: transcript, work", nil)
)

// NewTranscript returns a transcript of which the label is the first message.
func NewTranscript(label string) *Transcript {
	t := &Transcript{pending: make([]byte, DigestBytes, 8*BlockBytes)}
	t.AbsorbBytes([]byte(label))
	return t
}

// item makes room for n more of the contents of a type, of a size each, in the item in hand if that has their type.
func (t *Transcript) item(kind byte, n, size int) []byte {
	if t.open > 0 && t.pending[t.open] == kind {
		count := t.pending[t.open+1:][:8]
		binary.LittleEndian.PutUint64(count, binary.LittleEndian.Uint64(count)+uint64(n))
	} else {
		t.open = len(t.pending)
		t.pending = append(t.pending, kind)
		t.pending = binary.LittleEndian.AppendUint64(t.pending, uint64(n))
	}
	from := len(t.pending)
	t.pending = append(t.pending, make([]byte, n*size)...)
	return t.pending[from:]
}

// AbsorbElements absorbs elements of F.
func (t *Transcript) AbsorbElements(v []field.M31) {
	if len(v) == 0 {
		return
	}
	b := t.item(itemElements, len(v), 4)
	for i, e := range v {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(e))
	}
}

// AbsorbDigests absorbs digests.
func (t *Transcript) AbsorbDigests(d []Digest) { t.digests(itemDigests, d) }

func (t *Transcript) digests(kind byte, d []Digest) {
	if len(d) == 0 {
		return
	}
	b := t.item(kind, len(d), DigestBytes)
	for i := range d {
		for k, w := range d[i] {
			binary.LittleEndian.PutUint32(b[DigestBytes*i+4*k:], w)
		}
	}
}

// AbsorbUint64 absorbs a number.
func (t *Transcript) AbsorbUint64(v uint64) {
	binary.LittleEndian.PutUint64(t.item(itemNumbers, 1, 8), v)
}

// AbsorbBytes absorbs a string of bytes.
func (t *Transcript) AbsorbBytes(b []byte) {
	t.open = 0 // two strings are not one
	copy(t.item(itemBytes, len(b), 1), b)
	t.open = 0
}

// setState begins anew with a state.
func (t *Transcript) setState(state []byte) {
	t.pending = append(t.pending[:0], state...)
	t.open = 0
}

// output is the extended output of one hash, read from the front.
type output struct {
	n       *node
	counter uint64
	block   [BlockBytes]byte
	at      int
}

// next returns the next n bytes, a divisor of a block's length.
func (o *output) next(n int) []byte {
	if o.at == BlockBytes {
		for i, w := range compress(&o.n.cv, &o.n.block, o.counter, o.n.length, o.n.flags|root) {
			binary.LittleEndian.PutUint32(o.block[4*i:], w)
		}
		o.counter++
		o.at = 0
	}
	o.at += n
	return o.block[o.at-n : o.at]
}

// draw moves the state on over everything pending and returns the output behind the next state.
func (t *Transcript) draw() output {
	o := output{n: top((*[8]uint32)(&keyDraw), keyedHash, t.pending, 0), at: BlockBytes}
	t.setState(o.next(DigestBytes))
	return o
}

// Draw sets dst to elements that depend on everything absorbed so far, each uniform in F: 31 bits, drawn again if they are p. It
// is one draw, whatever their number; none is no draw.
func (t *Transcript) Draw(dst []field.M31) {
	if len(dst) == 0 {
		return
	}
	o := t.draw()
	for i := range dst {
		for dst[i] = field.P; dst[i] == field.P; {
			dst[i] = field.M31(binary.LittleEndian.Uint32(o.next(4)) & field.P)
		}
	}
}

// DrawIndices is Draw for numbers of so many bits, 0 to 64: the lowest of eight bytes each.
func (t *Transcript) DrawIndices(dst []uint64, bits int) {
	if len(dst) == 0 {
		return
	}
	o := t.draw()
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(o.next(8)) & (1<<bits - 1)
	}
}

// moved returns the state after moving on over everything pending.
func (t *Transcript) moved() (state [DigestBytes]byte) {
	if len(t.pending) == DigestBytes {
		return [DigestBytes]byte(t.pending)
	}
	Sum(state[:], &keyMove, t.pending)
	return state
}

func (t *Transcript) move() {
	state := t.moved()
	t.setState(state[:])
}

// Fork returns a child that depends on everything absorbed so far and on an index. The parent does not change.
func (t *Transcript) Fork(index uint64) *Transcript {
	state := t.moved()
	child := &Transcript{pending: make([]byte, DigestBytes, 8*BlockBytes)}
	Sum(child.pending, &keyFork, binary.LittleEndian.AppendUint64(state[:], index))
	return child
}

// Join absorbs what children have come to, in the order given. They do not change.
func (t *Transcript) Join(children []*Transcript) {
	if len(children) == 0 {
		return
	}
	t.move()
	ends := make([]Digest, len(children))
	for i, c := range children {
		state := c.moved()
		ends[i] = top((*[8]uint32)(&keyJoin), keyedHash, state[:], 0).value(root)
	}
	t.digests(itemEnds, ends)
}

// Work moves the state on over everything pending and returns what a nonce is tried with.
func (t *Transcript) Work() Digest {
	t.move()
	return t.state()
}

func (t *Transcript) state() (d Digest) {
	for i := range d {
		d[i] = binary.LittleEndian.Uint32(t.pending[4*i:])
	}
	return d
}

// EndWork checks a nonce and absorbs it.
func (t *Transcript) EndWork(nonce uint64, zeros int) bool {
	t.move()
	state := t.state()
	found, ok := SearchNonce(&state, nonce, 1, zeros)
	t.open = 0
	binary.LittleEndian.PutUint64(t.item(itemNonce, 1, 8), nonce)
	t.open = 0
	return ok && found == nonce
}

// SearchNonce returns the least of n nonces from first on that does the work: the hash of the state that Work returned and
// the nonce begins with so many zero bits.
func SearchNonce(state *Digest, first uint64, n, zeros int) (least uint64, ok bool) {
	return LeadingZeros(&KeyWork, state, first, n, zeros)
}

// Clone returns a copy that shares nothing.
func (t *Transcript) Clone() *Transcript {
	return &Transcript{append(make([]byte, 0, cap(t.pending)), t.pending...), t.open}
}
