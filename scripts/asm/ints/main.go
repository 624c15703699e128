// Command ints generates the vector kernels of prover/math/ints.
package main

import (
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

func main() {
	for _, lanes := range []int{8, 16} {
		widen(lanes, 8, func(m Mem, v reg.VecVirtual) { VPMOVSXBD(m, v) })
		widen(lanes, 16, func(m Mem, v reg.VecVirtual) { VPMOVSXWD(m, v) })
		narrow(lanes, 8, func(v Op, to reg.VecVirtual) { VPMOVSXBD(v, to) })
		narrow(lanes, 16, func(v Op, to reg.VecVirtual) { VPMOVSXWD(v, to) })
		round(lanes)
	}
	vec.Write()
}

// widen emits the extension of signed integers of so many bits to 32. load reads a register of them.
func widen(lanes, bits int, load func(m Mem, v reg.VecVirtual)) {
	name := strconv.Itoa(bits)
	g := vec.Begin(lanes, "widen"+name, "func(dst *int32, src *int"+name+", n uint64)", "sets dst[i] = src[i] for i < n, 16 | n > 0.")
	dst, src, n := vec.Pointer("dst"), vec.Pointer("src"), vec.Pointer("n")
	SHRQ(U8(4), n)
	vec.Loop("loop", n, func() {
		for i := 0; i < 16; i += lanes {
			v := g.Reg()
			load(Mem{Base: src, Disp: i * bits / 8}, v)
			g.Move(v, Mem{Base: dst, Disp: 4 * i})
		}
		ADDQ(U8(64), dst)
		ADDQ(U8(2*bits), src)
	})
	g.End()
}

// narrow emits the conversion of signed integers of 32 bits to so many bits. It detects integers that do not fit by converting back with
// widen, and comparing.
func narrow(lanes, bits int, widen func(v Op, to reg.VecVirtual)) {
	name := strconv.Itoa(bits)
	g := vec.Begin(lanes, "narrow"+name, "func(dst *int"+name+", src *int32, n uint64) uint64",
		"sets dst[i] = src[i] for i < n, 16 | n > 0, and returns 0 if all fit.")
	dst, src, n := vec.Pointer("dst"), vec.Pointer("src"), vec.Pointer("n")
	SHRQ(U8(4), n)
	lost := g.Zero()
	differ := func(v, back reg.VecVirtual) {
		g.Xor(v, back, back)
		if lanes == 16 {
			VPORD(back, lost, lost)
		} else {
			VPOR(back, lost, lost)
		}
	}
	vec.Loop("loop", n, func() {
		if lanes == 16 {
			v, back := g.Load(Mem{Base: src}), g.Reg()
			if bits == 16 {
				short := YMM()
				VPMOVDW(v, short)
				VMOVDQU(short, Mem{Base: dst})
				widen(short, back)
			} else {
				short := XMM()
				VPMOVDB(v, short)
				VMOVDQU(short, Mem{Base: dst})
				widen(short, back)
			}
			differ(v, back)
		} else {
			// The pack instructions work on each half of a register, hence the permutations. They
			// clamp a number that does not fit, which differs when it is converted back.
			a, b, short := g.Load(Mem{Base: src}), g.Load(Mem{Base: src, Disp: 32}), g.Reg()
			VPACKSSDW(b, a, short)
			VPERMQ(U8(0xd8), short, short)
			if bits == 16 {
				g.Move(short, Mem{Base: dst})
			} else {
				VPACKSSWB(short, short, short)
				VPERMQ(U8(0xd8), short, short)
				VMOVDQU(short.AsX(), Mem{Base: dst})
			}
			for i, v := range []reg.VecVirtual{a, b} {
				back := g.Reg()
				widen(Mem{Base: dst, Disp: i * bits}, back)
				differ(v, back)
			}
		}
		ADDQ(U8(64), src)
		ADDQ(U8(2*bits), dst)
	})
	if lanes == 16 {
		y := YMM()
		VEXTRACTI64X4(U8(1), lost, y)
		VPOR(lost.AsY(), y, y)
		lost = y
	}
	result := GP64()
	XORQ(result, result)
	VPTEST(lost.AsY(), lost.AsY())
	SETNE(result.As8())
	Store(result, ReturnIndex(0))
	g.End()
}

// round emits the conversion of floats to integers: a float times scale is rounded, halfway cases to even, and shifted.
func round(lanes int) {
	g := vec.Begin(lanes, "roundVec", "func(dst *int32, src *float32, n uint64, scale float32, shift uint64)",
		"sets dst[i] = ⌊src[i]·scale⌉·2^shift for i < n, 16 | n > 0.")
	dst, src, n := vec.Pointer("dst"), vec.Pointer("src"), vec.Pointer("n")
	x, scale := XMM(), g.Reg()
	Load(Param("scale"), x)
	VBROADCASTSS(x, scale)
	shift, count := Load(Param("shift"), GP64()), XMM()
	VMOVQ(shift, count)
	SHRQ(U8(4), n)
	vec.Loop("loop", n, func() {
		for i := 0; i < 16; i += lanes {
			v := g.Reg()
			VMULPS(Mem{Base: src, Disp: 4 * i}, scale, v)
			VCVTPS2DQ(v, v)
			VPSLLD(count, v, v)
			g.Move(v, Mem{Base: dst, Disp: 4 * i})
		}
		ADDQ(U8(64), dst)
		ADDQ(U8(64), src)
	})
	g.End()
}
