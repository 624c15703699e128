package sums

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// tailVars decides when a sumcheck moves to the host's memory: once the instances of a
// batch have at most 2^tailVars entries together. With tables so small, a round on the host
// takes less time than a launch and a transfer. Tests change it; below zero nothing moves.
var tailVars = 8

// threeFrom and threeMost decide when three rounds are done in one pass: for at most threeMost instances, with at least threeFrom entries
// together. The host has to work on 27 sums an instance in place of eight, which is too much for many instances. With fewer
// entries two rounds a pass are as fast. Tests change them.
var threeFrom, threeMost = 1 << 17, 8

// batch is a batched sumcheck whose tables are on the device. It implements
// sumcheck.Tables.
type batch struct {
	device.Results
	a      *device.Scope // owns its memory, but for the tables
	insts  []sumcheckInstance
	order  []int                  // indexes of instances by descending number of variables; a rank is an index in order
	rounds int                    // the most variables of an instance
	device *kernels.SumcheckBatch // the instances by rank
	// pending are the challenges that the tables have not been bound to yet.
	pending []field.QM31
	// next, if not nil, returns the sums of the next round for a challenge: the last pass has computed several rounds.
	next  func(r field.QM31) []sumcheck.Sums
	dry   bool            // only memory is counted: no rounds run on the host
	tail  sumcheck.Tables // the instances in the host's memory, once they have moved there; else nil
	since int             // the first round in tail
}

// sumcheckInstance is an instance with tables of 2^vars elements at a and b, and the point eq of its weights.
type sumcheckInstance struct {
	a, b kernels.Ptr
	vars int
	eq   []field.QM31
}

// mostPoints is the most points whose weights are made in one launch.
const mostPoints = 1 << 12

// newBatch prepares a batch of at least one instance. The batch owns the scope and the
// tables of the instances from then on.
func newBatch(a *device.Scope, box kernels.ResultBuffer, insts []sumcheckInstance) *batch {
	b := &batch{Results: device.Results{Dev: a, Box: box}, a: a, insts: insts}
	b.order, b.device = describeBatch(a, insts)
	b.rounds = insts[b.order[0]].vars
	return b
}

// describeBatch uploads the description of at least one instance, sorted by descending number of
// variables, and makes the weights of their points. It returns the order: the index of the instance at each rank.
func describeBatch(a *device.Scope, insts []sumcheckInstance) ([]int, *kernels.SumcheckBatch) {
	order := make([]int, len(insts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(insts[j].vars, insts[i].vars) })
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
	// In chunks, as a launch has a grid row for each point.
	for some := range slices.Chunk(points, mostPoints) {
		for _, h := range device.Get(kernels.NewEqHeapsOf(a, some)) {
			desc[ranks[0]].Eq, ranks = h, ranks[1:]
		}
	}
	return order, device.Get(kernels.NewSumcheckBatch(a, desc))
}

// active returns the number of instances that take part in a round: those with variables left.
// They are the first ones by rank.
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
	if b.next == nil && b.fewLeft(round) {
		if err := b.moveToHost(ctx, round); err != nil {
			return nil, err
		}
		return b.tail.Round(ctx, 0, r)
	}
	return device.Pass(ctx, func() []sumcheck.Sums { return b.round(round, r) })
}

// fewLeft says whether the rounds from the given one on run on the host.
func (b *batch) fewLeft(round int) bool {
	entries := 0
	for _, in := range b.insts {
		entries += 1 << min(in.vars, b.rounds-round)
	}
	return !b.dry && tailVars >= 0 && entries <= 1<<tailVars
}

// round returns the sums of a round on the device: those that are there from the last pass, or of a new pass of three, two or one rounds.
func (b *batch) round(round int, r field.QM31) []sumcheck.Sums {
	if next := b.next; next != nil {
		b.next = nil
		return next(r)
	}
	n, left := b.active(round), b.rounds-round
	switch {
	case b.threeAtOnce(round):
		each := kernels.SumcheckThreeRoundsWords
		if parts := kernels.SumcheckThreeRoundsParts(n, left-3); n*each*parts <= b.Box.Words() {
			each *= parts
		}
		var grids []kernels.Grid
		for words := range slices.Chunk(b.pass(round, each, kernels.SumcheckThreeRounds, left-3), each) {
			grids = append(grids, kernels.NewGrid(words))
		}
		return b.gridSums(grids, left)
	case b.twoAtOnce(round):
		var two []*kernels.TwoRounds
		for words := range slices.Chunk(b.pass(round, kernels.SumcheckTwoRoundsWords, kernels.SumcheckTwoRounds, left-2), kernels.SumcheckTwoRoundsWords) {
			two = append(two, kernels.NewTwoRounds(words))
		}
		b.next = func(r field.QM31) []sumcheck.Sums {
			return b.inOrder(n, func(rank int) (first, top field.QM31) { return two[rank].Second(r) })
		}
		return b.inOrder(n, func(rank int) (first, top field.QM31) {
			in := b.insts[b.order[rank]]
			if second := in.vars - left + 1; second < len(in.eq) {
				return two[rank].FirstEq(in.eq[second])
			}
			return two[rank].First()
		})
	}
	words := b.pass(round, kernels.SumcheckRoundWords, kernels.SumcheckRound, left-1)
	return b.inOrder(n, func(rank int) (first, top field.QM31) {
		w := words[rank*kernels.SumcheckRoundWords:]
		return kernels.FromSum(w), kernels.FromSum(w[kernels.SumWords:])
	})
}

