// Command code generates the layers of the circle code's FFT. prover/math/code/layers.go says
// what they compute.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

// groupBytes is the size of a group of 16 elements, within which the last layers work.
const groupBytes = 64

func main() {
	for _, lanes := range []int{8, 16} {
		radix2(lanes)
		radix4(lanes)
	}
	lastLayersAVX2()
	lastLayersAVX512()
	vec.Write()
}

// radix2 emits one layer.
func radix2(lanes int) {
	g := vec.New(lanes, "radix2Vec", "func(dst, src *uint32, halfBytes, count uint64, t *uint32)",
		"does the layer of count nodes with twiddles t; halfBytes, half a node's size, is a multiple of 64.")
	dst, src, half, count, t := vec.Pointer("dst"), vec.Pointer("src"), vec.Pointer("halfBytes"), vec.Pointer("count"), vec.Pointer("t")
	vec.Loop("node", count, func() {
		tw := same(g, Mem{Base: t})
		vec.Loop("elements", vectors(g, half), func() {
			x, y := butterfly(g, g.Load(Mem{Base: src}), g.Load(Mem{Base: src, Index: half, Scale: 1}), tw)
			g.Move(x, Mem{Base: dst})
			g.Move(y, Mem{Base: dst, Index: half, Scale: 1})
			vec.Advance(g.Bytes(), dst, src)
		})
		ADDQ(half, src)
		ADDQ(half, dst)
		vec.Advance(4, t)
	})
	g.End()
}

// radix4 emits two layers at once.
func radix4(lanes int) {
	g := vec.New(lanes, "radix4Vec", "func(dst, src *uint32, quarterBytes, count uint64, t, t2 *uint32)",
		"does two layers of count nodes with twiddles t, and t2 for their children; quarterBytes, a quarter of a node's size, is a multiple of 64.")
	dst, src, quarter, count, t, t2 := vec.Pointer("dst"), vec.Pointer("src"), vec.Pointer("quarterBytes"), vec.Pointer("count"), vec.Pointer("t"), vec.Pointer("t2")
	three := GP64()
	LEAQ(Mem{Base: quarter, Index: quarter, Scale: 2}, three)
	quarters := func(base reg.GPVirtual) [4]Mem {
		return [4]Mem{
			{Base: base},
			{Base: base, Index: quarter, Scale: 1},
			{Base: base, Index: quarter, Scale: 2},
			{Base: base, Index: three, Scale: 1},
		}
	}
	vec.Loop("node", count, func() {
		tw, left, right := same(g, Mem{Base: t}), same(g, Mem{Base: t2}), same(g, Mem{Base: t2, Disp: 4})
		vec.Loop("elements", vectors(g, quarter), func() {
			var v [4]reg.VecVirtual
			for k, m := range quarters(src) {
				v[k] = g.Load(m)
			}
			v[0], v[2] = butterfly(g, v[0], v[2], tw)
			v[1], v[3] = butterfly(g, v[1], v[3], tw)
			v[0], v[1] = butterfly(g, v[0], v[1], left)
			v[2], v[3] = butterfly(g, v[2], v[3], right)
			for k, m := range quarters(dst) {
				g.Move(v[k], m)
			}
			vec.Advance(g.Bytes(), dst, src)
		})
		ADDQ(three, src)
		ADDQ(three, dst)
		vec.Advance(4, t)
		vec.Advance(8, t2)
	})
	g.End()
}

// vectors returns a register with the number of vectors in so many bytes.
func vectors(g *vec.Gen, bytes reg.GPVirtual) reg.GPVirtual {
	n := GP64()
	MOVQ(bytes, n)
	shift := map[int]uint8{32: 5, 64: 6}[g.Bytes()]
	SHRQ(U8(shift), n)
	return n
}

// factor is a vector of twiddles times two. even has those of the even lanes, and odd those
// of the odd lanes, moved to the even ones.
type factor struct{ even, odd reg.VecVirtual }

// same is the factor with the twiddle at m in every lane.
func same(g *vec.Gen, m Mem) factor {
	t := g.Reg()
	VPBROADCASTD(m, t)
	VPADDD(t, t, t)
	return factor{t, t}
}

// each is the factor with the twiddles in the lanes of t.
func each(g *vec.Gen, t reg.VecVirtual) factor {
	f := factor{g.Reg(), g.Reg()}
	VPADDD(t, t, f.even)
	VPSRLQ(U8(31), t, f.odd) // bit 31 of the even lane is 0
	return f
}

// butterfly returns x + t·y and x − t·y.
func butterfly(g *vec.Gen, x, y reg.VecVirtual, t factor) (sum, difference reg.VecVirtual) {
	even, odd := g.Reg(), g.Down(y)
	VPMULUDQ(t.even, y, even)
	VPMULUDQ(t.odd, odd, odd)
	u := g.ReduceDoubled(even, odd)
	return g.Add(x, u), g.Sub(x, u)
}
