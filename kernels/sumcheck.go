package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/math/field"
)

// SumcheckInstance is an instance of a batched sumcheck on the device: tables A and B
// of 2^Vars elements of K, and the heaps of the instance's eq coordinates, nil if it
// has none.
type SumcheckInstance struct {
	A, B    Ptr
	Vars    int
	Eq      *EqHeaps
	Flipped uint64 // bit j is set if eq has its coordinate j at zero, not at a challenge
}

// instanceWords is the size of an instance in sumcheck.cu.
const instanceWords = 8

// A SumcheckBatch describes instances to kernels: in device memory, or, for a single instance,
// in the parameters of a launch, which saves a copy to the device.
type SumcheckBatch struct {
	d     Device
	words []uint64
	at    Ptr // the instances in device memory; zero until they are there
}

// NewSumcheckBatch describes instances, which are given in descending order of Vars. It copies several
// instances to the device at once, and a single one when a launch first needs it there.
func NewSumcheckBatch(d Device, insts []SumcheckInstance) (*SumcheckBatch, error) {
	b := &SumcheckBatch{d: d, words: make([]uint64, 0, instanceWords*len(insts))}
	for i, in := range insts {
		if in.Vars < 0 || in.Vars > 40 || in.A == 0 || in.B == 0 || i > 0 && in.Vars > insts[i-1].Vars {
			return nil, fmt.Errorf("sumcheck instance %d of %d variables", i, in.Vars)
		}
		var h EqHeaps
		if in.Eq != nil {
			h = *in.Eq
		}
		if h.Vars > in.Vars {
			return nil, fmt.Errorf("sumcheck instance %d has %d variables and %d in eq", i, in.Vars, h.Vars)
		}
		b.words = append(b.words, uint64(in.A), uint64(in.B), uint64(h.outer), uint64(h.inner),
			uint64(in.Vars), uint64(h.Vars), uint64(h.innerVars), in.Flipped)
	}
	if len(insts) != 1 {
		if _, err := b.Memory(); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Memory returns where the instances are on the device. The caller of NewSumcheckBatch frees that memory.
func (b *SumcheckBatch) Memory() (at Ptr, err error) {
	if b.at == 0 {
		b.at, err = NewSlice(b.d, b.words)
	}
	return b.at, err
}

// parameters returns the first arguments of a kernel that takes a single instance as parameters: 0 and the instance, or
// the address of several instances and padding.
func (b *SumcheckBatch) parameters() []uint64 {
	if len(b.words) == instanceWords {
		return append([]uint64{0}, b.words...)
	}
	return append([]uint64{uint64(b.at)}, make([]uint64, instanceWords)...)
}

// SumcheckRoundWords is the number of words of an instance's sums of one round.
// SumcheckTwoRoundsWords and SumcheckThreeRoundsWords are those of two and three rounds at
// once.
const (
	SumcheckRoundWords       = 2 * SumWords
	SumcheckTwoRoundsWords   = 8 * SumWords
	SumcheckThreeRoundsWords = 27 * SumWords
)

// SumcheckRound does a round of the first `active` instances of a batch, which are
// those of more than logPairs variables. If the tables of an instance have been in a
// round before, the kernel first binds them to the pending challenges, those since the
// last launch: one or two, or none in the first round. The result for each instance is
// SumcheckRoundWords words, the sums that sumcheck.Sums describes.
func SumcheckRound(d Device, batch *SumcheckBatch, active, logPairs int, pending []field.QM31, p Post) error {
	return sumcheckPass(d, "sumcheck_round", 1, manyBlocks(active<<logPairs), batch, active, logPairs, pending, p)
}

// SumcheckTwoRounds does two rounds at once of the first `active` instances, of at
// least logQuads + 2 variables each. The result for each instance is
// SumcheckTwoRoundsWords words for NewTwoRounds; the sums contain the eq weights of the
// variables after these two. Instances that have eq coordinates left may only come if
// there are few quads in all (FewQuads).
func SumcheckTwoRounds(d Device, batch *SumcheckBatch, active, logQuads int, pending []field.QM31, p Post) error {
	if active<<logQuads > FewQuads {
		return sumcheckPass(d, "sumcheck_two_rounds", 1, resident, batch, active, logQuads, pending, p)
	}
	return sumcheckPass(d, "sumcheck_two_rounds_in_lanes", 8, resident, batch, active, logQuads, pending, p)
}

// sumcheckPass launches a pass with so many lanes (threads) for each of its 2^logTerms terms.
func sumcheckPass(d Device, kernel string, lanes, blocks int, batch *SumcheckBatch, active, logTerms int, pending []field.QM31,
	p Post) error {
	if active < 1 || logTerms < 0 || logTerms > 40 || len(pending) > 2 {
		return fmt.Errorf("%s of %d instances, 2^%d terms and %d challenges", kernel, active, logTerms, len(pending))
	}
	at, err := batch.Memory()
	if err != nil {
		return err
	}
	return d.Launch(Kernel{"sumcheck", kernel}, looped(lanes<<logTerms, active, blocks),
		p.sums(append([]uint64{uint64(at), uint64(logTerms)}, challenges(pending)...)...)...)
}

// gramBlocks is how many blocks of sumcheck_three_rounds run at once, one on each of 132 processors. A
// block has gramThreads threads and gramShared bytes of shared memory, and takes at most
// 2^logGramOctets octets of entries.
const (
	gramBlocks    = 132
	gramThreads   = 512
	gramShared    = 12 * gramThreads * 16
	logGramOctets = 15
	// gramParts is PARTS of sumcheck.cu.
	gramParts = 4
)

// gramGrid returns how many blocks work on each instance.
func gramGrid(active, logOctets int) int {
	return max(1, min(gramBlocks/active, 1<<logOctets/32), 1<<logOctets>>logGramOctets)
}

// SumcheckThreeRoundsParts returns how many parts, of SumcheckThreeRoundsWords words each, SumcheckThreeRounds
// leaves in a result buffer for an instance. The host adds them up (NewGrid). If an instance has at most
// gramParts blocks, each of them leaves its own sums.
func SumcheckThreeRoundsParts(active, logOctets int) int {
	if n := gramGrid(active, logOctets); n <= gramParts {
		return n
	}
	return 1
}

// SumcheckThreeRounds does three rounds at once of the first `active` instances, of at least logOctets + 3
// variables each, on the tensor cores. Up to three challenges may be pending. The result for each instance is
// SumcheckThreeRoundsWords words for NewGrid, with the eq weights of the variables after these three; in a
// result buffer it consists of as many such parts as SumcheckThreeRoundsParts returns.
func SumcheckThreeRounds(d Device, batch *SumcheckBatch, active, logOctets int, pending []field.QM31, p Post) error {
	if active < 1 || logOctets < 0 || logOctets > 40 || len(pending) > 3 {
		return fmt.Errorf("three rounds of %d instances, 2^%d octets and %d challenges", active, logOctets, len(pending))
	}
	return threeRounds(d, gramGrid(active, logOctets), batch, active, logOctets, pending, p)
}

// threeRounds launches the pass with `blocks` blocks for each instance.
func threeRounds(d Device, blocks int, batch *SumcheckBatch, active, logOctets int, pending []field.QM31, p Post) error {
	return d.Launch(Kernel{"sumcheck", "sumcheck_three_rounds"}, Launch{GridX: blocks, GridY: active, Block: gramThreads, Shared: gramShared},
		p.sums(append(append(batch.parameters(), uint64(logOctets)), threeChallenges(pending)...)...)...)
}

// threeChallenges returns up to three challenges as kernels take them: their number, and two words for each.
func threeChallenges(pending []field.QM31) []uint64 {
	words := make([]uint64, 7)
	words[0] = uint64(len(pending))
	for i, r := range pending {
		words[1+2*i], words[2+2*i] = pack(r)
	}
	return words
}

// FewQuads is the number of quads of entries up to which a pass takes less time with eight lanes for each quad than
// with one.
const FewQuads = 1 << 15

// challenges returns up to two challenges as kernels take them: their number, and the coefficients with which entries
// are bound. For challenges r and s these are (1−r)·s, r·(1−s) and r·s. Four old entries a, b, c and d, at (0,0),
// (0,1), (1,0) and (1,1), become a + (1−r)·s·(b−a) + r·(1−s)·(c−a) + r·s·(d−a).
func challenges(pending []field.QM31) []uint64 {
	var w [3]field.QM31
	switch len(pending) {
	case 1:
		w[0] = pending[0]
	case 2:
		r, s := pending[0], pending[1]
		w[2] = r.Mul(s)
		w[0], w[1] = s.Sub(w[2]), r.Sub(w[2])
	}
	words := make([]uint64, 7)
	words[0] = uint64(len(pending))
	for i, v := range w {
		words[1+2*i], words[2+2*i] = pack(v)
	}
	return words
}

// TwoRounds are the sums of two rounds of a sumcheck. Write f(X, Y) for the product, of
// degree two in each variable, summed over the other variables. The entries are f(0,0),
// f(0,1), f(1,0); the coefficient of X² at Y = 0 and at Y = 1; the coefficient of Y² at
// X = 0 and at X = 1; and the coefficient of X²Y².
type TwoRounds [8]field.QM31

// NewTwoRounds reads the sums from SumcheckTwoRoundsWords words.
func NewTwoRounds(words []uint64) *TwoRounds {
	var t TwoRounds
	for i := range t {
		t[i] = FromSum(words[SumWords*i:])
	}
	return &t
}

// First returns the first round's polynomial, f summed over Y: its value at 0, and its leading coefficient.
func (t *TwoRounds) First() (zero, top field.QM31) { return t[0].Add(t[1]), t[3].Add(t[4]) }

// FirstEq is First if the second variable has the eq coordinate e: the values at Y = 0 and Y = 1 then have the weights
// 1 − e and e.
func (t *TwoRounds) FirstEq(e field.QM31) (zero, top field.QM31) {
	at := func(zero, one field.QM31) field.QM31 { return zero.Add(e.Mul(one.Sub(zero))) }
	return at(t[0], t[1]), at(t[3], t[4])
}

// Second returns the second round's polynomial, f(r, Y): its value at 0, and its leading coefficient.
func (t *TwoRounds) Second(r field.QM31) (zero, top field.QM31) {
	at := func(zero, one, lead field.QM31) field.QM31 {
		return lead.Mul(r).Add(one.Sub(zero).Sub(lead)).Mul(r).Add(zero)
	}
	return at(t[0], t[2], t[3]), at(t[5], t[6], t[7])
}

// manyBlocks returns the number of blocks for n pairs in all. With more blocks memory
// is read a little faster, but more sums have to be added up at the end.
func manyBlocks(n int) int {
	if n >= 1<<22 {
		return 4 * sumBlocks
	}
	return sumBlocks
}

// SumcheckInner computes Σ_x eq(x_0 …)·A[x]·B[x] for each of the first n instances of a batch, the
// first of which has 2^vars entries. The result takes the first half of SumcheckRoundWords words
// for each.
func SumcheckInner(d Device, batch *SumcheckBatch, n, vars int, p Post) error {
	if n < 1 || vars < 0 || vars > 40 {
		return fmt.Errorf("%d inner products of 2^%d entries", n, vars)
	}
	at, err := batch.Memory()
	if err != nil {
		return err
	}
	return d.Launch(Kernel{"sumcheck", "sumcheck_inner"}, looped(1<<vars, n, manyBlocks(n<<vars)), p.sums(uint64(at))...)
}

// SumcheckRest writes the tables A and B of each of n instances as far as they are not bound, 2^left entries
// of each. Instances of more than `left` variables have been in a round, and are first bound to the pending
// challenges, at most three. An instance of fewer variables has fewer entries; the entries after them are
// undefined.
func SumcheckRest(d Device, batch *SumcheckBatch, n, left int, pending []field.QM31, p Post) error {
	if n < 1 || left < 0 || left > 40 || len(pending) > 3 {
		return fmt.Errorf("the rest of %d instances, 2^%d entries and %d challenges", n, left, len(pending))
	}
	return d.Launch(Kernel{"sumcheck", "sumcheck_rest"}, small(16*n<<left),
		p.elements(append(append(batch.parameters(), uint64(n), uint64(left)), threeChallenges(pending)...)...)...)
}
