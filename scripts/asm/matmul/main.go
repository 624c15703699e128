// Command matmul generates the vector kernels of prover/circuit/matmul.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

func main() {
	for _, lanes := range []int{8, 16} {
		for _, entry := range entries {
			rows(lanes, "intRows"+entry.suffix, "int64", "int32", 2, entry.name, entry.shift, func(g *vec.Gen) arithmetic {
				return arithmetic{
					broadcast: func(m Mem, v reg.VecVirtual) { VPBROADCASTD(m, v) },
					addTimes: func(x reg.VecVirtual, m Mem, sum reg.VecVirtual) {
						t := g.Reg()
						entry.quads(m, t)
						VPMULDQ(x, t, t)
						VPADDQ(t, sum, sum)
					},
				}
			})
		}
		rows(lanes, "floatRowsVec", "float64", "float64", 3, "float64", 3, func(g *vec.Gen) arithmetic {
			return arithmetic{
				broadcast: func(m Mem, v reg.VecVirtual) { VBROADCASTSD(m, v) },
				addTimes: func(x reg.VecVirtual, m Mem, sum reg.VecVirtual) {
					t := g.Reg()
					VMULPD(m, x, t)
					VADDPD(t, sum, sum) // in this order, never fused
				},
			}
		})
		for _, entry := range entries {
			dot(lanes, entry)
			if entry.words != nil {
				dotOfPairs(lanes, entry)
			}
		}
		pairs(lanes)
	}
	vec.Write("pairRows") // Go chooses its kernel itself, as the wide one needs more than AVX-512's base
}

// pairs emits the product of a vector and a matrix of pairs of 16-bit numbers, which is added to sums of 64 bits. For a block of 64 or
// 128 columns, and at the end of 16, the sums over all rows stay in registers, in 32 bits.
func pairs(lanes int) {
	g := vec.Begin(lanes, "pairRows", "func(s *int64, n uint64, x *int16, k uint64, rows *int16, stride uint64)",
		"sets s[j] += Σ_c x[2c]·rows[2(c·stride+j)] + x[2c+1]·rows[2(c·stride+j)+1] for j < n and c < k, 16 | n > 0 and k > 0; sums are below 2^31.")
	s, n, x, k := vec.Pointer("s"), vec.Pointer("n"), vec.Pointer("x"), vec.Pointer("k")
	matrix, stride := vec.Pointer("rows"), vec.Pointer("stride")
	SHLQ(U8(2), stride)
	block := func(columns int, label, next string) {
		Label(label)
		CMPQ(n, U32(uint32(columns)))
		JL(LabelRef(next))
		sums := make([]reg.VecVirtual, columns/lanes)
		for i := range sums {
			sums[i] = g.Zero()
		}
		xs, row, count := GP64(), GP64(), GP64()
		MOVQ(x, xs)
		MOVQ(matrix, row)
		MOVQ(k, count)
		vec.Loop(label+"_rows", count, func() {
			v := g.Reg()
			VPBROADCASTD(Mem{Base: xs}, v)
			for i, sum := range sums {
				m := Mem{Base: row, Disp: i * g.Bytes()}
				if lanes == 16 {
					VPDPWSSD(m, v, sum)
				} else {
					t := g.Reg()
					VPMADDWD(m, v, t)
					VPADDD(t, sum, sum)
				}
			}
			ADDQ(U8(4), xs)
			ADDQ(stride, row)
		})
		for i, sum := range sums {
			low, high := halves(g, sum)
			for j, r := range []reg.VecVirtual{low, high} {
				m := Mem{Base: s, Disp: (2*i + j) * g.Bytes()}
				VPADDQ(m, r, r)
				g.Move(r, m)
			}
		}
		ADDQ(I32(int32(8*columns)), s)
		ADDQ(I32(int32(4*columns)), matrix)
		SUBQ(U32(uint32(columns)), n)
		JMP(LabelRef(label))
	}
	block(8*lanes, "wide", "narrow")
	block(16, "narrow", "done")
	Label("done")
	g.End()
}

