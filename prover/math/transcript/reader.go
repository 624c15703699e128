package transcript

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// The reasons why a [Reader] refuses the bytes of a proof. Its errors wrap one
// of these.
var (
	ErrTruncated    = errors.New("proof is truncated")
	ErrNonCanonical = errors.New("proof has a limb that is not below 2^31 - 1")
	ErrNonce        = errors.New("proof has a nonce that fails its proof of work")
	ErrTrailing     = errors.New("proof has bytes left over")
)

// Reader is the verifier's transcript: a sponge and the bytes of the proof.
//
// Its error is sticky. After the first error every read gives zeros of the
// length asked for, so that a verifier may go on to a convenient place before
// it looks at [Reader.Err]. It must not accept anything that it computes from these.
type Reader struct {
	*Sponge
	proof []byte
	pos   int
	err   error
	tape  *Tape // nil unless elements are masked
	// Leaves, if set, is called with the leaves that have been read for each root: they are what the proof shows of the values under
	// it.
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

// Done returns the first error, or an error if bytes are left over: bytes that nothing has read would make several proofs of one.
func (r *Reader) Done() error {
	if r.err == nil && r.Remaining() > 0 {
		r.err = fmt.Errorf("%w: %d at byte %d", ErrTrailing, r.Remaining(), r.pos)
	}
	return r.err
}

// require reports whether that many limbs are left to read, and fails if not.
func (r *Reader) require(limbs int) bool {
	if r.err == nil && limbs > r.Remaining()/LimbBytes {
		r.err = fmt.Errorf("%w: %d bytes wanted at byte %d, %d left", ErrTruncated, int64(limbs)*LimbBytes, r.pos, r.Remaining())
	}
	return r.err == nil
}

// limb parses one limb. It refuses a limb that is not below p, which would be a second encoding of an element.
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

// hint reads the elements of v. If one is not below p, it fails there and leaves the rest of v as it is, zero.
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

// HintDigest reads a digest without absorbing it. It refuses words that are not below p if the suite's digests are elements of F.
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

// Mask makes the transcript masked until Unmask: elements of K are sent minus pads, which tape t records, and Form is the only method that
// reads them.
func (r *Reader) Mask(t *Tape) { r.tape = t }

// Unmask ends what Mask began.
func (r *Reader) Unmask() { r.tape = nil }

// Masked says whether elements are sent minus pads.
func (r *Reader) Masked() bool { return r.tape != nil }

// Form reads and absorbs one element of K. In a masked transcript it is sent minus a pad, and the result has that pad.
func (r *Reader) Form() Form {
	v := r.qm31()
	if r.tape != nil {
		return r.tape.receive(v)
	}
	return Known(v)
}

// Zero demands that a form is zero. In a plain transcript it fails with err if it is not. In a masked one it records an equation, which
// the opening of the proof checks.
func (r *Reader) Zero(f Form, err error) {
	switch {
	case r.tape != nil:
		r.tape.equations = append(r.tape.equations, f)
	case !f.Plain().IsZero():
		r.Fail(err)
	}
}

// clear panics if the transcript is masked. It is called by methods that read elements without pads, which would be wrong there.
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

// qm31 reads and absorbs one element of K as it is in the proof.
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

// CheckGrind reads and absorbs the nonce of a proof of work of this number of bits ([Writer.Grind]), and
// fails if the nonce does not do the work. Without the check a prover could try as many messages as it
// likes for a lucky challenge.
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
