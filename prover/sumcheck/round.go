package sumcheck

import (
	"sort"
	"sync"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
)

// pairsPerTask bounds a task of a round from below: some hundred microseconds
// of work. Small instances are done together, many to a task.
const pairsPerTask = 1 << 11

// tile is how many pairs are folded before their products are taken, so that
// the four folded pieces (16 bytes an entry) are still in the first cache.
const tile = 256

// sums are Σ w·A·B on the lower halves of the tables, and the leading
// coefficient Σ w·(A_1−A_0)·(B_1−B_0).
type sums struct{ first, top field.QM31 }

func (s *sums) add(first, top field.QM31) {
	s.first = s.first.Add(first)
	s.top = s.top.Add(top)
}

// runRound folds r into the tables that wait for it and computes every active
// instance's round polynomial, in one pass over memory. The pairs of all
// instances form one range that is shared between the cores; sums in a field
// do not depend on where it is cut.
func runRound(active []*state, r field.QM31) {
	ends := make([]int, len(active))
	total := 0
	for i, s := range active {
		total += s.pairs()
		ends[i] = total
	}
	result := make([]sums, len(active))
	var mu sync.Mutex
	parallel.For(total, pairsPerTask, func(lo, hi int) {
		first := sort.SearchInts(ends, lo+1)
		var part []sums
		for i := first; i < len(active) && ends[i]-active[i].pairs() < hi; i++ {
			start := ends[i] - active[i].pairs()
			part = append(part, active[i].partial(max(lo, start)-start, min(hi, ends[i])-start, r))
		}
		mu.Lock()
		defer mu.Unlock()
		for i, p := range part {
			result[first+i].add(p.first, p.top)
		}
	})
	for i, s := range active {
		if s.bound {
			s.a, s.b = s.a[:len(s.a)/2], s.b[:len(s.b)/2]
			s.bound = false
		}
		s.finish(result[i])
	}
}

// partial computes the sums over pairs [lo, hi), folding first if a challenge
// is waiting.
func (s *state) partial(lo, hi int, r field.QM31) sums {
	h := s.pairs()
	var total sums
	s.weight.Rows(lo, hi, func(from, to int, weight field.QM31, inner []field.QM31) {
		var row sums
		for t := from; t < to; t += tile {
			end := min(t+tile, to)
			if s.bound {
				foldTile(s.a, h, t, end, r)
				foldTile(s.b, h, t, end, r)
			}
			a := field.Halves{Lo: s.a[t:end], Hi: s.a[h+t : h+end]}
			b := field.Halves{Lo: s.b[t:end], Hi: s.b[h+t : h+end]}
			if s.flipped() {
				a.Lo, a.Hi, b.Lo, b.Hi = a.Hi, a.Lo, b.Hi, b.Lo
			}
			if inner == nil {
				row.add(field.RoundSums(a, b))
			} else {
				row.add(field.RoundSumsWeighted(inner[t-from:end-from], a, b))
			}
		}
		total.add(weight.Mul(row.first), weight.Mul(row.top))
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
