package logup

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// A Layer is the state of the sumcheck over
//
//	Σ_x eq(r,x)·( n0(x)·d1(x) + n1(x)·d0(x) + λ·d0(x)·d1(x) ) .
//
// It keeps n1 + λ·d1 in place of n1, which makes the sum one of two products:
// n0·d1 + (n1 + λ·d1)·d0.
type Layer struct {
	n0, n1, d0, d1 []field.QM31
	lambda         field.QM31
	vars           int          // number of rounds
	weight         poly.SplitEq // eq in the variables after the round's
	// n1 and d1 have only their first stored entries. The other entries are the
	// fraction 0/1, with λ·1 in the numerator.
	stored int
	// leaves is not nil in the last layer until its first variable is bound. Until
	// then the values are those of the leaves, and the tables are room for what
	// they are after that.
	leaves *leaves
}

// NewLayer returns the state before the first round, of one at least, with eq
// the point r. It takes over the tables, of 2^len(eq) entries each; n1 does not
// yet include λ·d1: the first round adds it.
func NewLayer(n0, n1, d0, d1, eq []field.QM31, lambda field.QM31) *Layer {
	return &Layer{n0: n0, n1: n1, d0: d0, d1: d1, lambda: lambda, vars: len(eq), weight: poly.NewSplitEq(eq, 0), stored: len(n1)}
}

// newLeafLayer is NewLayer for the last layer, whose tables are halves of the leaves. It
// takes over the leaves' denominators, and folds these in place. room has half as many
// elements as there are leaves; the numerators are folded into it.
func newLeafLayer(l *leaves, room, eq []field.QM31, lambda field.QM31) *Layer {
	q := len(room) / 2
	t := NewLayer(room[:q], room[q:], l.den[:q], l.den[q:2*q], eq, lambda)
	t.leaves, t.stored = l, len(l.num)-2*q
	return t
}

func (s *Sums) add(zero, top field.QM31) {
	s.Zero = s.Zero.Add(zero)
	s.Top = s.Top.Add(top)
}

// Round is Tree.Round for this layer.
func (l *Layer) Round(round int, r field.QM31) Sums {
	l.weight.DropFirst()
	pairs := 1 << (l.vars - 1 - round)
	if round == 0 {
		return l.sumTiles(pairs, l.firstRound(pairs))
	}
	s := l.sumTiles(pairs, l.nextRound(pairs, r))
	l.bound(2 * pairs)
	return s
}

// End is Tree.End for this layer.
func (l *Layer) End(r field.QM31) Fractions {
	l.fold(l.scratch(), 0, 1, r)
	f := Fractions{N0: l.n0[0], N1: l.n1[0], D0: l.d0[0], D1: l.d1[0]}
	f.N1 = f.N1.Sub(l.lambda.Mul(f.D1))
	return f
}

// scratch is memory of one task, for tiles of values that are not in the tables: those of
// leaves, and entries that are not stored.
type scratch struct {
	lo, hi         piece
	n0, n1, m0, m1 [tile]field.QM31 // of the lower (n) and the upper half (m) of the round's variable
}

// scratch returns memory for a task, or nil if none is needed.
func (l *Layer) scratch() *scratch {
	if l.leaves == nil && l.stored >= len(l.n1) {
		return nil
	}
	return new(scratch)
}

// A tileSums returns what the pairs from … to−1, a tile of them, contribute to a round's
// sums. w are their weights.
type tileSums func(s *scratch, from, to int, w []field.QM31) (zero, top field.QM31)

// sumTiles adds up a round's sums over all pairs. Sums in a field do not
// depend on how the range is cut.
func (l *Layer) sumTiles(pairs int, f tileSums) Sums {
	var total Sums
	parallel.Collect(pairs, entriesPerTask, func(lo, hi int) func() {
		var part Sums
		s := l.scratch()
		l.weight.Rows(lo, hi, func(from, to int, outer field.QM31, inner []field.QM31) {
			if inner == nil {
				inner = one
			}
			var row Sums
			for t := from; t < to; t += tile {
				end := min(t+tile, to)
				row.add(f(s, t, end, inner[t-from:end-from]))
			}
			part.add(outer.Mul(row.Zero), outer.Mul(row.Top))
		})
		return func() { total.add(part.Zero, part.Top) }
	})
	return total
}

// one is the inner weight of the only pair in the last round, when no variable is left.
var one = []field.QM31{field.One}

// firstRound computes the sums before any variable is bound. Unless the values are those of leaves, it
// adds λ·d1 to n1 on the way.
func (l *Layer) firstRound(pairs int) tileSums {
	if l.leaves != nil {
		return l.leafSums(pairs)
	}
	return func(s *scratch, from, to int, w []field.QM31) (zero, top field.QM31) {
		for _, at := range [2]int{0, pairs} {
			field.MulAccQM31Vec(l.n1[at+from:at+to], l.d1[at+from:at+to], l.lambda)
		}
		return l.sums(s, pairs, from, to, w)
	}
}

