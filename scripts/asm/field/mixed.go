package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

// spreadTable has the lane numbers that copy each of 16 lanes to the four
// lanes of an element of K.
func spreadTable() Mem {
	var words []uint32
	for i := range uint32(64) {
		words = append(words, i/4)
	}
	return vec.Table("spread", words)
}

// spreader copies each base-field lane to all four limbs of an element of K.
type spreader struct {
	g     *vec.Gen
	index []reg.VecVirtual // lane numbers for each quarter of a register, whose elements fill a register when they are spread
}

func newSpreader(g *vec.Gen, table Mem) spreader {
	s := spreader{g: g}
	for i := range 4 {
		s.index = append(s.index, g.Load(table.Offset(i*g.Bytes())))
	}
	return s
}

// blocks emits a loop over n elements, a multiple of 16, of vectors of the base field (base) and of K (extended). begin is called for each
// register of the base field, which is at byte at of a block of 16 elements. The function that it returns is called for each quarter i of
// the register; the elements of K of this quarter are at byte o.
func (s spreader) blocks(n reg.GPVirtual, base, extended []reg.GPVirtual, begin func(at int) func(i, o int)) {
	SHRQ(U8(4), n)
	vec.Loop("loop", n, func() {
		for at := 0; at < 64; at += s.g.Bytes() {
			group := begin(at)
			for i := range 4 {
				group(i, 4*at+i*s.g.Bytes())
			}
		}
		vec.Advance(64, base...)
		vec.Advance(256, extended...)
	})
}

// spread returns quarter i of the lanes of a, each copied to four lanes.
func (s spreader) spread(a reg.VecVirtual, i int) reg.VecVirtual {
	v := s.g.Reg()
	VPERMD(a, s.index[i], v)
	return v
}

// times returns a·s for spread lanes a, with even = (2·s0, 2·s2) and
// odd = (2·s1, 2·s3) in quads.
func times(g *vec.Gen, a, even, odd reg.VecVirtual) reg.VecVirtual {
	e, o := g.Reg(), g.Reg()
	VPMULUDQ(a, even, e)
	VPMULUDQ(a, odd, o)
	return g.ReduceDoubled(e, o)
}

// doubled loads the element of K at s, and returns its double in the form that times takes.
func doubled(g *vec.Gen, s reg.GPVirtual) (even, odd reg.VecVirtual) {
	even = g.BroadcastQuads(vec.At(s, 0))
	VPADDD(even, even, even)
	return even, g.Down(even)
}

