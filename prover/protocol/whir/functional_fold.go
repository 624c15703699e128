package whir

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/math/field"
)

// foldColumns is how many columns of the folded functional are made at a time: they stay
// in the first-level cache.
const foldColumns = 1 << 10

// folded folds the functional in the way in which [stackRows.fold] folds the stack; rows is the
// number of table rows. It returns a table of n = rows/len(weights) rows, row l of which is
// Σ_h weights[h]·(row h·n + l of the functional).
func (q *Functional) folded(a *arena.Arena, weights []field.QM31, rows int) []field.QM31 {
	n := rows / len(weights)
	table := arena.Make[field.QM31](a, n<<q.RowVars)
	f := newBlockFunctional(q, min(1<<q.RowVars, foldColumns))
	parallel.For(n*f.blocks(), 1, func(from, to int) {
		var coefs []field.QM31 // by part of the rows: Σ_h weights[h]·(its weight on row h·n + l)
		var low *lowTables
		var apart strided
		begin := func(r *blockRows) {
			low = newLowTables(r)
			coefs = make([]field.QM31, len(r.parts))
			for i := range r.parts {
				r.each(&r.parts[i], func(h int, w field.QM31) { coefs[i] = coefs[i].Add(w.Mul(weights[h])) })
			}
		}
		f.eachBlock(n, from, to, begin, func(r *blockRows, k int) {
			dst := table[r.first<<q.RowVars+k*f.width:][:f.width]
			clear(dst)
			for _, e := range r.block(k) {
				p := &r.parts[e.part]
				apart.mulAcc(dst, p.Column%f.width, p.Stride, low.of(e.part), coefs[e.part].Mul(p.weights[e.high]))
			}
			apart.addTo(dst)
		})
	})
	return table
}

// strided adds up tables whose entries belong to columns of a block that are 2^s apart, with
// vector operations on neighbours. For each s > 0 it has a table sums[s] of a block's
// length in another order: column i·2^s + r of the block is at r·(length/2^s) + i. So the
// columns of a table are side by side in sums[s].
type strided struct {
	sums [][]field.QM31 // by stride s
	used []bool         // by stride s: sums[s] has something to be added
	room []field.QM31   // for one of the sums in the order of the block
}

// mulAcc does dst[at + i·2^stride] += a[i]·c for all i. What it adds may be in dst only after
// addTo has been called.
func (s *strided) mulAcc(dst []field.QM31, at, stride int, a []field.QM31, c field.QM31) {
	if stride == 0 || len(a) == 1 {
		field.MulAccQM31Vec(dst[at:at+len(a)], a, c)
		return
	}
	for len(s.sums) <= stride {
		s.sums, s.used = append(s.sums, nil), append(s.used, false)
	}
	if s.sums[stride] == nil {
		s.sums[stride] = make([]field.QM31, len(dst))
	} else if !s.used[stride] {
		clear(s.sums[stride])
	}
	s.used[stride] = true
	each := len(dst) >> stride
	from := at&(1<<stride-1)*each + at>>stride
	field.MulAccQM31Vec(s.sums[stride][from:from+len(a)], a, c)
}

// addTo adds all sums to dst, the block that mulAcc was called for, and empties them.
func (s *strided) addTo(dst []field.QM31) {
	for stride, used := range s.used {
		if !used {
			continue
		}
		s.used[stride] = false
		if len(s.room) < len(dst) {
			s.room = make([]field.QM31, len(dst))
		}
		each := len(dst) >> stride
		for r := range 1 << stride {
			for i, v := range s.sums[stride][r*each:][:each] {
				s.room[i<<stride+r] = v
			}
		}
		field.AddQM31Vec(dst, dst, s.room[:len(dst)])
	}
}
