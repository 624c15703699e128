package poseidon2

import "github.com/prove-model/prove-model/prover/math/field"

// A Transcript turns messages into challenges: a duplex sponge in overwrite mode
// (Bertoni et al., "Duplexing the sponge", 2011) with a rate of 8 and a capacity of
// 8 lanes.
//
// Before every permutation a tag is added to the last capacity lane. It says how many
// rate lanes were overwritten and why the permutation happens. So different
// sequences of operations do not lead to the same input of a permutation:
// absorbing [a] and absorbing [a, 0] differ, and so do a fork and its parent.
//
// It is not safe for concurrent use, except that several goroutines may fork it at once.
type Transcript struct {
	state State
	in    int // rate lanes overwritten since the last permutation
	out   int // the first rate lane that was not returned as a challenge yet; Rate if none is left
}

// cause is the reason for a permutation, a part of its tag.
type cause field.M31

const (
	causeAbsorb  cause = iota // the rate is full
	causeSqueeze              // a challenge is wanted
	causeFork                 // a child begins
	causeJoin                 // a child's digest is taken
	causeGrind                // a proof-of-work nonce has been absorbed
)

// tagLane is the capacity lane that takes the tags.
const tagLane = Width - 1

// NewTranscript returns a transcript whose first message is label.
func NewTranscript(label string) *Transcript {
	t := &Transcript{out: Rate}
	t.AbsorbBytes([]byte(label))
	return t
}

// tag is the value added to the capacity for a permutation with this many
// overwritten lanes (0 … 8).
func tag(c cause, lanes int) field.M31 { return field.M31(c)*16 + field.M31(lanes) }

// permute permutes the state, with a tag for cause c, and begins a new block.
func (t *Transcript) permute(c cause) {
	t.state[tagLane] = t.state[tagLane].Add(tag(c, t.in))
	Permute(&t.state)
	t.in, t.out = 0, 0
}

// AbsorbElements absorbs elements of F.
func (t *Transcript) AbsorbElements(v []field.M31) {
	for len(v) > 0 {
		if t.in == Rate {
			t.permute(causeAbsorb)
		}
		n := copy(t.state[t.in:Rate], v)
		t.in += n
		v = v[n:]
	}
}

// AbsorbDigests absorbs digests.
func (t *Transcript) AbsorbDigests(d []Digest) {
	for i := range d {
		t.AbsorbElements(d[i][:])
	}
}

// AbsorbUint64 absorbs an integer as limbs of 24, 24 and 16 bits, the lowest
// first.
func (t *Transcript) AbsorbUint64(v uint64) {
	t.AbsorbElements([]field.M31{field.M31(v & 0xffffff), field.M31(v >> 24 & 0xffffff), field.M31(v >> 48)})
}

// AbsorbBytes absorbs a byte string: its length, then three bytes a limb,
// little-endian. Different strings give different sequences of limbs.
func (t *Transcript) AbsorbBytes(b []byte) {
	t.AbsorbUint64(uint64(len(b)))
	limbs := make([]field.M31, 0, (len(b)+2)/3)
	for len(b) > 0 {
		var limb [3]byte
		n := copy(limb[:], b)
		limbs = append(limbs, field.M31(limb[0])|field.M31(limb[1])<<8|field.M31(limb[2])<<16)
		b = b[n:]
	}
	t.AbsorbElements(limbs)
}

// squeeze returns the next challenge lane. The lanes of a random permutation's
// output are uniform in F_p, so that nothing has to be rejected here.
func (t *Transcript) squeeze() field.M31 {
	if t.in > 0 || t.out == Rate {
		t.permute(causeSqueeze)
	}
	t.out++
	return t.state[t.out-1]
}

// Draw sets dst to uniform elements of F that depend on everything absorbed so far.
func (t *Transcript) Draw(dst []field.M31) {
	for i := range dst {
		dst[i] = t.squeeze()
	}
}

// maxIndexBits bounds what DrawIndices can draw: two lanes of 24 bits.
const maxIndexBits = 48

// DrawIndices is Draw for integers that are exactly uniform in [0, 2^bits), 0 ≤ bits ≤ 48.
func (t *Transcript) DrawIndices(dst []uint64, bits int) {
	for i := range dst {
		low := min(bits, maxIndexBits/2)
		dst[i] = t.uniformBits(low) | t.uniformBits(bits-low)<<low
	}
}

// uniformBits returns an integer uniform in [0, 2^bits), bits ≤ 30. A lane is
// one of 2^31 − 1 values; the last 2^bits − 1 of them, which would favour small
// results, are rejected.
func (t *Transcript) uniformBits(bits int) uint64 {
	if bits == 0 {
		return 0
	}
	for {
		if v := uint64(t.squeeze()); v < 1<<31-1<<bits {
			return v & (1<<bits - 1)
		}
	}
}

// Clone returns an independent copy.
func (t *Transcript) Clone() *Transcript {
	c := *t
	return &c
}

// Fork returns a child bound to all that t has absorbed and to index. t itself
// does not change, so that children may be forked in any order.
func (t *Transcript) Fork(index uint64) *Transcript {
	c := t.Clone()
	c.permute(causeFork)
	c.AbsorbUint64(index)
	return c
}

// Join absorbs a digest of each child's state, in the order given. The
// children do not change.
func (t *Transcript) Join(children []*Transcript) {
	for _, c := range children {
		t.AbsorbElements(c.end())
	}
}

// end returns a digest of eight lanes that depends on everything absorbed so far. The transcript does not change.
func (t *Transcript) end() []field.M31 {
	c := t.Clone()
	c.permute(causeJoin)
	return c.state[:DigestLen]
}

// Work ends the current block, so that a nonce can be tried with one
// permutation, and returns the state that each try starts from.
func (t *Transcript) Work() State {
	if t.in > 0 {
		t.permute(causeAbsorb)
	}
	start := t.state
	start[tagLane] = start[tagLane].Add(tag(causeGrind, 1))
	return start
}

// EndWork absorbs a nonce and reports whether the lowest bits of the first lane
// are then zero. That lane is not used as a challenge.
func (t *Transcript) EndWork(nonce field.M31, bits int) bool {
	t.Work()
	t.AbsorbElements([]field.M31{nonce})
	t.permute(causeGrind)
	return t.squeeze()&(1<<bits-1) == 0
}

// SearchNonce returns the least of the n nonces from first on that does the proof of work: with the nonce in the first lane of
// the state that Work returned, the lowest bits of the first lane are zero after a permutation. Only nonces below p count. ok
// is false if there is none.
func SearchNonce(start *State, first uint64, n, bits int) (least uint64, ok bool) {
	var states [lanes]State
	for from := uint64(0); from < uint64(n); from += lanes {
		some := states[:min(lanes, uint64(n)-from)]
		for i := range some {
			some[i] = *start
			// Past p a candidate repeats a smaller one and is ignored below.
			some[i][0] = field.Reduce64(first + from + uint64(i))
		}
		PermuteMany(some)
		for i := range some {
			if nonce := first + from + uint64(i); nonce < field.P && some[i][0]&(1<<bits-1) == 0 {
				return nonce, true
			}
		}
	}
	return 0, false
}
