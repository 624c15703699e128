package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/math/field"
)

// SumcheckInstance is an instance of a batched sumcheck on the device: tables A
// and B of 2^Vars elements of K, and the heaps of its eq coordinates, nil if it
// has none.
type SumcheckInstance struct {
	A, B    Ptr
	Vars    int
	Eq      *EqHeaps
	Flipped uint64 // bit j is set where coordinate j of eq is zero
}

// instanceWords is the size of an instance in sumcheck.cu.
const instanceWords = 8

// A SumcheckBatch are instances as kernels take them: in memory, or one by itself as parameters,
// which takes no copy to the device.
type SumcheckBatch struct {
	d     Device
	words []uint64
	at    Ptr // zero until it is wanted
}

// NewSumcheckBatch describes instances in descending order of Vars. It allocates memory for several, and
// for one when a launch first wants it there.
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

// Memory returns where the instances are on the device. It belongs to whoever asked for the batch.
func (b *SumcheckBatch) Memory() (at Ptr, err error) {
	if b.at == 0 {
		b.at, err = NewSlice(b.d, b.words)
	}
	return b.at, err
}

// parameters are those of a kernel that takes one instance without memory: where they are, and it.
func (b *SumcheckBatch) parameters() []uint64 {
	if len(b.words) == instanceWords {
		return append([]uint64{0}, b.words...)
	}
	return append([]uint64{uint64(b.at)}, make([]uint64, instanceWords)...)
}

// SumcheckRoundWords is the number of words that an instance's sums of one
// round take, and SumcheckTwoRoundsWords and SumcheckThreeRoundsWords those of two and three
// rounds at once.
const (
	SumcheckRoundWords       = 2 * SumWords
	SumcheckTwoRoundsWords   = 8 * SumWords
	SumcheckThreeRoundsWords = 27 * SumWords
)

// SumcheckRound does a round of the first active instances of a batch, those of
// more than logPairs variables. The tables of instances that have been in a
// round are first bound to the challenges since the last launch, one or two;
// there may be none in the first round alone. It makes, of SumcheckRoundWords words
// an instance, what sumcheck.Sums says.
func SumcheckRound(d Device, batch *SumcheckBatch, active, logPairs int, pending []field.QM31, p Post) error {
	return sumcheckPass(d, "sumcheck_round", 1, manyBlocks(active<<logPairs), batch, active, logPairs, pending, p)
}

// SumcheckTwoRounds does two rounds at once of the first active instances, of
// at least logQuads + 2 variables each. It makes, of SumcheckTwoRoundsWords words
// an instance, what TwoRounds takes, with the weights of the variables after the
// two. Instances with eq coordinates left come with few quads in all (FewQuads).
func SumcheckTwoRounds(d Device, batch *SumcheckBatch, active, logQuads int, pending []field.QM31, p Post) error {
	if active<<logQuads > FewQuads {
		return sumcheckPass(d, "sumcheck_two_rounds", 1, resident, batch, active, logQuads, pending, p)
	}
	return sumcheckPass(d, "sumcheck_two_rounds_in_lanes", 8, resident, batch, active, logQuads, pending, p)
}

// sumcheckPass launches a pass with so many lanes for each of its terms.
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

// gramBlocks is how many blocks of sumcheck_three_rounds run at once, one on a processor, each of
// gramThreads threads with gramShared bytes of shared memory. It takes 2^logGramOctets octets at most.
const (
	gramBlocks    = 132
	gramThreads   = 512
	gramShared    = 12 * gramThreads * 16
	logGramOctets = 15
	// gramParts is PARTS of sumcheck.cu.
	gramParts = 4
)

// gramGrid is how many blocks take an instance.
func gramGrid(active, logOctets int) int {
	return max(1, min(gramBlocks/active, 1<<logOctets/32), 1<<logOctets>>logGramOctets)
}

// SumcheckThreeRoundsParts is how many parts, of SumcheckThreeRoundsWords words each, SumcheckThreeRounds leaves
// in a result buffer for an instance: few blocks send what each of them has summed.
func SumcheckThreeRoundsParts(active, logOctets int) int {
	if n := gramGrid(active, logOctets); n <= gramParts {
		return n
	}
	return 1
}

