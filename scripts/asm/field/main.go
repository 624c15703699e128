// Command field generates the vector kernels of prover/math/field.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

func main() {
	ConstraintExpr("!purego")
	spread := spreadTable()
	for _, lanes := range []int{8, 16} {
		m31Kernels(lanes)
		qm31Kernels(lanes)
		mixedKernels(lanes, spread)
		placedKernels(lanes, spread)
		roundKernels(lanes, spread)
	}
	Generate()
}

// param loads a pointer or a count.
func param(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// at is the memory at a pointer.
func at(p reg.GPVirtual, offset int) Mem { return Mem{Base: p, Disp: offset} }

// advance adds to pointers.
func advance(bytes int, ps ...reg.GPVirtual) {
	for _, p := range ps {
		ADDQ(I32(int32(bytes)), p)
	}
}

// m31Kernels are the element-wise operations of the base field. n counts
// elements, a positive multiple of 16.
func m31Kernels(lanes int) {
	binary := func(name, doc string, op func(g *vec.Gen, a, b reg.VecVirtual) reg.VecVirtual) {
		g := vec.New(lanes, name, "func(dst, a, b *uint32, n uint64)", doc)
		dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
		SHRQ(U8(4), n)
		vec.Loop("loop", n, func() {
			for o := 0; o < 64; o += g.Bytes() {
				g.Move(op(g, g.Load(at(a, o)), g.Load(at(b, o))), at(dst, o))
			}
			advance(64, dst, a, b)
		})
		g.End()
	}
	binary("addVec", "sets dst[i] = a[i] + b[i], 16 | n > 0.", func(g *vec.Gen, a, b reg.VecVirtual) reg.VecVirtual { return g.Add(a, b) })
	binary("subVec", "sets dst[i] = a[i] − b[i], 16 | n > 0.", func(g *vec.Gen, a, b reg.VecVirtual) reg.VecVirtual { return g.Sub(a, b) })
	binary("mulVec", "sets dst[i] = a[i]·b[i], 16 | n > 0.", func(g *vec.Gen, a, b reg.VecVirtual) reg.VecVirtual { return g.Mul(a, b) })

	g := vec.New(lanes, "scaleVec", "func(dst, a *uint32, s uint32, n uint64)", "sets dst[i] = a[i]·s, 16 | n > 0.")
	dst, a, n := param("dst"), param("a"), param("n")
	s := Load(Param("s"), GP32())
	ADDL(s, s)
	twice := g.Broadcast(s)
	SHRQ(U8(4), n)
	vec.Loop("loop", n, func() {
		for o := 0; o < 64; o += g.Bytes() {
			even, odd := g.Load(at(a, o)), g.Reg()
			VMOVSHDUP(even, odd)
			VPMULUDQ(twice, even, even)
			VPMULUDQ(twice, odd, odd)
			g.Move(g.ReduceDoubled(even, odd), at(dst, o))
		}
		advance(64, dst, a)
	})
	g.End()

	g = vec.New(lanes, "fromInt32Vec", "func(dst *uint32, src *int32, n uint64)", "sets dst[i] = src[i] mod p, 16 | n > 0.")
	dst, src, n := param("dst"), param("src"), param("n")
	twoP := twoP(g)
	SHRQ(U8(4), n)
	vec.Loop("loop", n, func() {
		for o := 0; o < 64; o += g.Bytes() {
			g.Move(g.FromInt32(g.Load(at(src, o)), twoP), at(dst, o))
		}
		advance(64, dst, src)
	})
	g.End()
}

// twoP returns a register with 2p in every lane.
func twoP(g *vec.Gen) reg.VecVirtual {
	v := g.Reg()
	VPADDD(g.P(), g.P(), v)
	return v
}
