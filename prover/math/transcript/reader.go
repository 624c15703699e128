package transcript

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// What can be wrong with the bytes of a proof. Errors of a [Reader] wrap one
// of these.
var (
	ErrTruncated    = errors.New("proof is truncated")
	ErrNonCanonical = errors.New("proof has a limb that is not below 2^31 - 1")
	ErrNonce        = errors.New("proof has a nonce that fails its proof of work")
	ErrTrailing     = errors.New("proof has bytes left over")
)

// Reader is the verifier's transcript: a sponge and what is left of the proof.
//
// Its error is sticky. After the first one every read gives zeros of the
// length asked for, so that a verifier may run on to a convenient place before
// it looks at [Reader.Err]; nothing it computes is worth anything then.
type Reader struct {
	*Sponge
	proof []byte
	pos   int
	err   error
	tape  *Tape // of a masked transcript
	// Leaves, if set, is told of leaves that have been read, and belong to a root: what a proof gives away of what is under it.
	Leaves func(root hash.Digest, positions []uint64, leaves [][]field.M31)
}

// NewReader returns a reader of proof over s. It does not copy or change the
// proof.
func NewReader(s *Sponge, proof []byte) *Reader { return &Reader{Sponge: s, proof: proof} }

// Err returns the first error, or nil.
func (r *Reader) Err() error { return r.err }

// Fail records err as the reader's error unless it is nil or there is one
// already.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Remaining returns the number of bytes not read yet.
func (r *Reader) Remaining() int { return len(r.proof) - r.pos }

// Done returns the first error, or an error if bytes are left over.
func (r *Reader) Done() error {
	if r.err == nil && r.Remaining() > 0 {
		r.err = fmt.Errorf("%w: %d at byte %d", ErrTrailing, r.Remaining(), r.pos)
	}
	return r.err
}

// require reports whether the next limbs are there, and fails if not.
func (r *Reader) require(limbs int) bool {
	if r.err == nil && limbs > r.Remaining()/LimbBytes {
		r.err = fmt.Errorf("%w: %d bytes wanted at byte %d, %d left", ErrTruncated, int64(limbs)*LimbBytes, r.pos, r.Remaining())
	}
	return r.err == nil
}

// limb parses one limb.
func (r *Reader) limb() field.M31 {
	if !r.require(1) {
		return 0
	}
	v := binary.LittleEndian.Uint32(r.proof[r.pos:])
	if v >= field.P {
		r.err = fmt.Errorf("%w, at byte %d", ErrNonCanonical, r.pos)
		return 0
	}
	r.pos += LimbBytes
	return field.M31(v)
}

// HintM31s reads n base-field elements without absorbing them.
func (r *Reader) HintM31s(n int) []field.M31 {
	v := make([]field.M31, n)
	r.hint(v)
	return v
}

// hint reads the elements of v, which are zeros, up to the first that is none.
func (r *Reader) hint(v []field.M31) {
	if !r.require(len(v)) {
		return
	}
	b := r.proof[r.pos : r.pos+len(v)*LimbBytes]
	for i := range v {
		x := binary.LittleEndian.Uint32(b[i*LimbBytes:])
		if x >= field.P {
			r.pos += i * LimbBytes
			r.err = fmt.Errorf("%w, at byte %d", ErrNonCanonical, r.pos)
			return
		}
		v[i] = field.M31(x)
	}
	r.pos += len(b)
}

// HintQM31s reads n elements of K without absorbing them.
func (r *Reader) HintQM31s(n int) []field.QM31 {
	v := make([]field.QM31, n)
	if r.require(4 * n) {
		var l [4]field.M31
		for i := range v {
			r.hint(l[:])
			v[i] = field.NewQM31(l[0], l[1], l[2], l[3])
		}
	}
	return v
}

// HintDigest reads a digest without absorbing it.
func (r *Reader) HintDigest() (d hash.Digest) {
	if !r.require(len(d)) {
		return d
	}
	b := r.proof[r.pos:][:len(d)*LimbBytes]
	for i := range d {
		d[i] = binary.LittleEndian.Uint32(b[i*LimbBytes:])
	}
	if r.suite.ElementDigests() {
		for i, v := range d {
			if v >= field.P {
				r.pos += i * LimbBytes
				r.err = fmt.Errorf("%w, at byte %d", ErrNonCanonical, r.pos)
				return hash.Digest{}
			}
		}
	}
	r.pos += len(d) * LimbBytes
	return d
}

// M31s reads and absorbs n base-field elements.
func (r *Reader) M31s(n int) []field.M31 {
	r.clear()
	v := r.HintM31s(n)
	r.Absorb(v...)
	return v
}

// Mask begins to record elements on a tape: from here on to the end of Unmask they are sent less pads, and read by
// Form alone.
func (r *Reader) Mask(t *Tape) { r.tape = t }

// Unmask ends what Mask began.
func (r *Reader) Unmask() { r.tape = nil }

// Masked says whether elements are sent less pads.
func (r *Reader) Masked() bool { return r.tape != nil }

// Form reads and absorbs one element of K, which is sent less a pad if the transcript is masked.
func (r *Reader) Form() Form {
	v := r.qm31()
	if r.tape != nil {
		return r.tape.receive(v)
	}
	return Known(v)
}

// Zero fails with err unless the form is zero. In a masked transcript it is an equation, which is checked later.
func (r *Reader) Zero(f Form, err error) {
	switch {
	case r.tape != nil:
		r.tape.equations = append(r.tape.equations, f)
	case !f.Plain().IsZero():
		r.Fail(err)
	}
}

// clear panics in a masked transcript, where an element would be read as if it had no pad.
func (r *Reader) clear() {
	if r.tape != nil {
		panic("transcript: an element without a pad in a masked transcript")
	}
}

// QM31s reads and absorbs n elements of K.
func (r *Reader) QM31s(n int) []field.QM31 {
	r.clear()
	v := r.HintQM31s(n)
	r.AbsorbQM31(v...)
	return v
}

// QM31 reads and absorbs one element of K.
func (r *Reader) QM31() field.QM31 {
	r.clear()
	return r.qm31()
}

func (r *Reader) qm31() field.QM31 {
	var l [4]field.M31
	r.hint(l[:])
	v := field.NewQM31(l[0], l[1], l[2], l[3])
	r.AbsorbQM31(v)
	return v
}

// Digest reads and absorbs a digest.
func (r *Reader) Digest() hash.Digest {
	d := r.HintDigest()
	r.AbsorbDigest(d)
	return d
}

// CheckGrind reads and absorbs the nonce that [Writer.Grind] wrote for as many
// bits, and fails if it does not do the work.
func (r *Reader) CheckGrind(bits int) {
	checkGrindBits(bits)
	if bits == 0 {
		return
	}
	at := r.pos
	if !r.of.EndWork(r.limb(), bits) {
		r.Fail(fmt.Errorf("%w of %d bits, at byte %d", ErrNonce, bits, at))
	}
}
