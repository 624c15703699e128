package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

// single emits the permutation of one state with AVX-512. Word i is in lane i of one
// register. A transcript waits for this permutation, which is a chain of dependent steps: so
// the latency of the steps counts, not their throughput.
func single() {
	g := vec.New(16, "permuteState", "func(state *uint32, constants *uint32)",
		"permutes a state. The constants are c − p as 32-bit words, in the order of the rounds.")
	s := &single512{g: g, first: g.Mask(1), others: g.Mask(0xfffe)}
	state, constants := vec.Pointer("state"), vec.Pointer("constants")
	// A rotation of 31 bits is two shifts. Those of word 0 shift out all its bits.
	left, right := []uint32{32}, []uint32{31}
	for _, k := range shifts[1:] {
		left, right = append(left, uint32(k)), append(right, uint32(31-k))
	}
	s.left, s.right = g.Load(vec.Table("rotateLeft", left)), g.Load(vec.Table("rotateRight", right))

	v := g.Load(Mem{Base: state})
	g.Move(s.external(v), v)
	rounds(constants, func() {
		w := g.Reg()
		VPADDD(Mem{Base: constants}, v, w)
		g.Move(s.external(pow5(g, w)), v)
	}, func() { g.Move(s.internal(v, Mem{Base: constants}), v) })
	g.Move(v, Mem{Base: state})
	g.End()
}

// single512 emits the layers of a state in one register.
type single512 struct {
	g             *vec.Gen
	first, others reg.Register   // masks of word 0 and of the others
	left, right   reg.VecVirtual // the shifts of each word in the internal rounds
}

// within shuffles the words of every 128-bit part, and across shuffles the parts.
func (s *single512) within(v reg.VecVirtual, order uint8) reg.VecVirtual {
	w := s.g.Reg()
	VPSHUFD(U8(order), v, w)
	return w
}

func (s *single512) across(v reg.VecVirtual, order uint8) reg.VecVirtual {
	w := s.g.Reg()
	VSHUFI32X4(U8(order), v, v, w)
	return w
}

// Orders for these shuffles of four: place i takes i + 1 mod 4, i xor 2, or i xor 1.
const (
	next = 0x39
	far  = 0x4e
	near = 0xb1
)

// external multiplies by circ(2·M4, M4, M4, M4), M4 = circ(2, 3, 1, 1).
func (s *single512) external(v reg.VecVirtual) reg.VecVirtual {
	g := s.g
	after := s.within(v, next)
	pair := g.Add(v, after)
	m4 := g.Add(g.Add(pair, after), g.Add(pair, s.within(pair, far))) // v + 2·after, and all four
	column := g.Add(m4, s.across(m4, far))
	column = g.Add(column, s.across(column, near))
	return g.Add(m4, column)
}

// internal adds the constant at m to word 0, raises word 0 to the fifth power, and multiplies
// the state by 1·1ᵀ + diag(−2, 2^k …).
func (s *single512) internal(v reg.VecVirtual, m Mem) reg.VecVirtual {
	g := s.g
	raised := pow5(g, g.AddBroadcast(v, m)) // only its word 0 is used
	first := g.Reg()
	VPBROADCASTD(raised.AsX(), first)
	VPSUBD(first, g.P(), s.first, first) // −first in word 0; it may be p
	// The steps up to the last line do not depend on the power.
	sum := g.Reg()
	VMOVDQA32_Z(v, s.others, sum)
	sum = g.Add(sum, s.within(sum, far))
	sum = g.Add(sum, s.within(sum, near))
	sum = g.Add(sum, s.across(sum, far))
	sum = g.Add(sum, s.across(sum, near))
	hi, lo := g.Reg(), g.Reg()
	VPSLLVD(s.left, v, hi)
	VPSRLVD(s.right, v, lo)
	VPTERNLOGD(U8(0xf8), hi, g.P(), lo)
	return g.Add(g.Add(sum, lo), first)
}