// halves returns the two halves of a register of 32-bit numbers, extended to 64 bits.
func halves(g *vec.Gen, v reg.VecVirtual) (low, high reg.VecVirtual) {
	low, high = g.Reg(), g.Reg()
	if g.Lanes == 16 {
		half := YMM()
		VPMOVSXDQ(v.AsY(), low)
		VEXTRACTI64X4(U8(1), v, half)
		VPMOVSXDQ(half, high)
	} else {
		half := XMM()
		VPMOVSXDQ(v.AsX(), low)
		VEXTRACTI128(U8(1), v, half)
		VPMOVSXDQ(half, high)
	}
	return low, high
}

// entry is a type of integers in a matrix, 2^shift bytes each.
type entry struct {
	suffix, name string
	shift        uint8
	quads        func(m Mem, v reg.VecVirtual)             // loads a register of them, extended to 64 bits
	lanes        func(g *vec.Gen, m Mem, v reg.VecVirtual) // the same, extended to 32 bits
	words        func(g *vec.Gen, m Mem, v reg.VecVirtual) // the same, extended to 16 bits; nil if they are wider
}

var entries = []entry{
	{"Of32", "int32", 2, func(m Mem, v reg.VecVirtual) { VPMOVSXDQ(m, v) }, func(g *vec.Gen, m Mem, v reg.VecVirtual) { g.Move(m, v) }, nil},
	{"Of16", "int16", 1, func(m Mem, v reg.VecVirtual) { VPMOVSXWQ(m, v) }, func(g *vec.Gen, m Mem, v reg.VecVirtual) { VPMOVSXWD(m, v) }, func(g *vec.Gen, m Mem, v reg.VecVirtual) { loadWords(g, m, v) }},
	{"Of8", "int8", 0, func(m Mem, v reg.VecVirtual) { VPMOVSXBQ(m, v) }, func(g *vec.Gen, m Mem, v reg.VecVirtual) { VPMOVSXBD(m, v) }, func(g *vec.Gen, m Mem, v reg.VecVirtual) { VPMOVSXBW(m, v) }},
}

// arithmetic is that of integers or of floats: broadcast copies a number into all lanes, and addTimes adds x times a register at m to sum.
type arithmetic struct {
	broadcast func(m Mem, v reg.VecVirtual)
	addTimes  func(x reg.VecVirtual, m Mem, sum reg.VecVirtual)
}

// rows emits the product of a vector and a matrix, which is added to sums of 64 bits. A number
// of the vector has 2^shift bytes, and an entry of the matrix 2^entryShift. For a block of 32
// columns, and at the end of 8, the sums over all rows stay in registers.
func rows(lanes int, name, sum, number string, shift uint8, entry string, entryShift uint8, of func(g *vec.Gen) arithmetic) {
	g := vec.Begin(lanes, name, "func(s *"+sum+", n uint64, x *"+number+", k uint64, rows *"+entry+", stride uint64)",
		"sets s[j] += Σ_c x[c]·rows[c·stride+j] for j < n and c < k, 8 | n > 0 and k > 0.")
	ar := of(g)
	s, n, x, k := vec.Pointer("s"), vec.Pointer("n"), vec.Pointer("x"), vec.Pointer("k")
	matrix, stride := vec.Pointer("rows"), vec.Pointer("stride")
	if entryShift > 0 {
		SHLQ(U8(entryShift), stride)
	}
	size, quads := 1<<entryShift, lanes/2
	block := func(columns int, label, next string) {
		Label(label)
		CMPQ(n, U8(columns))
		JL(LabelRef(next))
		sums := make([]reg.VecVirtual, columns/quads)
		for i := range sums {
			sums[i] = g.Load(Mem{Base: s, Disp: i * g.Bytes()})
		}
		xs, row, count := GP64(), GP64(), GP64()
		MOVQ(x, xs)
		MOVQ(matrix, row)
		MOVQ(k, count)
		vec.Loop(label+"_rows", count, func() {
			v := g.Reg()
			ar.broadcast(Mem{Base: xs}, v)
			for i, sum := range sums {
				ar.addTimes(v, Mem{Base: row, Disp: i * quads * size}, sum)
			}
			ADDQ(U8(1<<shift), xs)
			ADDQ(stride, row)
		})
		for i, sum := range sums {
			g.Move(sum, Mem{Base: s, Disp: i * g.Bytes()})
		}
		ADDQ(I32(int32(8*columns)), s)
		ADDQ(I32(int32(size*columns)), matrix)
		SUBQ(U8(columns), n)
		JMP(LabelRef(label))
	}
	block(32, "wide", "narrow")
	block(8, "narrow", "done")
	Label("done")
	g.End()
}