// SumcheckThreeRounds does three rounds at once of the first active instances, of at least logOctets + 3
// variables each, on the tensor cores; up to three challenges may be pending. It makes, of
// SumcheckThreeRoundsWords words an instance, what NewGrid takes, with the weights of the variables after the
// three; in a result buffer as many of these as SumcheckThreeRoundsParts says.
func SumcheckThreeRounds(d Device, batch *SumcheckBatch, active, logOctets int, pending []field.QM31, p Post) error {
	if active < 1 || logOctets < 0 || logOctets > 40 || len(pending) > 3 {
		return fmt.Errorf("three rounds of %d instances, 2^%d octets and %d challenges", active, logOctets, len(pending))
	}
	return threeRounds(d, gramGrid(active, logOctets), batch, active, logOctets, pending, p)
}

// threeRounds launches the pass with so many blocks for each instance.
func threeRounds(d Device, blocks int, batch *SumcheckBatch, active, logOctets int, pending []field.QM31, p Post) error {
	return d.Launch(Kernel{"sumcheck", "sumcheck_three_rounds"}, Launch{GridX: blocks, GridY: active, Block: gramThreads, Shared: gramShared},
		p.sums(append(append(batch.parameters(), uint64(logOctets)), threeChallenges(pending)...)...)...)
}

// threeChallenges are at most three as kernels take them, and their number.
func threeChallenges(pending []field.QM31) []uint64 {
	words := make([]uint64, 7)
	words[0] = uint64(len(pending))
	for i, r := range pending {
		words[1+2*i], words[2+2*i] = pack(r)
	}
	return words
}

// FewQuads is up to how many quads of entries eight lanes for each take less time than one.
const FewQuads = 1 << 15

// challenges are at most two as kernels take them: their number and what entries are bound with.
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

// TwoRounds are sums over two rounds: of products with the two variables at
// (0,0), (0,1) and (1,0), and their leading coefficients in the first at (·,0) and
// (·,1), in the second at (0,·) and (1,·), and in both.
type TwoRounds [8]field.QM31

// NewTwoRounds reads them from SumcheckTwoRoundsWords words.
func NewTwoRounds(words []uint64) *TwoRounds {
	var t TwoRounds
	for i := range t {
		t[i] = FromSum(words[SumWords*i:])
	}
	return &t
}

// First returns the first round's value at 0 and leading coefficient.
func (t *TwoRounds) First() (zero, top field.QM31) { return t[0].Add(t[1]), t[3].Add(t[4]) }

// FirstEq is First where the second variable has an eq coordinate.
func (t *TwoRounds) FirstEq(e field.QM31) (zero, top field.QM31) {
	at := func(zero, one field.QM31) field.QM31 { return zero.Add(e.Mul(one.Sub(zero))) }
	return at(t[0], t[1]), at(t[3], t[4])
}

// Second returns those of the second round, with the first variable at r.
func (t *TwoRounds) Second(r field.QM31) (zero, top field.QM31) {
	at := func(zero, one, lead field.QM31) field.QM31 {
		return lead.Mul(r).Add(one.Sub(zero).Sub(lead)).Mul(r).Add(zero)
	}
	return at(t[0], t[2], t[3]), at(t[5], t[6], t[7])
}

// manyBlocks is the number of blocks for n pairs in all. More of them read
// memory a little faster, and make more sums to add up at the end.
func manyBlocks(n int) int {
	if n >= 1<<22 {
		return 4 * sumBlocks
	}
	return sumBlocks
}

// SumcheckInner makes Σ_x eq(x_0 …)·A[x]·B[x] of each of n instances of a batch, the first of which
// has 2^vars entries, in the first half of SumcheckRoundWords words each.
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

// SumcheckRest writes what is left of A and of B of each of n instances, 2^left entries of both:
// those that have been in a round, of more than left variables, are bound to the pending challenges,
// at most three, for it. An instance of fewer variables has fewer entries, and what follows them is undefined.
func SumcheckRest(d Device, batch *SumcheckBatch, n, left int, pending []field.QM31, p Post) error {
	if n < 1 || left < 0 || left > 40 || len(pending) > 3 {
		return fmt.Errorf("the rest of %d instances, 2^%d entries and %d challenges", n, left, len(pending))
	}
	return d.Launch(Kernel{"sumcheck", "sumcheck_rest"}, small(16*n<<left),
		p.elements(append(append(batch.parameters(), uint64(n), uint64(left)), threeChallenges(pending)...)...)...)
}
