package whir

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Pair are two tables of one length in memory, such as f and q of [Passes].
type Pair struct{ F, Q []field.QM31 }

// pairGrain is the least number of entries worth a goroutine.
const pairGrain = 1 << 10

// Round returns the sums of a round over the first variable (Passes.Round).
func (p *Pair) Round() (s Sums) {
	h := len(p.F) / 2
	parallel.Collect(h, pairGrain, func(lo, hi int) func() {
		z, t := field.RoundSums(halves(p.F, lo, hi), halves(p.Q, lo, hi))
		return func() { s.Zero, s.Top = s.Zero.Add(z), s.Top.Add(t) }
	})
	return s
}

// Bind binds the first variable of both tables to r, in place (Passes.Bind).
func (p *Pair) Bind(r field.QM31) {
	foldTable(&p.F, r)
	foldTable(&p.Q, r)
}

// halves returns entries lo … hi−1 of both halves of a table: with the first variable 0, and 1.
func halves(t []field.QM31, lo, hi int) field.Halves {
	h := len(t) / 2
	return field.Halves{Lo: t[lo:hi], Hi: t[h+lo : h+hi]}
}

// foldTable binds the first variable of a table in place and shortens it.
func foldTable(t *[]field.QM31, r field.QM31) {
	h := len(*t) / 2
	parallel.For(h, pairGrain, func(lo, hi int) {
		field.FoldHalves((*t)[lo:hi], halves(*t, lo, hi), r)
	})
	*t = (*t)[:h]
}
