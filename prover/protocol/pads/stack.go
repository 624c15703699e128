package pads

import (
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// Limbs is the number of values of an element of the stack.
const Limbs = 4

// dummies is the number of triples that nothing but the proof of products uses. They make x*, y* and z*, the values that are
// sent without pads for all triples, uniform up to a statistical distance of ½·|K|^(−5/2).
const dummies = 4

// Fork is what a sub-transcript needs of the stack.
type Fork struct {
	Pads      int      // how many elements of K it sends
	Triples   [][2]int // the pairs of these elements, by their numbers, whose products the verifier needs
	Equations int      // how many equations it leaves
}

// Stack is the layout of a stack of pads. The fields that are places count elements of K from the beginning of the stack.
type Stack struct {
	forks    []Fork
	first    []int    // by sub-transcript: the place of its first pad
	rounds   int      // the place of the first pad of the proof of products
	products int      // the place of the first product
	dummies  int      // the place of the first dummy; the three elements of a dummy are side by side
	triples  [][2]int // by product: the places of the two pads that it is the product of
	vars     int      // number of variables of the sum over triples
}

// NewStack returns the stack of pads of these sub-transcripts.
func NewStack(forks []Fork) *Stack {
	s := &Stack{forks: forks}
	at := 0
	for _, f := range forks {
		s.first = append(s.first, at)
		for _, t := range f.Triples {
			s.triples = append(s.triples, [2]int{at + t[0], at + t[1]})
		}
		at += f.Pads
	}
	s.vars = bits.Len(uint(len(s.triples) + dummies - 1))
	s.rounds = at
	s.products = at + 2*s.vars
	s.dummies = s.products + len(s.triples)
	return s
}

// Elements returns the number of elements of K of the stack, of Limbs values each.
func (s *Stack) Elements() int { return s.dummies + 3*dummies }

// Vars returns the number of rounds of the proof of products.
func (s *Stack) Vars() int { return s.vars }

// triple returns the places of the elements of triple i, z being x·y. The dummies have the last numbers.
func (s *Stack) triple(i int) (x, y, z int) {
	if i < len(s.triples) {
		return s.triples[i][0], s.triples[i][1], s.products + i
	}
	at := s.dummies + 3*(i-len(s.triples))
	return at, at + 1, at + 2
}

// count returns the number of triples, dummies included.
func (s *Stack) count() int { return len(s.triples) + dummies }

// Fill returns the elements of the stack: pads and dummies, which follow from a secret key, and products.
func (s *Stack) Fill(key *prf.Key) []field.QM31 {
	values := make([]field.QM31, s.Elements())
	draw(key, prf.Pad, values[:s.products])
	draw(key, prf.Dummy, values[s.dummies:])
	for i := range s.count() {
		x, y, z := s.triple(i)
		values[z] = values[x].Mul(values[y])
	}
	return values
}

// draw sets dst to the pseudorandom elements of the key for one use, each made of four elements of F.
func draw(key *prf.Key, use prf.Use, dst []field.QM31) {
	limbs := make([]field.M31, Limbs*len(dst))
	key.Elements(use, 0, 0, limbs)
	for i := range dst {
		l := limbs[Limbs*i:]
		dst[i] = field.NewQM31(l[0], l[1], l[2], l[3])
	}
}

// Of returns the pads of a sub-transcript. values are the elements of the stack.
func (s *Stack) Of(fork int, values []field.QM31) []field.QM31 {
	return values[s.first[fork]:][:s.forks[fork].Pads]
}

// NewTape returns an empty tape for a verifier of a sub-transcript, with room for what the plan says.
func (s *Stack) NewTape(fork int) *transcript.Tape {
	f := &s.forks[fork]
	return transcript.NewTape(len(f.Triples), f.Equations)
}
