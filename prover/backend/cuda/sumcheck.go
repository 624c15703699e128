package cuda

import (
	"context"
	"errors"
	"sort"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/sumcheck"
)

// tailVars is the number of variables from which on a sumcheck goes on in the
// host's memory, or for a batch the number such that its instances have 2^tailVars
// entries together: with tables so small, a round there takes less time than a
// launch and the way back. A variable, for tests; below zero none does.
var tailVars = 8

// batch is a batched sumcheck whose tables are on the device. It implements
// sumcheck.Tables.
type batch struct {
	sums
	a      *scope // of its memory, the tables included
	insts  []sumcheckInstance
	order  []int // instances by descending number of variables
	rounds int
	device kernels.Ptr // the instances, in order
	// pending are the challenges that the tables have not been bound to yet;
	// ahead are the sums of two rounds of which one is over.
	pending []field.QM31
	ahead   []*kernels.TwoRounds
	relay   *relay // nil where launches wait for their challenges on the host
	tail    sumcheck.Tables
	since   int // the tail's first round
}

type sumcheckInstance struct {
	a, b kernels.Ptr
	vars int
	eq   []field.QM31
}

// mostPoints is how many points' weights are made in one launch.
const mostPoints = 1 << 12

// newBatch prepares at least one instance, whose tables are in the scope. It
// takes the scope over.
func newBatch(a *scope, box kernels.Mailbox, insts []sumcheckInstance) *batch {
	b := &batch{sums: sums{a, box}, a: a, insts: insts}
	b.order, b.device = describeBatch(a, insts)
	b.rounds = insts[b.order[0]].vars
	b.relay = newRelay(box)
	return b
}

// describeBatch describes at least one instance on the device, with the weights of their points,
// by descending number of variables: in the order that it returns.
func describeBatch(a *scope, insts []sumcheckInstance) (order []int, device kernels.Ptr) {
	order = make([]int, len(insts))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return insts[order[i]].vars > insts[order[j]].vars })
	desc := make([]kernels.SumcheckInstance, len(insts))
	var points [][]field.QM31
	var ranks []int
	for rank, i := range order {
		in := insts[i]
		desc[rank] = kernels.SumcheckInstance{A: in.a, B: in.b, Vars: in.vars}
		if len(in.eq) > 0 {
			points, ranks = append(points, in.eq), append(ranks, rank)
		}
		for j, e := range in.eq {
			if e.IsZero() {
				desc[rank].Flipped |= 1 << j
			}
		}
	}
	// As many at once as a grid has rows.
	for len(points) > 0 {
		n := min(len(points), mostPoints)
		heaps, err := kernels.NewEqHeapsOf(a, points[:n])
		check(err)
		for i, h := range heaps {
			desc[ranks[i]].Eq = h
		}
		points, ranks = points[n:], ranks[n:]
	}
	device, err := kernels.NewSumcheckBatch(a, desc)
	check(err)
	return order, device
}

// active returns the number of instances of at least one variable in the
// round.
func (b *batch) active(round int) int {
	return sort.Search(len(b.order), func(i int) bool { return b.insts[b.order[i]].vars < b.rounds-round })
}

// Round implements sumcheck.Tables.
func (b *batch) Round(ctx context.Context, round int, r field.QM31) ([]sumcheck.Sums, error) {
	if b.tail != nil {
		return b.tail.Round(ctx, round-b.since, r)
	}
	if round > 0 {
		b.pending = append(b.pending, r)
	}
	if b.ahead == nil && b.fewLeft(round) {
		if err := b.moveToHost(ctx, round); err != nil {
			return nil, err
		}
		return b.tail.Round(ctx, 0, r)
	}
	return pass(ctx, func() []sumcheck.Sums { return b.round(round, r) })
}

// fewLeft says whether the rounds from the given one on are the host's.
func (b *batch) fewLeft(round int) bool {
	entries := 0
	for _, in := range b.insts {
		entries += 1 << min(in.vars, b.rounds-round)
	}
	return tailVars >= 0 && entries <= 1<<tailVars
}

// round returns the sums of a round on the device.
func (b *batch) round(round int, r field.QM31) []sumcheck.Sums {
	if b.ahead != nil {
		two := b.ahead
		b.ahead = nil
		return b.inOrder(len(two), func(rank int) (first, top field.QM31) { return two[rank].Second(r) })
	}
	left := b.rounds - round
	if b.twoAtOnce(round) {
		words := b.twoRounds(round)
		for i := 0; i < len(words); i += kernels.SumcheckTwoRoundsWords {
			b.ahead = append(b.ahead, kernels.NewTwoRounds(words[i:]))
		}
		return b.inOrder(len(b.ahead), func(rank int) (first, top field.QM31) {
			in := b.insts[b.order[rank]]
			if second := in.vars - left + 1; second < len(in.eq) {
				return b.ahead[rank].FirstEq(in.eq[second])
			}
			return b.ahead[rank].First()
		})
	}
	pending := b.taken()
	words := b.read(b.active(round)*kernels.SumcheckRoundWords, func(p kernels.Post) error {
		return kernels.SumcheckRound(b.dev, b.device, b.active(round), left-1, pending, p)
	})
	return b.inOrder(b.active(round), func(rank int) (first, top field.QM31) {
		w := words[rank*kernels.SumcheckRoundWords:]
		return kernels.FromSum(w), kernels.FromSum(w[kernels.SumWords:])
	})
}

