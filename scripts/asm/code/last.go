package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

// The last layers work within a group of 16 elements, written below as four
// quads Q0 … Q3 of elements e0 … e3. Before each layer, shuffles bring the first
// halves of all blocks into one register and the second halves into another;
// the twiddles have to follow the order in which the blocks then lie.

// last emits the function of the four layers.
type last struct {
	*vec.Gen
	dst    reg.GPVirtual
	groups reg.GPVirtual
	t      []reg.GPVirtual // pointers to the twiddles of each layer
}

// newLast begins a function.
func newLast(lanes int) *last {
	l := &last{Gen: vec.New(lanes, "last1", "func(dst *uint32, groups uint64, t, t2, t4, t8 *uint32)",
		"does the four layers below groups of 16 elements, an even number, with twiddles t, t2, t4 and t8.")}
	l.dst, l.groups = vec.Pointer("dst"), vec.Pointer("groups")
	for _, name := range []string{"t", "t2", "t4", "t8"} {
		l.t = append(l.t, vec.Pointer(name))
	}
	return l
}

// loop emits body for n groups at a time and ends the function.
func (l *last) loop(n int, body func()) {
	turns := GP64()
	MOVQ(l.groups, turns)
	if n == 2 {
		SHRQ(U8(1), turns)
	}
	vec.Loop("groups", turns, func() {
		body()
		vec.Advance(n*groupBytes, l.dst)
		for layer, t := range l.t {
			vec.Advance(4*n<<layer, t)
		}
	})
	l.End()
}

// constant loads a vector of words; name must be unique in the function.
func (l *last) constant(name string, words ...uint32) reg.VecVirtual {
	return l.Load(vec.Table("last1"+vec.Suffix(l.Lanes)+name, words))
}

// lastLayersAVX2 takes one group at a time, in two registers.
func lastLayersAVX2() {
	l := newLast(8)
	g := l.Gen
	dup4 := l.constant("dup4", 0, 0, 0, 0, 1, 1, 1, 1)
	dup2 := l.constant("dup2", 0, 0, 1, 1, 2, 2, 3, 3)
	l.loop(1, func() {
		x, y := g.Load(Mem{Base: l.dst}), g.Load(Mem{Base: l.dst, Disp: 32})
		x, y = butterfly(g, x, y, same(g, Mem{Base: l.t[0]}))

		halves := func() { // low halves of x and y, high halves of x and y
			x, y = g.Shuffled(func(o ...Op) { VPERM2I128(o[0], o[1], o[2], o[3]) }, 0x20, 0x31, x, y)
		}
		pairs := func() { // lower and upper 64 bits of each 128
			x, y = g.Pair(VPUNPCKLQDQ, VPUNPCKHQDQ, x, y)
		}
		tw := g.Reg()
		halves() // [Q0 Q2] and [Q1 Q3]
		VPBROADCASTQ(Mem{Base: l.t[1]}, tw)
		VPERMD(tw, dup4, tw)
		x, y = butterfly(g, x, y, each(g, tw))

		pairs() // [Q0e01 Q1e01 | Q2e01 Q3e01] and the same with e23
		tw = g.BroadcastQuads(Mem{Base: l.t[2]})
		VPERMD(tw, dup2, tw)
		x, y = butterfly(g, x, y, each(g, tw))

		// [Q0e0 Q1e0 Q0e2 Q1e2 | Q2e0 Q3e0 Q2e2 Q3e2] and with e1, e3
		x, y = g.Shuffled(VSHUFPS, 0x88, 0xdd, x, y)
		tw = g.Reg()
		VPSHUFD(U8(0xd8), Mem{Base: l.t[3]}, tw)
		x, y = butterfly(g, x, y, each(g, tw))

		// [Q0e01 Q1e01 | …] and with e23, then [Q0 Q2] and [Q1 Q3]
		x, y = g.Pair(VPUNPCKLDQ, VPUNPCKHDQ, x, y)
		pairs()
		halves() // [Q0 Q1] and [Q2 Q3]
		g.Move(x, Mem{Base: l.dst})
		g.Move(y, Mem{Base: l.dst, Disp: 32})
	})
}

// lastLayersAVX512 takes two groups, A and B, at a time.
func lastLayersAVX512() {
	l := newLast(16)
	g := l.Gen
	// order has, for each layer, the twiddle of each lane in the layouts below. a and b
	// have, for each word of A and B, its lane at the end; lanes from 16 on are those of
	// the second register.
	order := []reg.VecVirtual{
		l.constant("t", 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
		l.constant("t2", 0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3),
		l.constant("t4", 0, 0, 1, 1, 4, 4, 5, 5, 2, 2, 3, 3, 6, 6, 7, 7),
		l.constant("t8", 0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15),
	}
	a := l.constant("a", 0, 16, 2, 18, 1, 17, 3, 19, 8, 24, 10, 26, 9, 25, 11, 27)
	b := l.constant("b", 4, 20, 6, 22, 5, 21, 7, 23, 12, 28, 14, 30, 13, 29, 15, 31)
	// twiddles loads the layer's 2, 4, 8 or 16 twiddles, and reads no word beyond them.
	twiddles := func(layer int) factor {
		m, t := Mem{Base: l.t[layer]}, g.Reg()
		switch layer {
		case 0:
			VPBROADCASTQ(m, t)
		case 1:
			VBROADCASTI32X4(m, t)
		case 2:
			VBROADCASTI64X4(m, t)
		case 3:
			g.Move(m, t)
		}
		VPERMD(t, order[layer], t)
		return each(g, t)
	}
	l.loop(2, func() {
		x, y := g.Load(Mem{Base: l.dst}), g.Load(Mem{Base: l.dst, Disp: groupBytes})
		// [AQ0 AQ1 BQ0 BQ1] and [AQ2 AQ3 BQ2 BQ3]
		x, y = g.Shuffled(VSHUFI64X2, 0x44, 0xee, x, y)
		x, y = butterfly(g, x, y, twiddles(0))

		// [AQ0 BQ0 AQ2 BQ2] and [AQ1 BQ1 AQ3 BQ3]
		x, y = g.Shuffled(VSHUFI64X2, 0x88, 0xdd, x, y)
		x, y = butterfly(g, x, y, twiddles(1))

		// [AQ0e01 AQ1e01 | BQ0e01 BQ1e01 | AQ2e01 AQ3e01 | BQ2e01 BQ3e01]
		// and the same with e23
		x, y = g.Pair(VPUNPCKLQDQ, VPUNPCKHQDQ, x, y)
		x, y = butterfly(g, x, y, twiddles(2))

		// [AQ0e0 AQ1e0 AQ0e2 AQ1e2 | BQ0e0 … | AQ2e0 … | BQ2e0 …]
		// and the same with e1, e3
		x, y = g.Shuffled(VSHUFPS, 0x88, 0xdd, x, y)
		x, y = butterfly(g, x, y, twiddles(3))
		first := g.Reg()
		g.Move(x, first)
		VPERMT2D(y, a, first)
		VPERMT2D(y, b, x)
		g.Move(first, Mem{Base: l.dst})
		g.Move(x, Mem{Base: l.dst, Disp: groupBytes})
	})
}
