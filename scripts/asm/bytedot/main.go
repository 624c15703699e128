// Command bytedot generates the vector kernels of prover/math/bytedot.
package main

import (
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

// rows is how many rows of bytes are interleaved.
const rows = 16

func main() {
	pack()
	place()
	dots(rows)
	dots(rows / 2)
	split()
	join()
	vec.Write()
}

// pack emits the transposition of the bytes of weights, four weights of 16 bytes at a time.
func pack() {
	g := vec.Begin(16, "pack", "func(table *byte, weights *uint32, n uint64)",
		"packs 4n weights: byte k of weight 4i+j becomes byte 64i+4k+j. n > 0.")
	var order []uint32
	for k := range uint32(16) {
		order = append(order, k|(16+k)<<8|(32+k)<<16|(48+k)<<24)
	}
	table, weights, n := vec.Pointer("table"), vec.Pointer("weights"), vec.Pointer("n")
	from := g.Load(vec.Table("transpose", order))
	vec.Loop("loop", n, func() {
		v := g.Load(Mem{Base: weights})
		VPERMB(v, from, v)
		g.Move(v, Mem{Base: table})
		ADDQ(U8(64), weights)
		ADDQ(U8(64), table)
	})
	g.End()
}

// dots emits the sums of products of n rows with the weights. There are 16 sums in registers, one for each row, or two if n is 8. These
// are enough that no instruction waits for the result of the one before. One instruction multiplies four columns of a row by four of
// the table.
func dots(n int) {
	g := vec.Begin(16, "dots"+strconv.Itoa(n), "func(out *int32, rows, table *byte, n uint64)",
		"sets word 16r+k of out to the sum of 4n bytes of row r < "+strconv.Itoa(n)+" times bytes k of the weights. 2 | n > 0.")
	at, table, count := vec.Pointer("rows"), vec.Pointer("table"), vec.Pointer("n")
	var sum [rows]reg.VecVirtual
	for r := range sum {
		sum[r] = g.Zero()
	}
	SHRQ(U8(1), count)
	vec.Loop("loop", count, func() {
		for c := range 2 {
			w := g.Load(Mem{Base: table, Disp: 64 * c})
			for r := range n {
				VPDPBUSD_BCST(Mem{Base: at, Disp: 64*c + 4*r}, w, sum[(c*n+r)%rows])
			}
		}
		SUBQ(I8(-128), table)
		SUBQ(I8(-128), at)
	})
	out := vec.Pointer("out")
	for r := range n {
		if n < rows {
			VPADDD(sum[n+r], sum[r], sum[r])
		}
		g.Move(sum[r], Mem{Base: out, Disp: 64 * r})
	}
	g.End()
}

// place emits the kernel that writes a row to its place among the interleaved rows, four bytes at a time.
func place() {
	g := vec.Begin(16, "place", "func(dst *byte, row *int8, n uint64)",
		"sets word 16i of dst to word i of the row for i < 16n, n > 0.")
	dst, row, n := vec.Pointer("dst"), vec.Pointer("row"), vec.Pointer("n")
	var at []uint32
	for i := range uint32(16) {
		at = append(at, 64*i)
	}
	to, ones := g.Load(vec.Table("places", at)), g.Mask(0xffff)
	vec.Loop("loop", n, func() {
		v, all := g.Load(Mem{Base: row}), K()
		KMOVW(ones, all) // the scatter clears its mask
		VPSCATTERDD(v, all, Mem{Base: dst, Index: to, Scale: 1})
		ADDQ(U8(64), row)
		ADDQ(U32(1024), dst)
	})
	g.End()
}

// split emits the kernel that splits integers into the lowest signed digit to the base 256 and the rest. The rest is v/256 rounded to the
// nearest integer: v >> 8 plus bit 7 of v.
func split() {
	g := vec.Begin(16, "split", "func(plane *int8, values *int32, rest *int32, n uint64)",
		"sets plane[i] to the lowest digit of values[i], which becomes the rest, and rest to the OR of all rests in 16 lanes. 16 | n > 0.")
	plane, values, n := vec.Pointer("plane"), vec.Pointer("values"), vec.Pointer("n")
	SHRQ(U8(4), n)
	one := GP32()
	MOVL(U32(1), one)
	ones, rest := g.Broadcast(one), g.Zero()
	vec.Loop("loop", n, func() {
		v, carry := g.Load(Mem{Base: values}), g.Reg()
		VPMOVDB(v, Mem{Base: plane})
		VPSRLD(U8(7), v, carry)
		g.And(carry, ones, carry)
		VPSRAD(U8(8), v, v)
		VPADDD(carry, v, v)
		g.Move(v, Mem{Base: values})
		VPORD(v, rest, rest)
		ADDQ(U8(64), values)
		ADDQ(U8(16), plane)
	})
	g.Move(rest, Mem{Base: vec.Pointer("rest")})
	g.End()
}

// join emits the inverse of split: it appends a digit to integers.
func join() {
	g := vec.Begin(16, "join", "func(values *int32, plane *int8, n uint64)",
		"sets values[i] = 256·values[i] + plane[i] for i < n, 16 | n > 0.")
	values, plane, n := vec.Pointer("values"), vec.Pointer("plane"), vec.Pointer("n")
	SHRQ(U8(4), n)
	vec.Loop("loop", n, func() {
		v, digit := g.Load(Mem{Base: values}), g.Reg()
		VPMOVSXBD(Mem{Base: plane}, digit)
		VPSLLD(U8(8), v, v)
		VPADDD(digit, v, v)
		g.Move(v, Mem{Base: values})
		ADDQ(U8(64), values)
		ADDQ(U8(16), plane)
	})
	g.End()
}