// twoAtOnce says whether the round and the next are done in one pass: the instances are the same,
// and where there are eq coordinates left, the terms are few, and those of the two rounds are not
// zero (sumcheck.Sums).
func (b *batch) twoAtOnce(round int) bool {
	n, left := b.active(round), b.rounds-round
	if left < 2 || n != b.active(round+1) {
		return false
	}
	few := n<<(left-2) <= kernels.FewQuads
	for _, i := range b.order[:n] {
		in := b.insts[i]
		if eq := in.eq[min(in.vars-left, len(in.eq)):]; len(eq) > 0 && (!few || eq[0].IsZero() || len(eq) > 1 && eq[1].IsZero()) {
			return false
		}
	}
	return true
}

// taken returns the pending challenges, which tables are bound to from now on.
func (b *batch) taken() []field.QM31 {
	pending := b.pending
	b.pending = nil
	return pending
}

// twoRounds returns the words of a pass over two rounds. Where there is a relay, the pass after it
// is enqueued before its sums are waited for.
func (b *batch) twoRounds(round int) []uint64 {
	n, left, pending := b.active(round), b.rounds-round, b.taken()
	launch := func(p kernels.Post) error {
		return kernels.SumcheckTwoRounds(b.dev, b.device, n, left-2, pending, p)
	}
	words := n * kernels.SumcheckTwoRoundsWords
	if b.relay == nil || words >= b.box.Words() {
		return b.read(words, launch)
	}
	return b.relayed(words, pending, launch, func() { b.enqueue(round + 2) })
}

// enqueue enqueues the pass from a round on, if it is one that begins with two challenges of a
// relay: over two rounds, or of what is left.
func (b *batch) enqueue(round int) {
	left := b.rounds - round
	switch n := len(b.insts); {
	case b.fewLeft(round) && kernels.PostedWords(2*n<<left) < b.box.Words():
		b.relay.enqueue(func(g kernels.Given, p kernels.Post) error {
			return kernels.SumcheckRestGiven(b.dev, b.device, n, left, g, p)
		})
	case !b.fewLeft(round) && b.twoAtOnce(round) && b.active(round)*kernels.SumcheckTwoRoundsWords < b.box.Words():
		b.relay.enqueue(func(g kernels.Given, p kernels.Post) error {
			return kernels.SumcheckTwoRoundsGiven(b.dev, b.device, b.active(round), left-2, g, p)
		})
	}
}

// relayed returns what a launch leaves: one that is enqueued already, else this one. Before it is
// waited for, next is called.
func (b *batch) relayed(words int, pending []field.QM31, launch func(p kernels.Post) error, next func()) []uint64 {
	dst := make([]uint64, words)
	err := b.relay.read(dst, pending, launch, next)
	if errors.Is(err, kernels.ErrLate) {
		b.relay.close()
		b.relay = nil
		return b.read(words, launch)
	}
	check(err)
	return dst
}

// inOrder returns the sums of the first n instances in descending order, by
// instance.
func (b *batch) inOrder(n int, sums func(rank int) (first, top field.QM31)) []sumcheck.Sums {
	all := make([]sumcheck.Sums, len(b.insts))
	for rank, i := range b.order[:n] {
		all[i].First, all[i].Top = sums(rank)
	}
	return all
}

// moveToHost fetches what the rounds from the given one on need, bound to the
// pending challenges.
func (b *batch) moveToHost(ctx context.Context, round int) (err error) {
	defer catch(&err)
	check(ctx.Err())
	left := b.rounds - round
	size := 1 << left
	n, pending := 2*size*len(b.insts), b.taken()
	launch := func(p kernels.Post) error {
		return kernels.SumcheckRest(b.dev, b.device, len(b.insts), left, pending, p)
	}
	var data []field.QM31
	if words := kernels.PostedWords(n); b.relay != nil && words < b.box.Words() {
		data = kernels.Posted(b.relayed(words, pending, launch, func() {}))
	} else {
		data = b.elements(n, launch)
	}
	insts := make([]sumcheck.Instance, len(b.insts))
	for rank, i := range b.order {
		in := b.insts[i]
		pair := data[2*size*rank:][:2*size]
		n := 1 << min(in.vars, left)
		bound := min(max(in.vars-left, 0), len(in.eq))
		insts[i] = sumcheck.Instance{Eq: in.eq[bound:], A: pair[:n:n], B: pair[size:][:n:n]}
	}
	b.tail, b.since = sumcheck.NewTables(insts), round
	return nil
}

// Ends implements sumcheck.Tables.
func (b *batch) Ends(ctx context.Context, r field.QM31) ([][2]field.QM31, error) {
	if b.tail == nil {
		if b.rounds > 0 {
			b.pending = append(b.pending, r)
		}
		if err := b.moveToHost(ctx, b.rounds); err != nil {
			return nil, err
		}
	}
	return b.tail.Ends(ctx, r)
}

// Close implements sumcheck.Tables.
func (b *batch) Close() {
	for _, in := range b.insts {
		b.dev.Free(in.a)
		b.dev.Free(in.b)
	}
	b.insts = nil
	if b.relay != nil {
		b.relay.close()
	}
	b.a.close()
}
