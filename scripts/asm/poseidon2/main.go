// Command poseidon2 generates the kernels of prover/math/poseidon2: the permutation
// of sixteen states side by side, where row i has word i of all states, and of a single state.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

const (
	width    = 16
	half     = 4 // external rounds before and after the internal ones
	internal = 14
	rowBytes = 64 // sixteen states
)

// shifts are the exponents of the internal matrix's diagonal.
var shifts = [width]int{1: 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 15, 16}

func main() {
	wide()
	vec.Transpose(16)
	single()
	narrow()
	vec.Transpose(8)
	vec.Write()
}

const (
	signature = "func(block *uint32, constants *uint32)"
	doc       = "permutes the 16 states of a block. The constants are c − p as 32-bit words, in the order of the rounds."
)

// state is a Poseidon2 state in registers or in memory.
type state interface {
	get(i int) reg.VecVirtual    // a register that may be overwritten only by put of the same i
	put(i int, v reg.VecVirtual) // v is not used after
	operand(i int) Op            // for use as a source
}

// registers keeps the sixteen words in registers: AVX-512.
type registers struct {
	g *vec.Gen
	r [width]reg.VecVirtual
}

func (s *registers) get(i int) reg.VecVirtual    { return s.r[i] }
func (s *registers) put(i int, v reg.VecVirtual) { s.g.Move(v, s.r[i]) }
func (s *registers) operand(i int) Op            { return s.r[i] }

// memory leaves the words in the block: AVX2. A register has 8 columns of a row, those from byte offset on.
type memory struct {
	g      *vec.Gen
	base   reg.GPVirtual
	offset int
}

func (s *memory) get(i int) reg.VecVirtual    { return s.g.Load(s.operand(i)) }
func (s *memory) put(i int, v reg.VecVirtual) { s.g.Move(v, s.operand(i)) }
func (s *memory) operand(i int) Op            { return Mem{Base: s.base, Disp: i*rowBytes + s.offset} }

// wide emits the AVX-512 version: one row of the block is one register.
func wide() {
	g := vec.New(16, "permuteBlock", signature, doc)
	block, constants := vec.Pointer("block"), vec.Pointer("constants")
	s := &registers{g: g}
	m := &memory{g: g, base: block}
	for i := range s.r {
		s.r[i] = m.get(i)
	}
	permutation(g, constants, s)
	for i := range s.r {
		m.put(i, s.r[i])
	}
	g.End()
}

// narrow emits the AVX2 version. The two halves of the block take turns round
// by round, so that one can be computed while the other waits for its S-box.
func narrow() {
	g := vec.New(8, "permuteBlock", signature, doc)
	block, constants := vec.Pointer("block"), vec.Pointer("constants")
	left, right := &memory{g: g, base: block}, &memory{g: g, base: block, offset: g.Bytes()}
	permutation(g, constants, left, right)
	for i := range width {
		for _, s := range []state{left, right} {
			v := s.get(i) // may be p
			g.ReduceOnce(v)
			s.put(i, v)
		}
	}
	g.End()
}

// permutation emits all rounds for each of the states. It moves the pointer constants
// behind the constants that it uses.
func permutation(g *vec.Gen, constants reg.GPVirtual, states ...state) {
	for _, s := range states {
		externalLayer(g, s, s.get)
	}
	rounds(constants, func() {
		for _, s := range states {
			externalLayer(g, s, func(i int) reg.VecVirtual {
				return pow5(g, g.AddBroadcast(s.get(i), Mem{Base: constants, Disp: 4 * i}))
			})
		}
	}, func() {
		for _, s := range states {
			internalRound(g, s, Mem{Base: constants})
		}
	})
}

// rounds emits all rounds, as loops over external and inner. A round reads its constants at the pointer constants, which then moves to
// those of the next round.
func rounds(constants reg.GPVirtual, external, inner func()) {
	loop := func(label string, n, words int, round func()) {
		count := GP64()
		MOVQ(U32(n), count)
		vec.Loop(label, count, func() {
			round()
			ADDQ(U8(4*words), constants)
		})
	}
	loop("initial", half, width, external)
	loop("internal", internal, 1, inner)
	loop("final", half, width, external)
}

