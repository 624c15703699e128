// Command blake3 generates the kernels of prover/math/blake3: the compression
// function on many messages side by side. Row i has word i of all messages.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/prove-model/prove-model/scripts/asm/vec"
)

const (
	rowBytes    = 64 // a word of sixteen states
	headerBytes = 24 // a Go slice: pointer, length, capacity
)

// iv are the first four words of the initial value (BLAKE3 specification, table 1).
var iv = []uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a}

// permutation is the order in which a round takes the words of the one before (table 2).
var permutation = [16]int{2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8}

// quarters are the arguments of G: four columns, then four diagonals.
var quarters = [8][4]int{
	{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15},
	{0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13}, {3, 4, 9, 14},
}

func main() {
	compress(16)
	compress(8)
	vec.Transpose(16)
	vec.Transpose(8)
	vec.Write("compress") // Go calls the two kernels itself, as the AVX2 one does only half a block in a call
}

// compress emits the compression of one block of each lane's message.
func compress(lanes int) {
	g := vec.Begin(lanes, "compress", "func(state *uint32, rows *[]uint32, offset uint64, counter uint32, length uint32, flags uint32)",
		"compresses a block of each lane. Word i of lane l's block is rows[i] at offset bytes plus l words, "+
			"word i of its chaining value is state[16·i + l], which is replaced. The counter is that of all lanes.")
	state, rows, offset := vec.Pointer("state"), vec.Pointer("rows"), vec.Pointer("offset")
	row := GP64()
	at := func(i int) Mem {
		MOVQ(Mem{Base: rows, Disp: headerBytes * i}, row)
		return Mem{Base: row, Index: offset, Scale: 1}
	}
	quarter := map[int]func(*vec.Gen, func(int) Mem) quarterRound{16: wide, 8: narrow}[lanes](g, at)
	constants := vec.Table("iv"+vec.Suffix(lanes), iv)
	var v [16]reg.VecVirtual
	for i := range v {
		v[i] = g.Reg()
		switch {
		case i < 8:
			g.Move(Mem{Base: state, Disp: rowBytes * i}, v[i])
		case i < 12:
			VPBROADCASTD(constants.Offset(4*(i-8)), v[i])
		case i == 13:
			g.Xor(v[i], v[i], v[i])
		}
	}
	for i, name := range []string{12: "counter", 14: "length", 15: "flags"} {
		if name != "" {
			word := Load(Param(name), GP32())
			VMOVD(word, v[i].AsX())
			VPBROADCASTD(v[i].AsX(), v[i])
		}
	}
	order := [16]int{}
	for i := range order {
		order[i] = i
	}
	for range 7 {
		for i, q := range quarters {
			quarter(i, v[q[0]], v[q[1]], v[q[2]], v[q[3]], order[2*i], order[2*i+1])
		}
		var next [16]int
		for i, p := range permutation {
			next[i] = order[p]
		}
		order = next
	}
	for i := range 8 {
		g.Xor(v[i+8], v[i], v[i])
		g.Move(v[i], Mem{Base: state, Disp: rowBytes * i})
	}
	g.End()
}

// quarterRound emits the i-th G of a round, on the state's words a, b, c, d with words x and y of the message.
type quarterRound func(i int, a, b, c, d reg.VecVirtual, x, y int)

// wide is the quarter round for AVX-512. State and message are in registers, and there is an instruction that rotates.
func wide(g *vec.Gen, at func(int) Mem) quarterRound {
	var message [16]reg.VecVirtual
	for i := range message {
		message[i] = g.Load(at(i))
	}
	return func(_ int, a, b, c, d reg.VecVirtual, x, y int) {
		half := func(m reg.VecVirtual, first, second uint8) {
			VPADDD(m, a, a)
			VPADDD(b, a, a)
			VPXORD(a, d, d)
			VPRORD(U8(first), d, d)
			VPADDD(d, c, c)
			VPXORD(c, b, b)
			VPRORD(U8(second), b, b)
		}
		half(message[x], 16, 12)
		half(message[y], 8, 7)
	}
}

// narrow is the quarter round for AVX2. The state takes all sixteen registers, and the message is on the stack. A rotation by
// whole bytes is a shuffle. Another rotation needs a second register: it uses that of a, whose value is stored on the stack meanwhile.
func narrow(g *vec.Gen, at func(int) Mem) quarterRound {
	message, waiting, by16, by8 := AllocLocal(16*32), AllocLocal(4*32), bytesRotated("by16", 2), bytesRotated("by8", 1)
	for i := range 16 {
		g.Move(g.Load(at(i)), message.Offset(32*i))
	}
	return func(i int, a, b, c, d reg.VecVirtual, x, y int) {
		waiting := waiting.Offset(32 * (i % 4))
		half := func(word int, bytes Mem, by uint8) {
			VPADDD(message.Offset(32*word), a, a)
			VPADDD(b, a, a)
			VPXOR(a, d, d)
			VPSHUFB(bytes, d, d)
			VPADDD(d, c, c)
			VPXOR(c, b, b)
			VMOVDQU(a, waiting)
			VPSRLD(U8(by), b, a)
			VPSLLD(U8(32-by), b, b)
			VPOR(a, b, b)
			VMOVDQU(waiting, a)
		}
		half(x, by16, 12)
		half(y, by8, 7)
	}
}

// bytesRotated is the operand of the shuffle that rotates each word of 32 bits right by so many bytes.
func bytesRotated(name string, by int) Mem {
	words := make([]uint32, 8)
	for i := range words {
		for b := range 4 {
			words[i] |= uint32(i%4*4+(b+by)%4) << (8 * b)
		}
	}
	return vec.Table(name, words)
}
