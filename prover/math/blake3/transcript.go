package blake3

import (
	"encoding/binary"

	"github.com/prove-model/prove-model/prover/math/field"
)

// A Transcript turns messages into challenges (docs/proof-format.md, "Hash suites"). It has a state of 32 bytes and the messages
// since that state was computed, each as an item with its type and length before it. A draw is the extended output of a keyed hash
// of state and items. The first 32 bytes of that output are the next state, and there are no items then. Moving the state on
// without a draw does the same with another key.
//
// It is not safe for concurrent use, except that several goroutines may fork it at once.
type Transcript struct {
	pending []byte // the state, then the items
	open    int    // where the last item begins in pending, if more contents of its type may be added to it; else 0
}

// Types of items. Successive elements, digests or numbers are one item.
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

// NewTranscript returns a transcript whose first message is label.
func NewTranscript(label string) *Transcript {
	t := &Transcript{pending: make([]byte, DigestBytes, 8*BlockBytes)}
	t.AbsorbBytes([]byte(label))
	return t
}

// item adds n contents of a type, of size bytes each, and returns their bytes, which the caller sets. They become part of the last item
// if that is open and has the same type, otherwise a new item.
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

// digests absorbs digests in an item of the given type.
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
	t.open = 0 // each string is an item of its own
	copy(t.item(itemBytes, len(b), 1), b)
	t.open = 0
}

// setState sets the state, without items behind it.
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

// draw hashes everything pending. It sets the next state to the first 32 bytes of output, and returns the output behind these.
func (t *Transcript) draw() output {
	o := output{n: top((*[8]uint32)(&keyDraw), keyedHash, t.pending, 0), at: BlockBytes}
	t.setState(o.next(DigestBytes))
	return o
}

// Draw sets dst to elements that depend on everything absorbed so far, each uniform in F: 31 bits, and the next ones if they are p. All
// of dst is one draw. If dst is empty there is no draw, and the state does not change.
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

// DrawIndices is Draw for uniform numbers in [0, 2^bits): each is the lowest bits of the next eight bytes, with 0 to 64 bits.
func (t *Transcript) DrawIndices(dst []uint64, bits int) {
	if len(dst) == 0 {
		return
	}
	o := t.draw()
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(o.next(8)) & (1<<bits - 1)
	}
}

// moved returns the state that move sets: a hash of everything pending, or the state itself if there are no items.
func (t *Transcript) moved() (state [DigestBytes]byte) {
	if len(t.pending) == DigestBytes {
		return [DigestBytes]byte(t.pending)
	}
	Sum(state[:], &keyMove, t.pending)
	return state
}

// move moves the state on over everything pending. Without it before a proof of work, a fork or a join, messages since the last draw would
// not count there (docs/protocol.md, "Hash and transcript").
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

// Join absorbs the final states of children, in the order given. The children do not change.
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

// Work moves the state on over everything pending and returns it: the state that SearchNonce hashes with each nonce.
func (t *Transcript) Work() Digest {
	t.move()
	return t.state()
}

// state returns the state, without the items behind it.
func (t *Transcript) state() (d Digest) {
	for i := range d {
		d[i] = binary.LittleEndian.Uint32(t.pending[4*i:])
	}
	return d
}

// EndWork absorbs a nonce and reports whether its hash with the state begins with this number of zero bits.
func (t *Transcript) EndWork(nonce uint64, zeros int) bool {
	t.move()
	state := t.state()
	found, ok := SearchNonce(&state, nonce, 1, zeros)
	t.open = 0
	binary.LittleEndian.PutUint64(t.item(itemNonce, 1, 8), nonce)
	t.open = 0
	return ok && found == nonce
}

// SearchNonce returns the least of the n nonces from first on whose hash, with the state that Work returned, begins with
// at least zeros zero bits. ok is false if there is none.
func SearchNonce(state *Digest, first uint64, n, zeros int) (least uint64, ok bool) {
	return LeadingZeros(&KeyWork, state, first, n, zeros)
}

// Clone returns an independent copy.
func (t *Transcript) Clone() *Transcript {
	return &Transcript{append(make([]byte, 0, cap(t.pending)), t.pending...), t.open}
}
