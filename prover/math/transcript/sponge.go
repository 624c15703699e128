package transcript

import (
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poseidon2"
)

// Sponge is a duplex sponge in overwrite mode (Bertoni et al., "Duplexing the
// sponge", 2011) over Poseidon2 with a rate of 8 and a capacity of 8 lanes.
//
// Every permutation first adds to the last capacity lane a tag of how many
// rate lanes were overwritten and why the permutation happens. So no two
// different sequences of operations lead to the same input of a permutation:
// absorbing [a] and absorbing [a, 0] differ, and so do a fork and its parent.
//
// A Sponge is not safe for concurrent use.
type Sponge struct {
	state poseidon2.State
	in    int // rate lanes overwritten since the last permutation
	out   int // first rate lane not yet given as a challenge; Rate when none is left
}

// cause is the reason of a permutation, part of its tag.
type cause field.M31

const (
	causeAbsorb  cause = iota // the rate is full
	causeSqueeze              // a challenge is wanted
	causeFork                 // a child begins
	causeJoin                 // a child's digest is taken
	causeGrind                // a proof-of-work nonce has been absorbed
)

// tagLane is the capacity lane that takes the tags.
const tagLane = poseidon2.Width - 1

// New returns a sponge bound to label, which names the protocol and version.
func New(label string) *Sponge {
	s := &Sponge{out: poseidon2.Rate}
	s.AbsorbBytes([]byte(label))
	return s
}

// tag is the value added to the capacity for a permutation with this many
// overwritten lanes (0 … 8).
func tag(c cause, lanes int) field.M31 { return field.M31(c)*16 + field.M31(lanes) }

// permute ends the current block.
func (s *Sponge) permute(c cause) {
	s.state[tagLane] = s.state[tagLane].Add(tag(c, s.in))
	poseidon2.Permute(&s.state)
	s.in, s.out = 0, 0
}

// Absorb absorbs base-field elements.
func (s *Sponge) Absorb(v ...field.M31) {
	for len(v) > 0 {
		if s.in == poseidon2.Rate {
			s.permute(causeAbsorb)
		}
		n := copy(s.state[s.in:poseidon2.Rate], v)
		s.in += n
		v = v[n:]
	}
}

// AbsorbQM31 absorbs elements of K as four limbs each.
func (s *Sponge) AbsorbQM31(v ...field.QM31) {
	for i := range v {
		limbs := v[i].Limbs()
		s.Absorb(limbs[:]...)
	}
}

// AbsorbDigest absorbs digests.
func (s *Sponge) AbsorbDigest(d ...poseidon2.Digest) {
	for i := range d {
		s.Absorb(d[i][:]...)
	}
}

// AbsorbUint64 absorbs an integer as limbs of 24, 24 and 16 bits, the lowest
// first.
func (s *Sponge) AbsorbUint64(v uint64) {
	s.Absorb(field.M31(v&0xffffff), field.M31(v>>24&0xffffff), field.M31(v>>48))
}

// AbsorbBytes absorbs a byte string: its length, then three bytes a limb,
// little-endian. Different strings give different sequences of limbs.
func (s *Sponge) AbsorbBytes(b []byte) {
	s.AbsorbUint64(uint64(len(b)))
	for len(b) > 0 {
		var limb [3]byte
		n := copy(limb[:], b)
		s.Absorb(field.M31(limb[0]) | field.M31(limb[1])<<8 | field.M31(limb[2])<<16)
		b = b[n:]
	}
}

// squeeze returns the next challenge lane. The lanes of a random permutation's
// output are uniform in F_p, so that nothing has to be rejected here.
func (s *Sponge) squeeze() field.M31 {
	if s.in > 0 || s.out == poseidon2.Rate {
		s.permute(causeSqueeze)
	}
	s.out++
	return s.state[s.out-1]
}

// Challenge returns a uniform element of K that depends on everything
// absorbed so far.
func (s *Sponge) Challenge() field.QM31 {
	var l [4]field.M31
	for i := range l {
		l[i] = s.squeeze()
	}
	return field.NewQM31(l[0], l[1], l[2], l[3])
}

// Challenges returns n challenges.
func (s *Sponge) Challenges(n int) []field.QM31 {
	c := make([]field.QM31, n)
	for i := range c {
		c[i] = s.Challenge()
	}
	return c
}

// maxIndexBits bounds what Indices can draw: two lanes of 24 bits.
const maxIndexBits = 48

// Indices returns n independent indexes, each exactly uniform in [0, 2^bits);
// they may repeat. It panics unless 0 ≤ bits ≤ 48.
func (s *Sponge) Indices(n, bits int) []uint64 {
	if bits < 0 || bits > maxIndexBits {
		panic("transcript: Indices takes 0 to 48 bits")
	}
	idx := make([]uint64, n)
	for i := range idx {
		low := min(bits, maxIndexBits/2)
		idx[i] = s.uniformBits(low) | s.uniformBits(bits-low)<<low
	}
	return idx
}

// uniformBits returns an integer uniform in [0, 2^bits), bits ≤ 30. A lane is
// one of 2^31 − 1 values; the last 2^bits − 1 of them, which would favour small
// results, are rejected.
func (s *Sponge) uniformBits(bits int) uint64 {
	if bits == 0 {
		return 0
	}
	for {
		if v := uint64(s.squeeze()); v < 1<<31-1<<bits {
			return v & (1<<bits - 1)
		}
	}
}

// clone returns a copy that shares nothing.
func (s *Sponge) clone() *Sponge {
	c := *s
	return &c
}

// Fork returns a child bound to all that s has absorbed and to index. s itself
// does not change, so that children may be forked in any order.
func (s *Sponge) Fork(index uint64) *Sponge {
	c := s.clone()
	c.permute(causeFork)
	c.AbsorbUint64(index)
	return c
}

// Join absorbs a digest of each child's state, in the order given. The
// children do not change.
func (s *Sponge) Join(children ...*Sponge) {
	for _, c := range children {
		s.AbsorbDigest(c.digest())
	}
}

// digest returns eight lanes that bind everything absorbed so far.
func (s *Sponge) digest() poseidon2.Digest {
	c := s.clone()
	c.permute(causeJoin)
	return poseidon2.Digest(c.state[:poseidon2.DigestLen])
}
