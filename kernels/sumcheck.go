package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/field"
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

// NewSumcheckBatch writes the instances, in descending order of Vars, to memory
// that it allocates.
func NewSumcheckBatch(d Device, insts []SumcheckInstance) (Ptr, error) {
	words := make([]uint64, 0, instanceWords*len(insts))
	for i, in := range insts {
		if in.Vars < 0 || in.Vars > 40 || in.A == 0 || in.B == 0 || i > 0 && in.Vars > insts[i-1].Vars {
			return 0, fmt.Errorf("sumcheck instance %d of %d variables", i, in.Vars)
		}
		var h EqHeaps
		if in.Eq != nil {
			h = *in.Eq
		}
		if h.Vars > in.Vars {
			return 0, fmt.Errorf("sumcheck instance %d has %d variables and %d in eq", i, in.Vars, h.Vars)
		}
		words = append(words, uint64(in.A), uint64(in.B), uint64(h.outer), uint64(h.inner),
			uint64(in.Vars), uint64(h.Vars), uint64(h.innerVars), in.Flipped)
	}
	return NewSlice(d, words)
}

// SumcheckRoundWords is the number of words that an instance's sums of one
// round take, and SumcheckTwoRoundsWords those of two rounds at once.
const (
	SumcheckRoundWords     = 2 * SumWords
	SumcheckTwoRoundsWords = 8 * SumWords
)

// SumcheckRound does a round of the first active instances of a batch, those of
// more than logPairs variables. The tables of instances that have been in a
// round are first bound to the challenges since the last launch, one or two;
// there may be none in the first round alone. To sums, SumcheckRoundWords words
// an instance, it adds what sumcheck.Sums says. These words are posted.
func SumcheckRound(d Device, batch Ptr, active, logPairs int, pending []field.QM31, sums Ptr, p Post) error {
	return sumcheckPass(d, "sumcheck_round", batch, active, logPairs, pending, sums, p)
}

// SumcheckTwoRounds does two rounds at once of the first active instances, of
// at least logQuads + 2 variables each, without eq coordinates left. To sums,
// SumcheckTwoRoundsWords words an instance, it adds what TwoRounds takes. These
// words are posted.
func SumcheckTwoRounds(d Device, batch Ptr, active, logQuads int, pending []field.QM31, sums Ptr, p Post) error {
	return sumcheckPass(d, "sumcheck_two_rounds", batch, active, logQuads, pending, sums, p)
}

func sumcheckPass(d Device, kernel string, batch Ptr, active, logTerms int, pending []field.QM31, sums Ptr, p Post) error {
	if active < 1 || logTerms < 0 || logTerms > 40 || len(pending) > 2 {
		return fmt.Errorf("%s of %d instances, 2^%d terms and %d challenges", kernel, active, logTerms, len(pending))
	}
	var words [4]uint64
	for i, r := range pending {
		words[2*i], words[2*i+1] = pack(r)
	}
	return d.Launch(Kernel{"sumcheck", kernel}, looped(1<<logTerms, active, manyBlocks(active<<logTerms)),
		post(p, uint64(batch), uint64(sums), uint64(logTerms), uint64(len(pending)), words[0], words[1], words[2], words[3])...)
}

// TwoRounds are the sums of an instance over two rounds: of A·B with the two
// variables at (0,0), (0,1) and (1,0), and its leading coefficients in the
// first at (·,0) and (·,1), in the second at (0,·) and (1,·), and in both.
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

// SumcheckInner adds Σ_x eq(x_0 …)·A[x]·B[x] of each of n instances of a batch, the first of which
// has 2^vars entries, to SumcheckRoundWords words each at sums, and zero to the second half of
// these. They are posted.
func SumcheckInner(d Device, batch Ptr, n, vars int, sums Ptr, p Post) error {
	if n < 1 || vars < 0 || vars > 40 {
		return fmt.Errorf("%d inner products of 2^%d entries", n, vars)
	}
	return d.Launch(Kernel{"sumcheck", "sumcheck_inner"}, looped(1<<vars, n, manyBlocks(n<<vars)), append([]uint64{uint64(batch), uint64(sums)}, p.words()...)...)
}

// SumcheckGather copies the first size entries of A and of B of each of n
// instances to out, 2·size elements for each.
func SumcheckGather(d Device, out, batch Ptr, n, size int) error {
	if n < 1 || size < 1 {
		return fmt.Errorf("gathering %d entries of %d instances", size, n)
	}
	return d.Launch(Kernel{"sumcheck", "sumcheck_gather"}, Cover(size*n), uint64(out), uint64(batch), uint64(n), uint64(size))
}
