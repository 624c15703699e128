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
// round take: two sums.
const SumcheckRoundWords = 2 * SumWords

// SumcheckRound does a round of the first active instances of a batch, those of
// more than logPairs variables: it binds the round before to r, where there was
// one for the instance, and adds to sums, SumcheckRoundWords words an instance,
// what sumcheck.Sums says. These words are posted.
func SumcheckRound(d Device, batch Ptr, active, logPairs int, r field.QM31, sums Ptr, p Post) error {
	if active < 1 || logPairs < 0 || logPairs > 40 {
		return fmt.Errorf("sumcheck round of %d instances and 2^%d pairs", active, logPairs)
	}
	low, high := pack(r)
	return d.Launch(Kernel{"sumcheck", "sumcheck_round"}, looped(1<<logPairs, active, manyBlocks(active<<logPairs)),
		post(p, uint64(batch), uint64(sums), uint64(logPairs), low, high)...)
}

// manyBlocks is the number of blocks for n pairs in all. More of them read
// memory a little faster, and make more sums to add up at the end.
func manyBlocks(n int) int {
	if n >= 1<<22 {
		return 4 * sumBlocks
	}
	return sumBlocks
}

// SumcheckInner adds Σ_x eq(x_0 …)·a[x]·b[x] over 2^vars entries to the
// SumWords words at sum, which are posted, and zero to as many that follow. eq is
// nil for one.
func SumcheckInner(d Device, sum, a, b Ptr, vars int, eq *EqHeaps, p Post) error {
	var h EqHeaps
	if eq != nil {
		h = *eq
	}
	if vars < 0 || vars > 40 || h.Vars > vars {
		return fmt.Errorf("inner product of 2^%d entries with %d variables in eq", vars, h.Vars)
	}
	return d.Launch(Kernel{"sumcheck", "sumcheck_inner"}, looped(1<<vars, 1, manyBlocks(1<<vars)), post(p, uint64(sum), uint64(a), uint64(b),
		uint64(vars), uint64(h.outer), uint64(h.inner), uint64(h.innerVars), uint64(h.Vars))...)
}

// SumcheckGather copies the first size entries of A and of B of each of n
// instances to out, 2·size elements for each.
func SumcheckGather(d Device, out, batch Ptr, n, size int) error {
	if n < 1 || size < 1 {
		return fmt.Errorf("gathering %d entries of %d instances", size, n)
	}
	return d.Launch(Kernel{"sumcheck", "sumcheck_gather"}, Cover(size*n), uint64(out), uint64(batch), uint64(n), uint64(size))
}
