// Command ints generates the vector kernels of prover/ints.
package main

import (
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

func main() {
	ConstraintExpr("!purego")
	for _, lanes := range []int{8, 16} {
		widen(lanes, 8, func(m Mem, v reg.VecVirtual) { VPMOVSXBD(m, v) })
		widen(lanes, 16, func(m Mem, v reg.VecVirtual) { VPMOVSXWD(m, v) })
	}
	Generate()
}

// widen extends signed integers of so many bits to 32.
func widen(lanes, bits int, load func(m Mem, v reg.VecVirtual)) {
	name := strconv.Itoa(bits)
	g := vec.Begin(lanes, "widen"+name, "func(dst *int32, src *int"+name+", n uint64)", "sets dst[i] = src[i] for i < n, 16 | n > 0.")
	dst := Load(Param("dst"), GP64()).(reg.GPVirtual)
	src := Load(Param("src"), GP64()).(reg.GPVirtual)
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
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
