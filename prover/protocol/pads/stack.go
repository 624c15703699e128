package pads

import (
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// Limbs is the number of values of an element of the stack.
const Limbs = 4

// dummies is how many triples are used nowhere. What is sent in the clear of all triples, x*, y* and z*, is uniform by
// them, but for ½·|K|^(−5/2) in statistical distance.
const dummies = 4

// Fork is what a sub-transcript takes: the number of its elements, the pairs of these whose products are needed, and how many
// equations it leaves.
type Fork struct {
	Pads      int
	Triples   [][2]int
	Equations int
}

// Stack says which element of a stack is what.
type Stack struct {
	forks    []Fork
	first    []int // of each sub-transcript's pads
	rounds   int   // where those of the proof of products begin
	products int   // where the products begin
	dummies  int
	triples  [][2]int // the pads of each product, by their places in the stack
	vars     int      // of the sum over triples
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

// triple returns the places of a triple, those of dummies behind the others.
func (s *Stack) triple(i int) (x, y, z int) {
	if i < len(s.triples) {
		return s.triples[i][0], s.triples[i][1], s.products + i
	}
	at := s.dummies + 3*(i-len(s.triples))
	return at, at + 1, at + 2
}

// count returns the number of triples, dummies included.
func (s *Stack) count() int { return len(s.triples) + dummies }

// Fill returns the elements of the stack: pads from a secret key, and products.
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

// draw sets elements of K to those of a stream, four elements of F each.
func draw(key *prf.Key, use prf.Use, dst []field.QM31) {
	limbs := make([]field.M31, Limbs*len(dst))
	key.Elements(use, 0, 0, limbs)
	for i := range dst {
		l := limbs[Limbs*i:]
		dst[i] = field.NewQM31(l[0], l[1], l[2], l[3])
	}
}

// Of returns the pads of a sub-transcript among the stack's values.
func (s *Stack) Of(fork int, values []field.QM31) []field.QM31 {
	return values[s.first[fork]:][:s.forks[fork].Pads]
}

// NewTape returns the tape for a verifier of a sub-transcript.
func (s *Stack) NewTape(fork int) *transcript.Tape {
	f := &s.forks[fork]
	return transcript.NewTape(len(f.Triples), f.Equations)
}
