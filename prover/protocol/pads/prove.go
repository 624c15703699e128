package pads

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// The proof of products shows Σ_i eq(τ, i)·(x_i·y_i − z_i) = 0 over all triples, those beyond them being zero, by a sumcheck
// in the form of a look-up tree's layer (package logup): eq is left out of what is sent, the second and third
// coefficients of a quadratic a round. They are padded as well. It ends in the MLEs of all x, y and z at one point, which
// are sent as they are: the dummies make them uniform.

// errProducts says that the end does not follow.
var errProducts = errors.New("pads: products do not follow")

// Ends are where the proof of products ends: three claims on the stack.
type Ends struct {
	tape  *transcript.Tape
	point []field.QM31
	at    [3]field.QM31 // x*, y*, z*
}

// Prove writes the proof of products. values are those of the stack.
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
			for i := range half {
				t[i] = t[i].Add(r.Mul(t[half+i].Sub(t[i])))
			}
			tables[k] = t[:half]
		}
	}
	w.Unmask()
	w.SendQM31(tables[0][0], tables[1][0], tables[2][0])
}

// Verify reads the proof of products.
func (s *Stack) Verify(r *transcript.Reader) *Ends {
	e := &Ends{tape: &transcript.Tape{}, point: make([]field.QM31, s.vars)}
	tau := r.Challenges(s.vars)
	r.Mask(e.tape)
	var claim transcript.Form
	for j := range tau {
		linear, square := r.Form(), r.Form() // the constant is the claim − τ·(linear + square)
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

// Read is what a verifier has of a sub-transcript: its tape, and the values of its claims.
type Read struct {
	Tape   *transcript.Tape
	Claims []transcript.Form
}

// check says whether a tape is what the stack has room for.
func (s *Stack) check(i int, t *transcript.Tape) {
	if f := s.forks[i]; t.Pads() != f.Pads || !slices.Equal(t.Triples(), f.Triples) {
		panic("pads: a sub-transcript with other elements than planned")
	}
}

// Equations returns how many equations the sub-transcripts and the proof of products leave.
func (e *Ends) Equations(forks []Read) int {
	n := len(e.tape.Equations())
	for i := range forks {
		n += len(forks[i].Tape.Equations())
	}
	return n
}

// Join joins everything with powers of zeta: the claims of all sub-transcripts in order, then so many claims that are zero and
// have no pads, then the three claims at the end of the proof of products, then the equations in the order in which they
// arose. It returns the value of the joined claim, and the weight in its functional of each element of the stack. (Claims
// on tensors are in the functional besides.)
//
// A claim says that a functional of the tables is its known part plus its form in the pads, an equation that zero is; so
// the functional has the forms with the opposite sign, and the value the known parts.
func (s *Stack) Join(forks []Read, zeros int, ends *Ends, zeta field.QM31) (value field.QM31, weights []field.QM31) {
	weights = make([]field.QM31, s.Elements())
	power := field.One
	next := func() field.QM31 {
		p := power
		power = power.Mul(zeta)
		return p
	}
	lists := make([][]transcript.Weighted, len(forks)+1)
	for i := range forks {
		s.check(i, forks[i].Tape)
		lists[i] = make([]transcript.Weighted, 0, len(forks[i].Claims)+len(forks[i].Tape.Equations()))
		for _, c := range forks[i].Claims {
			lists[i] = append(lists[i], transcript.Weighted{Form: c, Weight: next()})
		}
	}
	for range zeros {
		next()
	}
	eq := poly.EqTable(ends.point)
	for k, v := range ends.at {
		p := next()
		value = value.Add(p.Mul(v))
		for i := range s.count() {
			x, y, z := s.triple(i)
			at := [3]int{x, y, z}[k]
			weights[at] = weights[at].Add(p.Mul(eq[i]))
		}
	}
	tapes := make([]*transcript.Tape, 0, len(lists))
	for i := range forks {
		tapes = append(tapes, forks[i].Tape)
	}
	tapes = append(tapes, ends.tape)
	product := s.products
	for i, t := range tapes {
		for _, e := range t.Equations() {
			lists[i] = append(lists[i], transcript.Weighted{Form: e, Weight: next()})
		}
		known, pads, products := t.Back(lists[i])
		value = value.Add(known)
		at := s.rounds
		if i < len(forks) {
			at = s.first[i]
		}
		subtract(weights[at:], pads)
		subtract(weights[product:], products)
		product += len(products)
	}
	return value, weights
}

func subtract(dst, v []field.QM31) {
	for i := range v {
		dst[i] = dst[i].Sub(v[i])
	}
}
