package whir

import (
	"sync"

	"github.com/prove-model/prove-model/prover/code"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/soundness"
)

// pair implements [Tables] in memory.
type pair struct{ f, q []field.QM31 }

// pairGrain is the least number of entries worth a goroutine.
const pairGrain = 1 << 10

// Round implements Tables.
func (p *pair) Round() (zero, top field.QM31) {
	h := len(p.f) / 2
	var mu sync.Mutex
	parallel.For(h, pairGrain, func(lo, hi int) {
		z, t := field.RoundSums(halves(p.f, lo, hi), halves(p.q, lo, hi))
		mu.Lock()
		defer mu.Unlock()
		zero, top = zero.Add(z), top.Add(t)
	})
	return zero, top
}

// Bind implements Tables.
func (p *pair) Bind(r field.QM31) {
	foldTable(&p.f, r)
	foldTable(&p.q, r)
}

// Commit implements Tables.
func (p *pair) Commit(l soundness.Level) FoldedRow { return commitFolded(p.f, l) }

// At implements Tables.
func (p *pair) At(z field.QM31) field.QM31 { return code.EvalAt(p.f, z) }

// Add implements Tables.
func (p *pair) Add(c *Constraints) { c.addTo(p.q) }

// F implements Tables.
func (p *pair) F() []field.QM31 { return p.f }

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
