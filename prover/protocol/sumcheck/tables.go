package sumcheck

import (
	"context"
	"sort"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// pairsPerTask is the least number of pairs of a task of a round: some hundred microseconds of
// work. A task may have many small instances.
const pairsPerTask = 1 << 11

// tile is how many pairs are folded before their products are taken. It is so small that
// the four folded pieces, with 16 bytes an entry, are still in the first-level cache then.
const tile = 256

// tables are the tables of a batch in memory.
type tables struct {
	plan  schedule
	insts []*table
	arena *arena.Arena
}

// NewTables returns the passes over tables of instances in memory. It takes the tables over and
// folds them in place. It panics unless A and B of an instance have the same length, a power
// of two.
func NewTables(insts []Instance) Tables { return NewTablesIn(nil, insts) }

// NewTablesIn is NewTables for tables in memory of an arena. Close gives them back to it.
func NewTablesIn(a *arena.Arena, insts []Instance) Tables {
	t := &tables{insts: make([]*table, len(insts)), arena: a}
	shapes := make([]Shape, len(insts))
	for i, in := range insts {
		shapes[i] = Shape{NumVars: in.numVars(), Eq: in.Eq}
		t.insts[i] = newTable(in, shapes[i].NumVars)
	}
	t.plan = newSchedule(shapes)
	return t
}

// Round implements Tables, in one pass over memory. The pairs of all instances
// form one range that is shared between the cores; sums in a field do not
// depend on where it is cut.
func (t *tables) Round(ctx context.Context, round int, r field.QM31) ([]Sums, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	result := make([]Sums, len(t.insts))
	total := 0
	for i, in := range t.insts {
		if t.plan.joins[i] <= round {
			total += in.pairs()
		}
	}
	if total < 2*pairsPerTask { // one task: sharing so short a round would take longer than the round
		for i, in := range t.insts {
			if t.plan.joins[i] <= round {
				result[i] = in.partial(0, in.pairs(), r)
				in.next()
			}
		}
		return result, nil
	}
	t.share(total, round, r, result)
	return result, nil
}

// share is Round for total pairs, in several tasks.
func (t *tables) share(total, round int, r field.QM31, result []Sums) {
	var active, ends []int // the instances that take part, and where the pairs of each end in the range of all pairs
	n := 0
	for i, in := range t.insts {
		if t.plan.joins[i] <= round {
			n += in.pairs()
			active, ends = append(active, i), append(ends, n)
		}
	}
	parallel.Collect(total, pairsPerTask, func(lo, hi int) func() {
		first := sort.SearchInts(ends, lo+1)
		var part []Sums
		for i := first; i < len(active); i++ {
			in := t.insts[active[i]]
			start := ends[i] - in.pairs()
			if start >= hi {
				break
			}
			part = append(part, in.partial(max(lo, start)-start, min(hi, ends[i])-start, r))
		}
		return func() {
			for i, p := range part {
				result[active[first+i]].add(p.First, p.Top)
			}
		}
	})
	for _, i := range active {
		t.insts[i].next()
	}
}

// Ends implements Tables.
func (t *tables) Ends(ctx context.Context, r field.QM31) ([][2]field.QM31, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ends := make([][2]field.QM31, len(t.insts))
	for i, in := range t.insts {
		ends[i] = [2]field.QM31{in.a[0], in.b[0]}
		if in.bound {
			ends[i] = [2]field.QM31{lerp(in.a[0], in.a[1], r), lerp(in.b[0], in.b[1], r)}
		}
	}
	return ends, nil
}

// Close implements Tables.
func (t *tables) Close() {
	for _, in := range t.insts {
		arena.Free(t.arena, in.a)
		arena.Free(t.arena, in.b)
	}
	*t = tables{}
}

// lerp returns a + r·(b−a).
func lerp(a, b, r field.QM31) field.QM31 { return a.Add(r.Mul(b.Sub(a))) }

// A table is the pair of tables of an instance.
type table struct {
	a, b   []field.QM31 // if bound is set, the previous round's variable is still to be folded
	bound  bool         // the previous round's challenge is waiting to be folded in
	eq     []field.QM31 // the eq coordinates from this round on
	weight poly.SplitEq // eq in the variables after this round's
}

func newTable(in Instance, vars int) *table {
	t := &table{a: in.A, b: in.B, eq: in.Eq, weight: poly.NewSplitEq(in.Eq, vars-len(in.Eq))}
	if vars > 0 {
		t.weight.DropFirst()
	}
	return t
}

// pairs returns the number of terms of the round's sums: half the entries of
// a table once the waiting challenge is folded in.
func (t *table) pairs() int {
	if t.bound {
		return len(t.a) / 4
	}
	return len(t.a) / 2
}

// next moves on to the next round. The challenge of this round is then waiting to be folded in.
func (t *table) next() {
	if t.bound {
		t.a, t.b = t.a[:len(t.a)/2], t.b[:len(t.b)/2]
	}
	t.bound = true
	if len(t.eq) > 0 {
		t.eq = t.eq[1:]
	}
	if len(t.a) > 2 {
		t.weight.DropFirst()
	}
}

func (s *Sums) add(first, top field.QM31) {
	s.First = s.First.Add(first)
	s.Top = s.Top.Add(top)
}

// partial computes the sums over pairs [lo, hi). If a challenge is waiting, it first folds
// these pairs with it, which is r.
func (t *table) partial(lo, hi int, r field.QM31) Sums {
	h := t.pairs()
	flipped := len(t.eq) > 0 && t.eq[0].IsZero() // First is then q(1) (Sums): the halves are exchanged
	var total Sums
	t.weight.Rows(lo, hi, func(from, to int, weight field.QM31, inner []field.QM31) {
		var row Sums
		for at := from; at < to; at += tile {
			end := min(at+tile, to)
			if t.bound {
				foldTile(t.a, h, at, end, r)
				foldTile(t.b, h, at, end, r)
			}
			a := field.Halves{Lo: t.a[at:end], Hi: t.a[h+at : h+end]}
			b := field.Halves{Lo: t.b[at:end], Hi: t.b[h+at : h+end]}
			if flipped {
				a.Lo, a.Hi, b.Lo, b.Hi = a.Hi, a.Lo, b.Hi, b.Lo
			}
			if inner == nil {
				row.add(field.RoundSums(a, b))
			} else {
				row.add(field.RoundSumsWeighted(inner[at-from:end-from], a, b))
			}
		}
		total.add(weight.Mul(row.First), weight.Mul(row.Top))
	})
	return total
}

// foldTile binds the first variable of the table t of 4h entries to r, for the
// pairs [from, to) of the result: entries [from, to) and h+[from, to). It reads
// no entry that another tile writes.
func foldTile(t []field.QM31, h, from, to int, r field.QM31) {
	for _, at := range [2]int{0, h} {
		src := field.Halves{Lo: t[at+from : at+to], Hi: t[2*h+at+from : 2*h+at+to]}
		field.FoldHalves(src.Lo, src, r)
	}
}
