package logup

import (
	"context"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/math/field"
)

// entriesPerTask is the least size of a parallel task: some hundred microseconds of
// work.
const entriesPerTask = 1 << 11

// leaves are 2^vars fractions. Those from len(num) on are 0/1 and not stored. As len(num)
// > 2^(vars−1), all fractions of the first half are stored.
type leaves struct {
	num  []field.M31
	den  []field.QM31
	vars int
}

// entry returns fraction i.
func (l *leaves) entry(i int) (num, den field.QM31) {
	if i >= len(l.num) {
		return field.Zero, field.One
	}
	return field.FromM31(l.num[i]), l.den[i]
}

// tile is the number of entries that a goroutine works on at a time: a dozen tiles fit
// into the first two caches, and the cost of calls is small.
const tile = 256

// A piece is a tile's worth of leaves, with room for those that are not stored.
type piece struct {
	numPad [tile]field.M31
	denPad [tile]field.QM31
}

// of returns leaves [from, to), to − from ≤ tile, valid until the next call.
func (p *piece) of(l *leaves, from, to int) ([]field.M31, []field.QM31) {
	if to <= len(l.num) {
		return l.num[from:to], l.den[from:to]
	}
	n := to - from
	stored := 0
	if from < len(l.num) {
		stored = copy(p.numPad[:n], l.num[from:])
		copy(p.denPad[:n], l.den[from:])
	}
	for i := stored; i < n; i++ {
		p.numPad[i], p.denPad[i] = 0, field.One
	}
	return p.numPad[:n], p.denPad[:n]
}

// add sets num and den to entries [from, to) of the layer above the leaves,
// to − from ≤ tile. second is room for leaves of the second half.
func (l *leaves) add(second *piece, num, den []field.QM31, from, to int) {
	h := 1 << (l.vars - 1)
	if h+from >= len(l.num) { // the second summands are all 0/1
		field.EmbedVec(num, l.num[from:to])
		copy(den, l.den[from:to])
		return
	}
	n1, d1 := second.of(l, h+from, h+to)
	field.AddFractionsM31(num, den, l.num[from:to], n1, l.den[from:to], d1)
}

// A tree holds the layers above the leaves: layer k is in entries [2^k, 2^(k+1)) of num and
// den. The proof uses them up from the top. The lowest of these layers, layer vars − 1, has
// half of all entries and is not stored. It is computed again from the leaves when the proof
// reaches it. It then takes all of num and den, as the layers above it are not needed any
// more.
type tree struct {
	leaves   leaves
	num, den []field.QM31
	layer    *Layer // the one being proved
	arena    *arena.Arena
}

// newTree adds up the fractions, layer by layer.
func newTree(a *arena.Arena, l leaves) *tree {
	if l.vars == 0 {
		return &tree{leaves: l, arena: a}
	}
	t := &tree{leaves: l, num: arena.Make[field.QM31](a, 1<<(l.vars-1)), den: arena.Make[field.QM31](a, 1<<(l.vars-1)), arena: a}
	if l.vars == 1 {
		return t
	}
	h := 1 << (l.vars - 2)
	num, den := t.num[h:], t.den[h:]
	parallel.For(h, entriesPerTask, func(lo, hi int) {
		var room struct { // for two tiles of layer vars − 1, between the leaves and layer vars − 2
			second         piece
			n0, n1, d0, d1 [tile]field.QM31
		}
		for from := lo; from < hi; from += tile {
			to := min(from+tile, hi)
			n := to - from
			l.add(&room.second, room.n0[:n], room.d0[:n], from, to)
			l.add(&room.second, room.n1[:n], room.d1[:n], h+from, h+to)
			field.AddFractions(num[from:to], den[from:to], room.n0[:n], room.n1[:n], room.d0[:n], room.d1[:n])
		}
	})
	for h /= 2; h >= 1; h /= 2 {
		parallel.For(h, entriesPerTask, func(lo, hi int) {
			a, b, c := h+lo, 2*h+lo, 3*h+lo
			n := hi - lo
			field.AddFractions(t.num[a:a+n], t.den[a:a+n], t.num[b:b+n], t.num[c:c+n], t.den[b:b+n], t.den[c:c+n])
		})
	}
	return t
}

// lowest computes the layer above the leaves, layer vars − 1, in entries [0, 2^(vars−1)) of num and
// den.
func (t *tree) lowest() {
	parallel.For(len(t.num), entriesPerTask, func(lo, hi int) {
		var second piece
		for from := lo; from < hi; from += tile {
			to := min(from+tile, hi)
			t.leaves.add(&second, t.num[from:to], t.den[from:to], from, to)
		}
	})
}

// UpperTree returns the tree's layers 0 to k, k ≥ 1, as a Tree without the
// layers below: layer i is in entries [2^i, 2^(i+1)) of num and den, which have
// 2^(k+1) entries and are taken over. Begin may be called up to layer k−1.
func UpperTree(num, den []field.QM31) Tree {
	return &tree{leaves: leaves{vars: NumVars(len(num))}, num: num, den: den}
}

// Top implements Tree.
func (t *tree) Top(ctx context.Context) (Fractions, error) { return t.top(), ctx.Err() }

// top returns layer 1. Entries 2 and 3 of num and den have it, unless it is the leaves or the lowest
// layer above them.
func (t *tree) top() Fractions {
	if t.leaves.vars <= 1 {
		var f Fractions
		f.N0, f.D0 = t.leaves.entry(0)
		f.N1, f.D1 = t.leaves.entry(1)
		return f
	}
	at := 2
	if t.leaves.vars == 2 && t.leaves.num != nil { // layer 1 is the lowest one
		t.lowest()
		at = 0
	}
	return Fractions{N0: t.num[at], N1: t.num[at+1], D0: t.den[at], D1: t.den[at+1]}
}

// Begin implements Tree.
func (t *tree) Begin(ctx context.Context, k int, eq []field.QM31, lambda field.QM31) error {
	h := 1 << k
	if k+1 == t.leaves.vars {
		// The numerators become elements of K when their first variable is
		// bound; the layer above, used up, has room for them.
		t.layer = newLeafLayer(&t.leaves, t.num, eq, lambda)
		return ctx.Err()
	}
	from := 2 * h
	if k+2 == t.leaves.vars && t.leaves.num != nil { // layer k+1 is the lowest one
		t.lowest()
		from = 0
	}
	num, den := t.num[from:from+2*h], t.den[from:from+2*h]
	t.layer = NewLayer(num[:h], num[h:], den[:h], den[h:], eq, lambda)
	return ctx.Err()
}

// Round implements Tree.
func (t *tree) Round(ctx context.Context, round int, r field.QM31) (Sums, error) {
	if err := ctx.Err(); err != nil {
		return Sums{}, err
	}
	return t.layer.Round(round, r), nil
}

// End implements Tree.
func (t *tree) End(ctx context.Context, r field.QM31) (Fractions, error) {
	if err := ctx.Err(); err != nil {
		return Fractions{}, err
	}
	return t.layer.End(r), nil
}

// Close implements Tree.
func (t *tree) Close() {
	arena.Free(t.arena, t.leaves.num)
	arena.Free(t.arena, t.leaves.den)
	arena.Free(t.arena, t.num)
	arena.Free(t.arena, t.den)
	*t = tree{}
}