// dot emits the dot product of integers of 32 bits with entries of a matrix, in 64 bits.
func dot(lanes int, entry entry) {
	g := vec.Begin(lanes, "intDot"+entry.suffix, "func(a *int32, b *"+entry.name+", n uint64) int64", "returns Σ a[i]·b[i] for i < n, 16 | n > 0.")
	a, b, n := vec.Pointer("a"), vec.Pointer("b"), vec.Pointer("n")
	even, odd := g.Zero(), g.Zero()
	SHRQ(U8(4), n)
	vec.Loop("loop", n, func() {
		PREFETCHT0(Mem{Base: b, Disp: 2048}) // the processor itself fetches this stream from memory too late
		for o := 0; o < 64; o += g.Bytes() {
			x, y := g.Load(Mem{Base: a, Disp: o}), g.Reg()
			entry.lanes(g, Mem{Base: b, Disp: o >> 2 << entry.shift}, y)
			product, xo, yo := g.Reg(), g.Down(x), g.Reg()
			VPMULDQ(x, y, product)
			VPADDQ(product, even, even)
			VPSRLQ(U8(32), y, yo) // uses another execution port than Down
			VPMULDQ(xo, yo, yo)
			VPADDQ(yo, odd, odd)
		}
		ADDQ(U8(64), a)
		ADDQ(U8(16<<entry.shift), b)
	})
	VPADDQ(odd, even, even)
	g.ReturnSum(even)
}

// loadWords loads a register of numbers of 16 bits.
func loadWords(g *vec.Gen, m Mem, v reg.VecVirtual) {
	if g.Lanes == 16 {
		VMOVDQU16(m, v)
	} else {
		VMOVDQU(m, v)
	}
}

// dotOfPairs emits the dot product of numbers of 16 bits. An instruction adds two products in 32 bits, and the sums are added to one of 64
// bits after every 32·run numbers; the caller chooses run so that 32 bits suffice.
func dotOfPairs(lanes int, entry entry) {
	g := vec.Begin(lanes, "pairDot"+entry.suffix, "func(a *int16, b *"+entry.name+", n uint64, run uint64) int64",
		"returns Σ a[i]·b[i] for i < n, 32 | n > 0, where for any 32·run adjacent i the sums of |a[i]·b[i]| over the pairs of a lane are below 2^31; run > 0.")
	a, b, n, run := vec.Pointer("a"), vec.Pointer("b"), vec.Pointer("n"), vec.Pointer("run")
	total := g.Zero()
	SHRQ(U8(5), n)
	count := GP64()
	Label("runs")
	MOVQ(run, count)
	CMPQ(n, count)
	CMOVQLT(n, count)
	SUBQ(count, n)
	sums := make([]reg.VecVirtual, 32/(2*lanes))
	for i := range sums {
		sums[i] = g.Zero()
	}
	vec.Loop("pairs", count, func() {
		PREFETCHT0(Mem{Base: b, Disp: 2048}) // the processor itself fetches this stream from memory too late
		for i, sum := range sums {
			y := g.Reg()
			entry.words(g, Mem{Base: b, Disp: i * 2 * lanes << entry.shift}, y)
			VPMADDWD(Mem{Base: a, Disp: i * 4 * lanes}, y, y)
			VPADDD(y, sum, sum)
		}
		ADDQ(U8(64), a)
		ADDQ(U8(32<<entry.shift), b)
	})
	for _, sum := range sums {
		low, high := halves(g, sum)
		VPADDQ(low, total, total)
		VPADDQ(high, total, total)
	}
	TESTQ(n, n)
	JNE(LabelRef("runs"))
	g.ReturnSum(total)
}
