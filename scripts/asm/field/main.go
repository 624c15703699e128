// Command field generates the vector kernels of prover/math/field.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

func main() {
	spread := spreadTable()
	for _, lanes := range []int{8, 16} {
		m31Kernels(lanes)
		qm31Kernels(lanes)
		mixedKernels(lanes, spread)
		placedKernels(lanes, spread)
		roundKernels(lanes, spread)
	}
	vec.Write()
}

// m31Kernels are the element-wise operations of the base field. n counts
// elements, a positive multiple of 16.
func m31Kernels(lanes int) {
	binary := func(name, doc string, op func(g *vec.Gen, a, b reg.VecVirtual) reg.VecVirtual) {
		g := vec.New(lanes, name, "func(dst, a, b *uint32, n uint64)", doc)
		dst, a, b, n := vec.Pointer("dst"), vec.Pointer("a"), vec.Pointer("b"), vec.Pointer("n")
		g.Blocks(n, 4, func(o int) {
			g.Move(op(g, g.Load(vec.At(a, o)), g.Load(vec.At(b, o))), vec.At(dst, o))
		}, dst, a, b)
		g.End()
	}
	binary("addVec", "sets dst[i] = a[i] + b[i], 16 | n > 0.", func(g *vec.Gen, a, b reg.VecVirtual) reg.VecVirtual { return g.Add(a, b) })
	binary("subVec", "sets dst[i] = a[i] − b[i], 16 | n > 0.", func(g *vec.Gen, a, b reg.VecVirtual) reg.VecVirtual { return g.Sub(a, b) })
	binary("mulVec", "sets dst[i] = a[i]·b[i], 16 | n > 0.", func(g *vec.Gen, a, b reg.VecVirtual) reg.VecVirtual { return g.Mul(a, b) })

	g := vec.New(lanes, "scaleVec", "func(dst, a *uint32, s uint32, n uint64)", "sets dst[i] = a[i]·s, 16 | n > 0.")
	dst, a, n := vec.Pointer("dst"), vec.Pointer("a"), vec.Pointer("n")
	s := Load(Param("s"), GP32())
	ADDL(s, s)
	twice := g.Broadcast(s)
	g.Blocks(n, 4, func(o int) {
		even, odd := g.Load(vec.At(a, o)), g.Reg()
		VMOVSHDUP(even, odd)
		VPMULUDQ(twice, even, even)
		VPMULUDQ(twice, odd, odd)
		g.Move(g.ReduceDoubled(even, odd), vec.At(dst, o))
	}, dst, a)
	g.End()

	g = vec.New(lanes, "fromInt32Vec", "func(dst *uint32, src *int32, n uint64)", "sets dst[i] = src[i] mod p, 16 | n > 0.")
	dst, src, n := vec.Pointer("dst"), vec.Pointer("src"), vec.Pointer("n")
	twoP := twoP(g)
	g.Blocks(n, 4, func(o int) {
		g.Move(g.FromInt32(g.Load(vec.At(src, o)), twoP), vec.At(dst, o))
	}, dst, src)
	g.End()
}

// twoP returns a register with 2p in every lane.
func twoP(g *vec.Gen) reg.VecVirtual {
	v := g.Reg()
	VPADDD(g.P(), g.P(), v)
	return v
}
