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
		s0, s2 := p.round()
		point[i], p.claim = sendRound(w, s0, s2, grind, p.claim)
		p.fold(point[i])
	}
	return point
}

// round returns the values at 0 and 2 of the round polynomial of the first
// variable.
func (p *pair) round() (s0, s2 field.QM31) {
	h := len(p.f) / 2
	var mu sync.Mutex
	parallel.For(h, pairGrain, func(lo, hi int) {
		a, b := field.RoundProductsSplit(p.f[lo:hi], p.f[h+lo:h+hi], p.q[lo:hi], p.q[h+lo:h+hi])
		mu.Lock()
		defer mu.Unlock()
		s0, s2 = s0.Add(a), s2.Add(b)
	})
	return s0, s2
}

// fold binds the first variable to r.
func (p *pair) fold(r field.QM31) {
	foldTable(&p.f, r)
	foldTable(&p.q, r)
}

// foldTable binds the first variable of a table in place and shortens it.
func foldTable(t *[]field.QM31, r field.QM31) {
	h := len(*t) / 2
	lo, hi := (*t)[:h], (*t)[h:]
	parallel.For(h, pairGrain, func(from, to int) {
		foldHalves(lo[from:to], hi[from:to], r)
	})
	*t = lo
}

// foldHalves sets lo[i] += r·(hi[i] − lo[i]).
func foldHalves(lo, hi []field.QM31, r field.QM31) {
	for i := range lo {
		lo[i] = lo[i].Add(r.Mul(hi[i].Sub(lo[i])))
	}
}
