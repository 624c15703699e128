package whir

import (
	"sync"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/transcript"
)

// pair is a claim Σ_x f(x)·q(x) = claim in the course of being proved, as two
// tables over K of one power-of-two length.
type pair struct {
	f, q  []field.QM31
	claim field.QM31
}

// pairGrain is the least number of entries worth a goroutine.
const pairGrain = 1 << 10

// bind proves n rounds of the sumcheck of the claim, binding the first
// variables of both tables in place, and returns the challenges.
func (p *pair) bind(w *transcript.Writer, n, grind int) []field.QM31 {
	point := make([]field.QM31, n)
	for i := range point {
		zero, top := p.round()
		point[i], p.claim = sendRound(w, zero, top, grind, p.claim)
		p.fold(point[i])
	}
	return point
}

// round returns the value at 0 and the leading coefficient of the round
// polynomial of the first variable.
func (p *pair) round() (zero, top field.QM31) {
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

// fold binds the first variable to r.
func (p *pair) fold(r field.QM31) {
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