// mixedKernels combine vectors of the base field, or signed integers, with
// elements of K. n counts elements, a positive multiple of 16.
func mixedKernels(lanes int, spread Mem) {
	// loader returns a function that reads base-field lanes, or signed integers as such.
	loader := func(g *vec.Gen, integers bool) func(m Mem) reg.VecVirtual {
		if !integers {
			return func(m Mem) reg.VecVirtual { return g.Load(m) }
		}
		two := twoP(g)
		return func(m Mem) reg.VecVirtual { return g.FromInt32(g.Load(m), two) }
	}
	mulAcc := func(name, elem, doc string, integers bool) {
		g := vec.New(lanes, name, "func(dst *uint32, a *"+elem+", s *uint32, n uint64)", doc)
		dst, a, n := vec.Pointer("dst"), vec.Pointer("a"), vec.Pointer("n")
		even, odd := doubled(g, vec.Pointer("s"))
		sp := newSpreader(g, spread)
		load := loader(g, integers)
		sp.blocks(n, []reg.GPVirtual{a}, []reg.GPVirtual{dst}, func(at int) func(i, o int) {
			v := load(vec.At(a, at))
			return func(i, o int) {
				m := vec.At(dst, o)
				g.Move(g.Add(times(g, sp.spread(v, i), even, odd), m), m)
			}
		})
		g.End()
	}
	mulAcc("mulAccVec", "uint32", "sets dst[i] += s·a[i] for dst and s in K, 16 | n > 0.", false)
	mulAcc("mulAccInt32Vec", "int32", "is the same for signed integers a.", true)

	dot := func(name, elem, doc string, integers bool) {
		g := vec.New(lanes, name, "func(sum *[4]uint64, a *"+elem+", w *uint32, n uint64)", doc)
		a, w, n := vec.Pointer("a"), vec.Pointer("w"), vec.Pointer("n")
		sp := newSpreader(g, spread)
		load := loader(g, integers)
		t := newTotal(g)
		sp.blocks(n, []reg.GPVirtual{a}, []reg.GPVirtual{w}, func(at int) func(i, o int) {
			v := load(vec.At(a, at))
			return func(i, at int) {
				x, e, o := sp.spread(v, i), g.Load(vec.At(w, at)), g.Reg()
				VPSRLQ(U8(32), e, o)
				VPMULUDQ(x, e, e)
				VPMULUDQ(x, o, o)
				VPADDQ(e, t.even, t.even)
				VPADDQ(o, t.odd, t.odd)
				if i%2 == 1 { // two products of at most p² plus a sum below 2^34 fit 64 bits
					g.Fold(t.even, t.p64)
					g.Fold(t.odd, t.p64)
				}
			}
		})
		t.store(vec.Pointer("sum"))
		g.End()
	}
	dot("dotM31", "uint32", "sets sum to Σ a[i]·w[i] for w in K, limbs not reduced, 16 | n > 0.", false)
	dot("dotInt32", "int32", "is the same for signed integers a.", true)

	g := vec.New(lanes, "foldM31Vec", "func(dst, lo, hi, r *uint32, n uint64)",
		"sets dst[i] = lo[i] + r·(hi[i] − lo[i]) for dst and r in K, 16 | n > 0.")
	dst, lo, hi, n := vec.Pointer("dst"), vec.Pointer("lo"), vec.Pointer("hi"), vec.Pointer("n")
	even, odd := doubled(g, vec.Pointer("r"))
	sp := newSpreader(g, spread)
	first := firstLanes(g) // the base field adds to the first limbs only
	sp.blocks(n, []reg.GPVirtual{lo, hi}, []reg.GPVirtual{dst}, func(at int) func(i, o int) {
		l := g.Load(vec.At(lo, at))
		d := g.Sub(g.Load(vec.At(hi, at)), l)
		return func(i, o int) {
			base := sp.spread(l, i)
			g.And(base, first, base)
			g.Move(g.Add(times(g, sp.spread(d, i), even, odd), base), vec.At(dst, o))
		}
	})
	g.End()
}

// placedKernels convert base-field lanes, or signed integers, to elements of K, whose first limb
// they are. n counts elements, a positive multiple of 16.
func placedKernels(lanes int, spread Mem) {
	// placed emits a loop over a. element returns what is stored for elements with these first
	// limbs, the others being zero.
	placed := func(g *vec.Gen, dst, a, n reg.GPVirtual, load func(m Mem) reg.VecVirtual, element func(v reg.VecVirtual) reg.VecVirtual) {
		sp, first := newSpreader(g, spread), firstLanes(g)
		sp.blocks(n, []reg.GPVirtual{a}, []reg.GPVirtual{dst}, func(at int) func(i, o int) {
			v := load(vec.At(a, at))
			return func(i, o int) {
				x := sp.spread(v, i)
				g.And(x, first, x)
				g.Move(element(x), vec.At(dst, o))
			}
		})
		g.End()
	}
	g := vec.New(lanes, "embedVec", "func(dst, a *uint32, n uint64)", "sets dst[i] = a[i] for dst in K, 16 | n > 0.")
	dst, a, n := vec.Pointer("dst"), vec.Pointer("a"), vec.Pointer("n")
	placed(g, dst, a, n, func(m Mem) reg.VecVirtual { return g.Load(m) }, func(v reg.VecVirtual) reg.VecVirtual { return v })

	g = vec.New(lanes, "subInt32Vec", "func(dst *uint32, a *int32, s *uint32, n uint64)",
		"sets dst[i] = s − a[i] for dst and s in K and signed integers a, 16 | n > 0.")
	dst, a, n = vec.Pointer("dst"), vec.Pointer("a"), vec.Pointer("n")
	from, two := g.BroadcastQuads(vec.At(vec.Pointer("s"), 0)), twoP(g)
	placed(g, dst, a, n, func(m Mem) reg.VecVirtual { return g.FromInt32(g.Load(m), two) },
		func(v reg.VecVirtual) reg.VecVirtual { return g.Sub(from, v) })
}

// firstLanes returns p in the first lane of each element, else 0.
func firstLanes(g *vec.Gen) reg.VecVirtual {
	v := g.Reg()
	VPSRLDQ(U8(12), g.P(), v)
	return v
}