// pow5 returns v^5 of signed lanes in [−p, p). It is canonical with AVX-512;
// with AVX2 it may also be p, which every step here takes as it takes 0.
//
// The even and the odd lanes are raised separately, in quads. A product q ≥ 0 is
// reduced to (q >> 31) − (^q & p), again in [−p, p), as q mod 2^31 is
// p − (^q & p).
func pow5(g *vec.Gen, v reg.VecVirtual) reg.VecVirtual {
	square := func(x reg.VecVirtual) reg.VecVirtual {
		q, lo := g.Reg(), g.Reg()
		VPMULDQ(x, x, q)
		g.AndNot(q, g.P(), lo)
		VPSRLQ(U8(31), q, q)
		VPSUBQ(lo, q, q)
		return q
	}
	// fifth returns the fifth power q, between −p² and p².
	fifth := func(x reg.VecVirtual) reg.VecVirtual {
		q := square(square(x))
		VPMULDQ(x, q, q)
		return q
	}
	return g.ReduceSigned(fifth(v), fifth(g.Down(v)))
}

// externalLayer sets the state s to the words that input gives, times
// circ(2·M4, M4, M4, M4).
func externalLayer(g *vec.Gen, s state, input func(i int) reg.VecVirtual) {
	var column [4]reg.VecVirtual
	for b := 0; b < width; b += 4 {
		x := m4(g, input(b), input(b+1), input(b+2), input(b+3))
		for i, v := range x {
			if b == 0 {
				column[i] = g.Reg()
				g.Move(v, column[i])
			} else {
				g.AddTo(column[i], v, column[i])
			}
			s.put(b+i, v)
		}
	}
	for i := range width {
		s.put(i, g.Add(column[i%4], s.operand(i)))
	}
}

// m4 multiplies (a, b, c, d) by circ(2, 3, 1, 1).
func m4(g *vec.Gen, a, b, c, d reg.VecVirtual) [4]reg.VecVirtual {
	ab, cd := g.Add(a, b), g.Add(c, d)
	sum := g.Add(ab, cd)
	sumB, sumD := g.Add(sum, b), g.Add(sum, d)
	return [4]reg.VecVirtual{
		g.Add(sumB, ab),          // 2a + 3b + c + d
		g.Add(sumB, g.Double(c)), // a + 2b + 3c + d
		g.Add(sumD, cd),          // a + b + 2c + 3d
		g.Add(sumD, g.Double(a)), // 3a + b + c + 2d
	}
}

// internalRound adds the constant at m to word 0, raises word 0 to the fifth power, and multiplies
// the state by 1·1ᵀ + diag(−2, 2^k …).
func internalRound(g *vec.Gen, s state, m Mem) {
	first := pow5(g, g.AddBroadcast(s.get(0), m))
	// The sum of the words from 2 on is a tree of pairs, which does not depend on word 0.
	var level []reg.VecVirtual
	for i := 2; i < width; i += 2 {
		level = append(level, g.Add(s.get(i), s.operand(i+1)))
	}
	for len(level) > 1 {
		var next []reg.VecVirtual
		for i := 0; i+1 < len(level); i += 2 {
			next = append(next, g.Add(level[i], level[i+1]))
		}
		if len(level)%2 == 1 {
			next = append(next, level[len(level)-1])
		}
		level = next
	}
	rest := g.Add(level[0], s.operand(1))
	sum := g.Add(rest, first)
	s.put(0, g.Sub(rest, first)) // sum − 2·first
	s.put(1, g.Add(sum, s.operand(1)))
	s.put(2, g.Add(sum, g.Double(s.get(2))))
	for i := 3; i < width; i++ {
		s.put(i, g.Add(sum, g.RotateLeft(s.get(i), shifts[i])))
	}
}
