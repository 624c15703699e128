package pads

import (
	"errors"
	"iter"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// The proof of products shows Σ_i eq(τ, i)·(x_i·y_i − z_i) = 0 over all triples, filled up with zeros to a power of two. It is a
// sumcheck in the form of a look-up tree's layer (package logup): the factor eq is divided out of a round's polynomial, and
// of the quadratic that is left the coefficients of X and X² are sent, less pads. It ends in the MLEs of all x, of all y and of
// all z at one point. These three are sent without pads: the dummies make them uniform.

// errProducts says that x*·y* − z* is not what is left of the sumcheck.
var errProducts = errors.New("pads: products do not follow")

// Ends are the three claims on the stack in which the proof of products ends: the MLEs of all x, y and z at a point.
type Ends struct {
	tape  *transcript.Tape // of the proof of products
	point []field.QM31
	at    [3]field.QM31 // x*, y*, z*
}

// Prove writes the proof of products. values are the elements of the stack (Fill).
func (s *Stack) Prove(w *transcript.Writer, values []field.QM31) {
	var tables [3][]field.QM31
	for k := range tables {
		tables[k] = make([]field.QM31, 1<<s.vars)
	}
	for i := range s.count() {
		x, y, z := s.triple(i)
		tables[0][i], tables[1][i], tables[2][i] = values[x], values[y], values[z]
	}
	tau := w.Challenges(s.vars)
	w.Mask(values[s.rounds:s.products])
	for j := range tau {
		eq := poly.EqTable(tau[j+1:])
		half := len(eq)
		var q poly.Quadratic // Σ eq·(x·y − z) with the round's variable free
		for i, e := range eq {
			x, y, z := tables[0][i], tables[1][i], tables[2][i]
			dx, dy, dz := tables[0][half+i].Sub(x), tables[1][half+i].Sub(y), tables[2][half+i].Sub(z)
			q[1] = q[1].Add(e.Mul(x.Mul(dy).Add(dx.Mul(y)).Sub(dz)))
			q[2] = q[2].Add(e.Mul(dx.Mul(dy)))
		}
		w.SendQM31(q[1], q[2])
		r := w.Challenge()
		for k, t := range tables {
			tables[k] = t[:half]
			field.FoldVec(tables[k], t, r)
		}
	}
	w.Unmask()
	w.SendQM31(tables[0][0], tables[1][0], tables[2][0])
}

// Verify reads the proof of products.
func (s *Stack) Verify(r *transcript.Reader) *Ends {
	e := &Ends{tape: transcript.NewTape(0, 1), point: make([]field.QM31, s.vars)}
	tau := r.Challenges(s.vars)
	r.Mask(e.tape)
	var claim transcript.Form
	for j := range tau {
		// q(X) = c + linear·X + square·X², and (1−τ_j)·q(0) + τ_j·q(1) is the claim: so c is the claim − τ_j·(linear + square).
		linear, square := r.Form(), r.Form()
		x := r.Challenge()
		claim = claim.Add(linear.Mul(x.Sub(tau[j]))).Add(square.Mul(x.Square().Sub(tau[j])))
		e.point[j] = x
	}
	r.Unmask()
	copy(e.at[:], r.QM31s(3))
	r.Mask(e.tape)
	r.Zero(claim.AddKnown(e.at[2].Sub(e.at[0].Mul(e.at[1]))), errProducts)
	r.Unmask()
	return e
}

// Read is what a verifier has read of a sub-transcript: its tape, and the values of its claims.
type Read struct {
	Tape   *transcript.Tape
	Claims int                         // number of claims
	Claim  func(i int) transcript.Form // the value of claim i
}

// check panics if the tape of sub-transcript i does not have the pads and triples for which the stack has elements.
func (s *Stack) check(i int, t *transcript.Tape) {
	if f := s.forks[i]; t.Pads() != f.Pads || !slices.Equal(t.Triples(), f.Triples) {
		panic("pads: a sub-transcript with other elements than planned")
	}
}

// Join joins everything with powers of zeta, in this order: the claims of all sub-transcripts; then as many claims as zeros says,
// which have the value zero and no pads (those on unused ends); then the three claims at the end of the proof of products; then
// the equations, first those of the sub-transcripts and last that of the proof of products. It returns the value of the
// joined claim and, for each element of the stack, its weight in the joined functional. The functional also has the terms
// of the claims on tensors, which are not part of the result.
//
// A claim says that a functional on the tables equals a known part plus a form in the pads. An equation says the same with zero
// in place of the functional. Moving the forms to the left gives the result: the weights of the pads are those of the forms
// with the opposite sign, and the value is the sum of the known parts.
func (s *Stack) Join(forks []Read, zeros int, ends *Ends, zeta field.QM31) (value field.QM31, weights []field.QM31) {
	weights = make([]field.QM31, s.Elements())
	end := zeros // how many claims there are before the three of ends
	for i := range forks {
		end += forks[i].Claims
	}
	// The parts are the sub-transcripts and, last, the proof of products.
	parts := make([]joinPart, len(forks)+1)
	claims, equations, triples := 0, end+len(ends.at), 0
	for i := range parts {
		p := &parts[i]
		*p = joinPart{claims: claims, equations: equations, triples: triples, pads: s.rounds, Read: Read{Tape: ends.tape}}
		if i < len(forks) {
			s.check(i, forks[i].Tape)
			p.pads, p.Read = s.first[i], forks[i]
		}
		claims += p.Claims
		equations += len(p.Tape.Equations())
		triples += len(p.Tape.Triples())
	}
	powers := field.Powers(zeta.Exp(uint64(end)), zeta, len(ends.at)) // those of the claims in ends
	for k, v := range ends.at {
		value = value.Add(powers[k].Mul(v))
	}
	eq := poly.EqTable(ends.point)
	parallel.For(len(parts), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p := &parts[i]
			known, pads, products := p.Tape.Back(p.forms(zeta))
			p.known = known
			ofPads, ofProducts := weights[p.pads:][:len(pads)], weights[s.products+p.triples:][:len(products)]
			field.SubQM31Vec(ofPads, ofPads, pads)
			field.SubQM31Vec(ofProducts, ofProducts, products)
			s.addEnds(weights, eq, powers, p.triples, p.triples+len(products))
		}
	})
	s.addEnds(weights, eq, powers, len(s.triples), s.count())
	for i := range parts {
		value = value.Add(parts[i].known)
	}
	return value, weights
}