// leafSums is firstRound for the last layer. The four quarters of the leaves are the
// two halves of n0 and those of n1, and likewise of d0 and d1.
func (l *Layer) leafSums(pairs int) tileSums {
	return func(s *scratch, from, to int, w []field.QM31) (zero, top field.QM31) {
		if from >= l.stored {
			// All of n1/d1 is 0/1 here: the sum is n0 + λ·d0, which is linear in the round's variable.
			zero = field.DotM31(l.leaves.num[from:to], w).Add(l.lambda.Mul(field.Dot(l.leaves.den[from:to], w)))
			return zero, field.Zero
		}
		n := to - from
		n0, n1 := field.Halves{Lo: s.n0[:n], Hi: s.m0[:n]}, field.Halves{Lo: s.n1[:n], Hi: s.m1[:n]}
		field.EmbedVec(n0.Lo, l.leaves.num[from:to])
		field.EmbedVec(n0.Hi, l.leaves.num[pairs+from:pairs+to])
		d0 := field.Halves{Lo: l.leaves.den[from:to], Hi: l.leaves.den[pairs+from : pairs+to]}
		numLo, denLo := s.lo.of(l.leaves, 2*pairs+from, 2*pairs+to)
		numHi, denHi := s.hi.of(l.leaves, 3*pairs+from, 3*pairs+to)
		field.EmbedVec(n1.Lo, numLo)
		field.EmbedVec(n1.Hi, numHi)
		field.MulAccQM31Vec(n1.Lo, denLo, l.lambda)
		field.MulAccQM31Vec(n1.Hi, denHi, l.lambda)
		return field.FractionRoundSums(w, n0, n1, d0, field.Halves{Lo: denLo, Hi: denHi})
	}
}

// nextRound binds the variable of the round before to r and computes the sums, in
// one pass.
func (l *Layer) nextRound(pairs int, r field.QM31) tileSums {
	return func(s *scratch, from, to int, w []field.QM31) (zero, top field.QM31) {
		l.fold(s, from, to, r)
		l.fold(s, pairs+from, pairs+to, r)
		return l.sums(s, pairs, from, to, w)
	}
}

// sums returns a tile's sums from the tables, which have 2·pairs entries.
func (l *Layer) sums(s *scratch, pairs, from, to int, w []field.QM31) (zero, top field.QM31) {
	if from >= l.stored {
		// All of n1/d1 is 0/1 here: the sum is n0 + λ·d0, which is linear in the round's variable.
		return field.Dot(l.n0[from:to], w).Add(l.lambda.Mul(field.Dot(l.d0[from:to], w))), field.Zero
	}
	halves := func(t []field.QM31) field.Halves {
		return field.Halves{Lo: t[from:to], Hi: t[pairs+from : pairs+to]}
	}
	n1, d1 := halves(l.n1), halves(l.d1)
	if pairs+to > l.stored {
		n1.Lo, d1.Lo = l.filled(from, to, s.n0[:], s.n1[:])
		n1.Hi, d1.Hi = l.filled(pairs+from, pairs+to, s.m0[:], s.m1[:])
	}
	return field.FractionRoundSums(w, halves(l.n0), n1, halves(l.d0), d1)
}

// filled returns entries [from, to) of n1 and d1, including entries that are not
// stored. It returns part of the tables if all are stored, else it copies to n and
// d.
func (l *Layer) filled(from, to int, n, d []field.QM31) (n1, d1 []field.QM31) {
	if to <= l.stored {
		return l.n1[from:to], l.d1[from:to]
	}
	n1, d1 = n[:to-from], d[:to-from]
	k := 0
	if from < l.stored {
		k = copy(n1, l.n1[from:l.stored])
		copy(d1, l.d1[from:l.stored])
	}
	for ; k < len(n1); k++ {
		n1[k], d1[k] = l.lambda, field.One
	}
	return n1, d1
}

// fold computes entries [from, to) of the tables with their first variable
// bound to r. It reads no entry that the fold of another range writes.
func (l *Layer) fold(s *scratch, from, to int, r field.QM31) {
	if l.leaves != nil {
		l.foldLeaves(s, from, to, r)
		return
	}
	h := len(l.n0) / 2
	for _, t := range [2][]field.QM31{l.n0, l.d0} {
		field.FoldHalves(t[from:to], field.Halves{Lo: t[from:to], Hi: t[h+from : h+to]}, r)
	}
	if from >= l.stored {
		return
	}
	to = min(to, l.stored) // entries from l.stored on stay 0/1, as both of their halves are
	n1, d1 := l.n1[h+from:h+to], l.d1[h+from:h+to]
	if h+to > l.stored {
		n1, d1 = l.filled(h+from, h+to, s.m0[:], s.m1[:])
	}
	field.FoldHalves(l.n1[from:to], field.Halves{Lo: l.n1[from:to], Hi: n1}, r)
	field.FoldHalves(l.d1[from:to], field.Halves{Lo: l.d1[from:to], Hi: d1}, r)
}

// foldLeaves is fold for the leaves. The folded d1 is written to the second quarter of the
// denominators, entries that the fold of d0 has just read and that are not needed any more.
func (l *Layer) foldLeaves(s *scratch, from, to int, r field.QM31) {
	q := len(l.n0)
	num, den := l.leaves.num, l.leaves.den
	field.FoldM31Halves(l.n0[from:to], num[from:to], num[q+from:q+to], r)
	field.FoldHalves(l.d0[from:to], field.Halves{Lo: den[from:to], Hi: den[q+from : q+to]}, r)
	if from >= l.stored {
		return
	}
	to = min(to, l.stored)
	numLo, denLo := s.lo.of(l.leaves, 2*q+from, 2*q+to)
	numHi, denHi := s.hi.of(l.leaves, 3*q+from, 3*q+to)
	field.FoldM31Halves(l.n1[from:to], numLo, numHi, r)
	field.FoldHalves(l.d1[from:to], field.Halves{Lo: denLo, Hi: denHi}, r)
	field.MulAccQM31Vec(l.n1[from:to], l.d1[from:to], l.lambda)
}

// bound shortens the tables to n entries, to which they have been folded.
func (l *Layer) bound(n int) {
	l.leaves = nil
	l.n0, l.n1, l.d0, l.d1 = l.n0[:n], l.n1[:n], l.d0[:n], l.d1[:n]
	l.stored = min(l.stored, n)
}
