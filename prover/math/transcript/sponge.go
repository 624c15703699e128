package transcript

import (
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// Sponge absorbs messages and gives challenges, with the transcript of a hash suite.
//
// A Sponge is not safe for concurrent use, except that several goroutines may fork it at once.
type Sponge struct {
	suite hash.Suite
	of    hash.Transcript
	limbs [4]field.M31 // memory for the limbs of one element
}

// New returns a sponge of a suite bound to label, which names the protocol and version.
func New(suite hash.Suite, label string) *Sponge {
	return &Sponge{suite: suite, of: suite.NewTranscript(label)}
}

// Suite returns the sponge's suite.
func (s *Sponge) Suite() hash.Suite { return s.suite }

// Absorb absorbs base-field elements.
func (s *Sponge) Absorb(v ...field.M31) { s.of.AbsorbElements(v) }

// AbsorbQM31 absorbs elements of K as four limbs each.
func (s *Sponge) AbsorbQM31(v ...field.QM31) {
	for i := range v {
		s.limbs = v[i].Limbs()
		s.of.AbsorbElements(s.limbs[:])
	}
}

// AbsorbDigest absorbs digests.
func (s *Sponge) AbsorbDigest(d ...hash.Digest) { s.of.AbsorbDigests(d) }

// AbsorbUint64 absorbs an integer.
func (s *Sponge) AbsorbUint64(v uint64) { s.of.AbsorbUint64(v) }

// AbsorbBytes absorbs a byte string, of any length.
func (s *Sponge) AbsorbBytes(b []byte) { s.of.AbsorbBytes(b) }

// Challenge returns a uniform element of K that depends on everything
// absorbed so far.
func (s *Sponge) Challenge() field.QM31 {
	s.of.Draw(s.limbs[:])
	return field.NewQM31(s.limbs[0], s.limbs[1], s.limbs[2], s.limbs[3])
}

// Challenges returns n challenges in one draw. n calls of Challenge may give others.
func (s *Sponge) Challenges(n int) []field.QM31 {
	limbs := make([]field.M31, 4*n)
	s.of.Draw(limbs)
	c := make([]field.QM31, n)
	for i := range c {
		c[i] = field.NewQM31(limbs[4*i], limbs[4*i+1], limbs[4*i+2], limbs[4*i+3])
	}
	return c
}

// maxIndexBits bounds what Indices can draw.
const maxIndexBits = 48

// Indices returns n independent indexes, each exactly uniform in [0, 2^bits),
// in one draw; they may repeat. It panics unless 0 ≤ bits ≤ 48.
func (s *Sponge) Indices(n, bits int) []uint64 {
	if bits < 0 || bits > maxIndexBits {
		panic("transcript: Indices takes 0 to 48 bits")
	}
	idx := make([]uint64, n)
	s.of.DrawIndices(idx, bits)
	return idx
}

// Clone returns an independent copy.
func (s *Sponge) Clone() *Sponge { return &Sponge{suite: s.suite, of: s.of.Clone()} }

// Fork returns a child bound to all that s has absorbed and to index. s itself
// does not change, so that children may be forked in any order.
func (s *Sponge) Fork(index uint64) *Sponge { return &Sponge{suite: s.suite, of: s.of.Fork(index)} }

// Join absorbs a digest of each child's state, in the order given. The
// children do not change. Joining the same children in several calls gives another state.
func (s *Sponge) Join(children ...*Sponge) {
	of := make([]hash.Transcript, len(children))
	for i, c := range children {
		of[i] = c.of
	}
	s.of.Join(of)
}

// Over returns a sponge over the given transcript, which must be of the suite's kind. Tests use it to fix challenges.
func Over(suite hash.Suite, of hash.Transcript) *Sponge { return &Sponge{suite: suite, of: of} }