// joinPart is a sub-transcript, or the proof of products, in the joined claim.
type joinPart struct {
	Read
	claims, equations int        // the exponents of zeta of its first claim and its first equation
	pads, triples     int        // the place of its first pad in the stack, and the number of its first triple
	known             field.QM31 // its part of the joined claim's value
}

// forms returns the claims and then the equations, each with its power of zeta.
func (p *joinPart) forms(zeta field.QM31) iter.Seq2[transcript.Form, field.QM31] {
	return func(yield func(transcript.Form, field.QM31) bool) {
		for i, weight := range field.Powers(zeta.Exp(uint64(p.claims)), zeta, p.Claims) {
			if !yield(p.Claim(i), weight) {
				return
			}
		}
		equations := p.Tape.Equations()
		for i, weight := range field.Powers(zeta.Exp(uint64(p.equations)), zeta, len(equations)) {
			if !yield(equations[i], weight) {
				return
			}
		}
	}
}

// addEnds adds to weights, for the elements of triples lo to hi − 1, their weights in the claims at the end of the proof of
// products. powers are the powers of zeta of these claims, and eq is the eq table of their point.
func (s *Stack) addEnds(weights, eq, powers []field.QM31, lo, hi int) {
	for i := lo; i < hi; i++ {
		x, y, z := s.triple(i)
		for k, at := range [3]int{x, y, z} {
			weights[at] = weights[at].Add(powers[k].Mul(eq[i]))
		}
	}
}
