package cuda

import (
	"sort"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/sumcheck"
)

// A sumcheck goes on in the host's memory when it has come down to tailVars
// variables, or to tailEntries entries of all A: the rounds there then take
// less time than a launch and the way back. Variables, for tests.
var tailVars, tailEntries = 8, 1 << 12

// batch is a batched sumcheck whose tables are on the device. It implements
// sumcheck.Tables.
type batch struct {
	sums
	insts  []sumcheckInstance
	order  []int // instances by descending number of variables
	rounds int
	device kernels.Ptr // the instances, in order
	rows   kernels.Ptr // sums of every round and every instance in order
	tail   sumcheck.Tables
	since  int // the tail's first round
	heaps  []*kernels.EqHeaps
}

type sumcheckInstance struct {
	a, b kernels.Ptr
	vars int
	eq   []field.QM31
}

// newBatch prepares at least one instance.
func newBatch(to sums, insts []sumcheckInstance) *batch {
	b := &batch{sums: to, insts: insts, order: make([]int, len(insts))}
	for i, in := range insts {
		b.order[i] = i
		b.rounds = max(b.rounds, in.vars)
	}
	sort.SliceStable(b.order, func(i, j int) bool { return insts[b.order[i]].vars > insts[b.order[j]].vars })
	desc := make([]kernels.SumcheckInstance, len(insts))
	var heaps []*kernels.EqHeaps
	for rank, i := range b.order {
		in := insts[i]
		desc[rank] = kernels.SumcheckInstance{A: in.a, B: in.b, Vars: in.vars}
		if len(in.eq) > 0 {
			h, err := kernels.NewEqHeaps(to.dev, in.eq)
			backend.Check(err)
			heaps = append(heaps, h)
			desc[rank].Eq = h
		}
		for j, e := range in.eq {
			if e.IsZero() {
				desc[rank].Flipped |= 1 << j
			}
		}
	}
	var err error
	b.device, err = kernels.NewSumcheckBatch(to.dev, desc)
	backend.Check(err)
	b.rows = newWords(to.dev, max(b.rounds, 1)*b.rowWords())
	b.heaps = heaps
	return b
}

// rowWords is the memory of a round's sums.
func (b *batch) rowWords() int { return sumsWords(len(b.insts) * kernels.SumcheckRoundWords) }

// active returns the number of instances of at least one variable in the
// round.
func (b *batch) active(round int) int {
	return sort.Search(len(b.order), func(i int) bool { return b.insts[b.order[i]].vars < b.rounds-round })
}

// Round implements sumcheck.Tables.
func (b *batch) Round(round int, r field.QM31) []sumcheck.Sums {
	left := b.rounds - round
	if b.tail == nil && (left <= tailVars || len(b.insts)<<left <= tailEntries) {
		b.moveToHost(round, r)
	}
	if b.tail != nil {
		return b.tail.Round(round-b.since, r)
	}
	n := b.active(round)
	at := kernels.At[uint64](b.rows, round*b.rowWords())
	raw := b.read(at, n*kernels.SumcheckRoundWords, func(p kernels.Post) error {
		return kernels.SumcheckRound(b.dev, b.device, n, left-1, r, at, p)
	})
	sums := make([]sumcheck.Sums, len(b.insts))
	for rank, i := range b.order[:n] {
		w := raw[rank*kernels.SumcheckRoundWords:]
		sums[i] = sumcheck.Sums{First: kernels.FromSum(w), Top: kernels.FromSum(w[kernels.SumWords:])}
	}
	return sums
}

// moveToHost downloads what the rounds from the given one on need, the variable
// of the round before bound to r.
func (b *batch) moveToHost(round int, r field.QM31) {
	left := b.rounds - round
	size := 1 << left
	if round > 0 {
		size *= 2 // the variable before is still there
	}
	n := 2 * size * len(b.insts)
	out := newArray[field.QM31](b.dev, n)
	backend.Check(kernels.SumcheckGather(b.dev, out, b.device, len(b.insts), size))
	data := fetch[field.QM31](b.dev, out, n)
	b.dev.Free(out)
	insts := make([]sumcheck.Instance, len(b.insts))
	for rank, i := range b.order {
		in := b.insts[i]
		ta, tb := data[2*size*rank:][:size], data[2*size*rank+size:][:size]
		vars := min(in.vars, left)
		if in.vars > left {
			h := 1 << left
			field.FoldVec(ta[:h], ta[:2*h], r)
			field.FoldVec(tb[:h], tb[:2*h], r)
		}
		bound := min(in.vars-vars, len(in.eq))
		insts[i] = sumcheck.Instance{Eq: in.eq[bound:], A: ta[: 1<<vars : 1<<vars], B: tb[: 1<<vars : 1<<vars]}
	}
	b.tail, b.since = sumcheck.NewTables(insts), round
}

// Ends implements sumcheck.Tables.
func (b *batch) Ends(r field.QM31) [][2]field.QM31 {
	if b.tail == nil {
		b.moveToHost(b.rounds, r)
	}
	return b.tail.Ends(r)
}

// free returns the memory of the batch, the tables included.
func (b *batch) free() {
	for _, h := range b.heaps {
		h.Free(b.dev)
	}
	for _, in := range b.insts {
		b.dev.Free(in.a)
		b.dev.Free(in.b)
	}
	b.dev.Free(b.device)
	b.dev.Free(b.rows)
}
