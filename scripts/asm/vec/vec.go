// Package vec emits vector arithmetic over M31 for AVX2 and AVX-512 from one
// description: the generators in the folders beside it are written once, for any
// number of 32-bit lanes.
//
// A register of "lanes" holds canonical elements, in [0, p), unless a function
// says otherwise. A pair of registers of "quads" (even, odd) holds a 64-bit word for each
// even and for each odd lane.
package vec

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// P is the prime 2^31 − 1.
const P = 1<<31 - 1

// Gen emits the body of one function.
type Gen struct {
	Lanes int // 8 (AVX2) or 16 (AVX-512)

	p    reg.VecVirtual // p in every lane
	odd  reg.Register   // mask of the odd lanes (AVX-512)
	even reg.Register   // mask of the even lanes (AVX-512)
}

// Suffix is the end of a function's name that names the instruction set.
func Suffix(lanes int) string {
	if lanes == 16 {
		return "AVX512"
	}
	return "AVX2"
}

// Pointer loads a parameter of 64 bits.
func Pointer(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// At is the memory offset bytes behind a pointer.
func At(p reg.GPVirtual, offset int) Mem { return Mem{Base: p, Disp: offset} }

// Advance moves pointers by so many bytes.
func Advance(bytes int, ps ...reg.GPVirtual) {
	for _, p := range ps {
		ADDQ(I32(int32(bytes)), p)
	}
}

// Begin begins a function. Its name gets the instruction set's suffix. It does not load the
// constants of the field, so only New makes a Gen for field arithmetic.
func Begin(lanes int, name, signature, doc string) *Gen {
	TEXT(name+Suffix(lanes), NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + Suffix(lanes) + " " + doc)
	note(name, signature, doc)
	return &Gen{Lanes: lanes}
}

// New is Begin, and loads the constants that arithmetic in the field needs.
func New(lanes int, name, signature, doc string) *Gen {
	g := Begin(lanes, name, signature, doc)
	t := GP32()
	MOVL(U32(P), t)
	g.p = g.Broadcast(t)
	if g.wide() {
		g.odd, g.even = g.Mask(0xaaaa), g.Mask(0x5555)
	}
	return g
}

// End returns from the function.
func (g *Gen) End() {
	VZEROUPPER()
	RET()
}

func (g *Gen) wide() bool { return g.Lanes == 16 }

// Bytes is the size of a register.
func (g *Gen) Bytes() int { return 4 * g.Lanes }

// Reg returns a new register of lanes.
func (g *Gen) Reg() reg.VecVirtual {
	if g.wide() {
		return ZMM()
	}
	return YMM()
}

// Mask returns a mask register with the given bits (AVX-512 only).
func (g *Gen) Mask(bits uint32) reg.Register {
	t, k := GP32(), K()
	MOVL(U32(bits), t)
	KMOVW(t, k)
	return k
}

// Broadcast copies a 32-bit register into every lane.
func (g *Gen) Broadcast(r Op) reg.VecVirtual {
	x, v := XMM(), g.Reg()
	VMOVD(r, x)
	VPBROADCASTD(x, v)
	return v
}

// BroadcastQuads copies the 16 bytes at m into every 128-bit part.
func (g *Gen) BroadcastQuads(m Op) reg.VecVirtual {
	v := g.Reg()
	if g.wide() {
		VBROADCASTI32X4(m, v)
	} else {
		VBROADCASTI128(m, v)
	}
	return v
}

// Load reads a register from m.
func (g *Gen) Load(m Op) reg.VecVirtual {
	v := g.Reg()
	g.Move(m, v)
	return v
}

// Move copies between registers and memory, either way.
func (g *Gen) Move(from, to Op) {
	if g.wide() {
		VMOVDQU32(from, to)
	} else {
		VMOVDQU(from, to)
	}
}

// P returns the register with p in every lane.
func (g *Gen) P() reg.VecVirtual { return g.p }

// And sets dst = a & b.
func (g *Gen) And(a, b Op, dst reg.Register) {
	if g.wide() {
		VPANDD(a, b, dst)
	} else {
		VPAND(a, b, dst)
	}
}

// AndNot sets dst = ^a & b.
func (g *Gen) AndNot(a, b Op, dst reg.Register) {
	if g.wide() {
		VPANDND(b, a, dst)
	} else {
		VPANDN(b, a, dst)
	}
}

// Xor sets dst = a ^ b.
func (g *Gen) Xor(a, b Op, dst reg.Register) {
	if g.wide() {
		VPXORD(a, b, dst)
	} else {
		VPXOR(a, b, dst)
	}
}

// Zero returns a register of zeros.
func (g *Gen) Zero() reg.VecVirtual {
	v := g.Reg()
	g.Xor(v, v, v)
	return v
}

// Blend returns a where mask has a 0 bit and b where it has a 1; mask is for
// four lanes and repeats. k holds the mask for AVX-512.
func (g *Gen) Blend(mask uint8, k reg.Register, a, b reg.VecVirtual) reg.VecVirtual {
	v := g.Reg()
	if g.wide() {
		VPBLENDMD(b, a, k, v)
	} else {
		VPBLENDD(U8(mask|mask<<4), b, a, v)
	}
	return v
}

// ReduceOnce sets v = min(v, v − p) as unsigned lanes: v < 2p becomes
// canonical, and any v at most p + 1.
func (g *Gen) ReduceOnce(v reg.VecVirtual) {
	t := g.Reg()
	VPSUBD(g.p, v, t)
	VPMINUD(t, v, v)
}

// Add returns a + b. b may be memory. It is canonical for a + b < 2p, so
// one of the two may be p.
func (g *Gen) Add(a reg.VecVirtual, b Op) reg.VecVirtual {
	v := g.Reg()
	g.AddTo(a, b, v)
	return v
}

// AddTo is Add into a given register, which may be a or b.
func (g *Gen) AddTo(a reg.VecVirtual, b Op, dst reg.VecVirtual) {
	VPADDD(b, a, dst)
	g.ReduceOnce(dst)
}

// Sub returns a − b. b may be memory.
func (g *Gen) Sub(a reg.VecVirtual, b Op) reg.VecVirtual {
	v, t := g.Reg(), g.Reg()
	VPSUBD(b, a, v)
	VPADDD(g.p, v, t)
	VPMINUD(t, v, v)
	return v
}

// Double returns 2a.
func (g *Gen) Double(a reg.VecVirtual) reg.VecVirtual { return g.Add(a, a) }

// Down returns the odd lanes of a in the even positions.
func (g *Gen) Down(a reg.VecVirtual) reg.VecVirtual {
	v := g.Reg()
	VMOVSHDUP(a, v)
	return v
}

// High returns the upper halves of the quads: those of even in the even
// lanes, those of odd in the odd lanes.
func (g *Gen) High(even, odd reg.VecVirtual) reg.VecVirtual {
	v := g.Reg()
	if g.wide() {
		g.Move(odd, v)
		VMOVSHDUP(even, g.even, v)
		return v
	}
	VMOVSHDUP(even, v)
	VPBLENDD(U8(0xaa), odd, v, v)
	return v
}

// Low returns the lower halves of the quads, placed as by High.
func (g *Gen) Low(even, odd reg.VecVirtual) reg.VecVirtual {
	v := g.Reg()
	if g.wide() {
		g.Move(even, v)
		VMOVSLDUP(odd, g.odd, v)
		return v
	}
	VMOVSLDUP(odd, v)
	VPBLENDD(U8(0xaa), v, even, v)
	return v
}

// ReduceDoubled returns q mod p for quads that hold 2q, q ≤ (p−1)·p: the
// upper half of 2q is q>>31 and the lower is twice q's last 31 bits.
func (g *Gen) ReduceDoubled(even, odd reg.VecVirtual) reg.VecVirtual {
	hi, lo := g.High(even, odd), g.Low(even, odd)
	VPSRLD(U8(1), lo, lo)
	return g.Add(hi, lo)
}

// ReduceSigned returns q mod p for signed quads, |q| ≤ p². With AVX2 the
// result may be p in place of 0.
func (g *Gen) ReduceSigned(even, odd reg.VecVirtual) reg.VecVirtual {
	// q = hi·2^31 + lo with hi in [−p, p) and lo in [0, p].
	v, t := g.Reg(), g.Reg()
	if g.wide() {
		VPADDQ(even, even, even)
		VPADDQ(odd, odd, odd)
		hi, lo := g.High(even, odd), g.Low(even, odd)
		VPSRLD(U8(1), lo, lo)
		VPADDD(g.p, hi, t)
		VPMINUD(t, hi, hi)
		return g.Add(hi, lo)
	}
	hi, lo := g.Reg(), g.Low(even, odd)
	g.And(lo, g.p, lo)
	VPSRLQ(U8(31), even, hi)
	VPADDQ(odd, odd, odd)
	VPBLENDD(U8(0xaa), odd, hi, hi)
	VPADDD(lo, hi, v)
	VPSIGND(hi, g.p, t) // p with the sign of hi, 0 for 0
	VPSUBD(t, v, t)
	VPMINUD(t, v, v)
	return v
}

// Mul returns a·b.
func (g *Gen) Mul(a, b reg.VecVirtual) reg.VecVirtual {
	even, odd, b1 := g.Reg(), g.Reg(), g.Down(b)
	VPADDD(a, a, even)     // 2a in the even lanes
	VPSRLQ(U8(31), a, odd) // 2a of the odd lanes
	VPMULUDQ(even, b, even)
	VPMULUDQ(odd, b1, odd)
	return g.ReduceDoubled(even, odd)
}

// AddBroadcast returns a plus the 32-bit word at m in every lane, without
// reduction.
func (g *Gen) AddBroadcast(a reg.VecVirtual, m Mem) reg.VecVirtual {
	v := g.Reg()
	if g.wide() {
		VPADDD_BCST(m, a, v)
	} else {
		VPBROADCASTD(m, v)
		VPADDD(a, v, v)
	}
	return v
}

// RotateLeft returns a·2^k, 0 < k < 31: a rotation of 31 bits.
func (g *Gen) RotateLeft(a reg.VecVirtual, k int) reg.VecVirtual {
	hi, lo := g.Reg(), g.Reg()
	VPSLLD(U8(k), a, hi)
	VPSRLD(U8(31-k), a, lo)
	if g.wide() {
		VPTERNLOGD(U8(0xf8), hi, g.p, lo) // lo | (p & hi)
	} else {
		VPAND(g.p, hi, hi)
		VPOR(hi, lo, lo)
	}
	return lo
}

// Fold sets each quad v = (v mod 2^31) + (v >> 31), below 2^34, keeping it
// mod p. p64 has p in every quad.
func (g *Gen) Fold(v, p64 reg.VecVirtual) {
	t := g.Reg()
	VPSRLQ(U8(31), v, t)
	g.And(v, p64, v)
	VPADDQ(t, v, v)
}

// P64 returns a register with p in every quad.
func (g *Gen) P64() reg.VecVirtual {
	v := g.Reg()
	VPSRLQ(U8(32), g.p, v)
	return v
}

// Reduce returns the quads mod p, for quads of at most 4p². A quad v = A·2^32 + B
// is 2A + B mod p, as 2^32 is 2 mod p, and A ≤ 2^32 − 5.
func (g *Gen) Reduce(even, odd reg.VecVirtual) reg.VecVirtual {
	a, b := g.High(even, odd), g.Low(even, odd)
	g.ReduceOnce(a)    // < p
	g.ReduceOnce(b)    // ≤ p + 1
	t := g.Add(a, b)   // ≤ p
	return g.Add(t, a) // canonical
}

// FromInt32 returns signed 32-bit lanes mod p. twoP has 2p in every lane.
func (g *Gen) FromInt32(a, twoP reg.VecVirtual) reg.VecVirtual {
	v := g.Reg()
	VPSRAD(U8(31), a, v)
	g.And(v, twoP, v)
	VPADDD(a, v, v)
	g.ReduceOnce(v)
	return v
}

// Loop emits body count times at run time; count ≥ 1 is a register that it
// uses up.
func Loop(label string, count reg.GPVirtual, body func()) {
	Label(label)
	body()
	DECQ(count)
	JNZ(LabelRef(label))
}

// Blocks emits a loop over n elements of the vectors at pointers, in blocks of 64 bytes, which have 2^shift elements. It emits body for
// each register of a block, which is at byte o of the block.
func (g *Gen) Blocks(n reg.GPVirtual, shift uint8, body func(o int), pointers ...reg.GPVirtual) {
	SHRQ(U8(shift), n)
	Loop("loop", n, func() {
		for o := 0; o < 64; o += g.Bytes() {
			body(o)
		}
		Advance(64, pointers...)
	})
}

// Table defines read-only data of 32-bit words.
func Table(name string, words []uint32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i, w := range words {
		DATA(4*i, U32(w))
	}
	return m
}

// Pair returns the results of two instructions for a and b, such as those that unpack the lower and the upper halves.
func (g *Gen) Pair(first, second func(...Op), a, b Op) (x, y reg.VecVirtual) {
	x, y = g.Reg(), g.Reg()
	first(b, a, x)
	second(b, a, y)
	return x, y
}

// Shuffled is Pair for one instruction with two different immediates.
func (g *Gen) Shuffled(op func(...Op), first, second uint8, a, b Op) (x, y reg.VecVirtual) {
	x, y = g.Reg(), g.Reg()
	op(U8(first), b, a, x)
	op(U8(second), b, a, y)
	return x, y
}

// ReturnSum emits the end of a function that returns the sum of the quads of v.
func (g *Gen) ReturnSum(v reg.VecVirtual) {
	low, high, sum := g.Narrow(v), XMM(), GP64()
	VPSRLDQ(U8(8), low, high)
	VPADDQ(high, low, high)
	VMOVQ(high, sum)
	Store(sum, ReturnIndex(0))
	g.End()
}

// Narrow returns the sum of the 128-bit parts of v, quad by quad.
func (g *Gen) Narrow(v reg.VecVirtual) reg.VecVirtual {
	if g.wide() {
		y := YMM()
		VEXTRACTI64X4(U8(1), v, y)
		VPADDQ(v.AsY(), y, y)
		v = y
	}
	x := XMM()
	VEXTRACTI128(U8(1), v.AsY(), x)
	VPADDQ(v.AsX(), x, x)
	return x
}
