package whir

import (
	"sync"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
)

// pair are the tables f and q of [Passes] in memory.
type pair struct{ f, q []field.QM31 }

// pairGrain is the least number of entries worth a goroutine.
const pairGrain = 1 << 10

func (p *pair) round() (s Sums) {
	h := len(p.f) / 2
	var mu sync.Mutex
	parallel.For(h, pairGrain, func(lo, hi int) {
		z, t := field.RoundSums(halves(p.f, lo, hi), halves(p.q, lo, hi))
		mu.Lock()
		defer mu.Unlock()
		s.Zero, s.Top = s.Zero.Add(z), s.Top.Add(t)
	})
	return s
}

func (p *pair) bind(r field.QM31) {
	foldTable(&p.f, r)
	foldTable(&p.q, r)
}

// halves returns entries from lo to hi of a table with its first variable free.
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