// gridSums returns the sums of the first round of grids, with so many variables left, and sets next for the others.
func (b *batch) gridSums(grids []kernels.Grid, left int) []sumcheck.Sums {
	if len(grids[0]) > 3 {
		b.next = func(r field.QM31) []sumcheck.Sums {
			for i, g := range grids {
				grids[i] = g.Bind(r)
			}
			return b.gridSums(grids, left-1)
		}
	}
	return b.inOrder(len(grids), func(rank int) (first, top field.QM31) {
		in := b.insts[b.order[rank]]
		own := in.vars - left
		zero, one, top := grids[rank].Values(in.eq[min(own+1, len(in.eq)):])
		if own < len(in.eq) && in.eq[own].IsZero() {
			return one, top
		}
		return zero, top
	})
}

// threeAtOnce says whether the round and the next two are done in one pass. For that the same instances, few enough,
// must take part in all three, with many entries. Also, whatever follows must be able to bind three variables at
// once: another such pass, or the move to the host.
func (b *batch) threeAtOnce(round int) bool {
	n := b.active(round)
	if len(b.pending) < 3 && n<<(b.rounds-round) < threeFrom {
		return false
	}
	for ; round+3 <= b.rounds && n <= threeMost && n == b.active(round+2); n = b.active(round) {
		if round += 3; round == b.rounds || b.fewLeft(round) {
			return true
		}
	}
	return false
}

// twoAtOnce says whether the round and the next one are done in one pass. For that the same instances
// must take part in both. If an instance has eq coordinates left, it must have few terms, and the
// coordinates of the two rounds must not be zero (sumcheck.Sums).
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

// pass launches a pass over the instances of a round. It binds the tables to the pending
// challenges and returns the sums, `words` words for each instance, by rank.
func (b *batch) pass(round, words int, launch func(d kernels.Device, batch *kernels.SumcheckBatch, active, logTerms int, pending []field.QM31, p kernels.Post) error, logTerms int) []uint64 {
	n := b.active(round)
	raw := b.Read(n*words, func(p kernels.Post) error { return launch(b.Dev, b.device, n, logTerms, b.pending, p) })
	b.pending = nil
	return raw
}

// inOrder returns sums by instance. The function sums returns those of a rank below n; other instances
// get none.
func (b *batch) inOrder(n int, sums func(rank int) (first, top field.QM31)) []sumcheck.Sums {
	all := make([]sumcheck.Sums, len(b.insts))
	for rank, i := range b.order[:n] {
		all[i].First, all[i].Top = sums(rank)
	}
	return all
}

// moveToHost downloads the tables as they are before the given round, bound to the pending
// challenges, and frees them on the device. The rounds from there on are those of tail.
func (b *batch) moveToHost(ctx context.Context, round int) (err error) {
	defer device.Catch(&err)
	device.Check(ctx.Err())
	left := b.rounds - round
	size := 1 << left
	data := b.Elements(2*size*len(b.insts), func(p kernels.Post) error {
		err := kernels.SumcheckRest(b.Dev, b.device, len(b.insts), left, b.pending, p)
		b.freeTables() // the launch may still read them: memory is freed in the order of the queue (kernels.Device)
		return err
	})
	insts := make([]sumcheck.Instance, len(b.insts))
	for rank, i := range b.order {
		in := b.insts[i]
		pair := data[2*size*rank:][:2*size] // tables a and b, each in the first n of `size` elements
		n := 1 << min(in.vars, left)
		bound := min(max(in.vars-left, 0), len(in.eq)) // eq coordinates that earlier rounds have bound
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
	b.freeTables()
	b.insts = nil
	b.a.Close()
}

// freeTables frees the tables on the device.
func (b *batch) freeTables() {
	for i := range b.insts {
		in := &b.insts[i]
		b.Dev.Free(in.a)
		b.Dev.Free(in.b)
		in.a, in.b = 0, 0
	}
}
