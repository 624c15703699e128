package transcript

import (
	"encoding/binary"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// LimbBytes is the size of a base-field element in a proof: its canonical
// value in 4 bytes, little-endian.
const LimbBytes = 4

// Writer is the prover's transcript: a sponge and the proof so far.
type Writer struct {
	*Sponge
	proof  []byte
	masked bool
	pads   []field.QM31 // the pads that are not used yet
}

// NonceSearch returns the smallest nonce that does the work, or a number
// of p and above if none does.
type NonceSearch func(work hash.Work) (uint64, error)

// NewWriter returns a writer over s with an empty proof.
func NewWriter(s *Sponge) *Writer { return &Writer{Sponge: s} }

// Bytes returns the proof so far. The slice is valid until the next write.
func (w *Writer) Bytes() []byte { return w.proof }

// Mask makes the transcript masked until Unmask: every element of K is sent minus the next of these pads. Each pad is used once.
func (w *Writer) Mask(pads []field.QM31) { w.masked, w.pads = true, pads }

// Unmask ends what Mask began. It panics if pads are left.
func (w *Writer) Unmask() {
	if len(w.pads) > 0 {
		panic("transcript: pads without an element")
	}
	w.masked = false
}

// Masked says whether elements are sent minus pads.
func (w *Writer) Masked() bool { return w.masked }

// SendM31 absorbs base-field elements and appends them to the proof. It panics in a masked transcript, whose
// pads are elements of K.
func (w *Writer) SendM31(v ...field.M31) {
	if w.masked {
		panic("transcript: an element without a pad in a masked transcript")
	}
	w.Absorb(v...)
	w.HintM31(v...)
}

// SendQM31 absorbs elements of K and appends them to the proof. In a masked transcript it sends them minus pads.
func (w *Writer) SendQM31(v ...field.QM31) {
	if w.masked {
		v = w.pad(v)
	}
	w.AbsorbQM31(v...)
	w.HintQM31(v...)
}

// pad returns the elements minus the next pads.
func (w *Writer) pad(v []field.QM31) []field.QM31 {
	if len(v) > len(w.pads) {
		panic("transcript: an element without a pad")
	}
	sent := make([]field.QM31, len(v))
	for i := range v {
		sent[i] = v[i].Sub(w.pads[i])
	}
	w.pads = w.pads[len(v):]
	return sent
}

// SendDigest absorbs a digest and appends it to the proof.
func (w *Writer) SendDigest(d hash.Digest) {
	w.AbsorbDigest(d)
	w.HintDigest(d)
}

// HintM31 appends base-field elements without absorbing them.
func (w *Writer) HintM31(v ...field.M31) { putLimbs(w.room(len(v)), v) }

// HintLeaves appends lists of base-field elements, all as long as the first, one after the
// other, without absorbing them.
func (w *Writer) HintLeaves(leaves [][]field.M31) {
	if len(leaves) == 0 {
		return
	}
	n := len(leaves[0])
	room := w.room(n * len(leaves))
	parallel.For(len(leaves), max(1, leavesPerTask/max(n, 1)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			putLimbs(room[LimbBytes*n*i:][:LimbBytes*n], leaves[i])
		}
	})
}

// leavesPerTask is the least number of elements that one goroutine writes.
const leavesPerTask = 1 << 14

// room extends the proof by n limbs, and returns the new bytes.
func (w *Writer) room(n int) []byte {
	from := len(w.proof)
	w.proof = slices.Grow(w.proof, LimbBytes*n)[:from+LimbBytes*n]
	return w.proof[from:]
}

// putLimbs writes elements to dst, LimbBytes each.
func putLimbs(dst []byte, v []field.M31) {
	for _, e := range v {
		binary.LittleEndian.PutUint32(dst[:LimbBytes], uint32(e))
		dst = dst[LimbBytes:]
	}
}

// HintQM31 appends elements of K, four limbs each, without absorbing them.
func (w *Writer) HintQM31(v ...field.QM31) {
	room := w.room(4 * len(v))
	for i := range v {
		limbs := v[i].Limbs()
		putLimbs(room[4*LimbBytes*i:], limbs[:])
	}
}

// HintDigest appends digests without absorbing them.
func (w *Writer) HintDigest(d ...hash.Digest) {
	room := w.room(len(hash.Digest{}) * len(d))
	for i := range d {
		for _, word := range d[i] {
			binary.LittleEndian.PutUint32(room, word)
			room = room[LimbBytes:]
		}
	}
}

// Grind finds the smallest nonce that does a proof of work of this number of bits, absorbs it and appends it to the proof. That takes
// about 2^bits hashes. A prover that looks for a lucky challenge must repeat them for every try. With 0 bits Grind does nothing. It
// panics unless 0 ≤ bits ≤ MaxGrindBits.
func (w *Writer) Grind(bits int) {
	// A search on the cores of this machine has no errors.
	_ = w.GrindWith(bits, func(work hash.Work) (uint64, error) { return SearchNonce(work), nil })
}

// GrindWith is [Writer.Grind] with another search. If the search fails, the nonce
// is neither written nor absorbed.
func (w *Writer) GrindWith(bits int, search NonceSearch) error {
	checkGrindBits(bits)
	if bits == 0 {
		return nil
	}
	n, err := search(w.of.Work(bits))
	if err != nil {
		return err
	}
	if n >= field.P {
		panic("transcript: no nonce found, which has probability e^(−128)")
	}
	nonce := field.M31(n)
	w.of.EndWork(nonce, bits) // which absorbs it
	w.HintM31(nonce)
	return nil
}
