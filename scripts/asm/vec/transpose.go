package vec

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	rowBytes = 64 // sixteen words

	transposeSignature = "func(dst, src *uint32)"
	transposeDoc       = "sets the 16×16 matrix dst to the transpose of src. They must not overlap."
)

// unpack interleaves each pair of rows that are step rows apart. For each pair it returns the
// results of lo and hi, instructions that interleave the lower and the upper halves of 128-bit parts.
func unpack(g *Gen, rows []reg.VecVirtual, step int, lo, hi func(...Op)) []reg.VecVirtual {
	out := make([]reg.VecVirtual, 0, len(rows))
	for i := range rows {
		if i&step == 0 {
			a, b := g.Pair(lo, hi, rows[i], rows[i+step])
			out = append(out, a, b)
		}
	}
	return out
}

// quarters transposes every group of four rows within each 128-bit part: row
// i of a group then has column i of the part.
func quarters(g *Gen, rows []reg.VecVirtual) []reg.VecVirtual {
	// Rows 0 1 2 3 become (0 1)lo (0 1)hi (2 3)lo (2 3)hi, then columns.
	pairs := unpack(g, rows, 1, VPUNPCKLDQ, VPUNPCKHDQ)
	return unpack(g, pairs, 2, VPUNPCKLQDQ, VPUNPCKHQDQ)
}

// Transpose emits the transposition of a matrix of 16×16 words.
func Transpose(lanes int) {
	if lanes == 16 {
		wideTranspose()
	} else {
		narrowTranspose()
	}
}

// wideTranspose transposes within 128-bit parts, and moves the parts with two more shuffles a row.
func wideTranspose() {
	g := Begin(16, "transposeWords", transposeSignature, transposeDoc)
	dst, src := Pointer("dst"), Pointer("src")
	var rows []reg.VecVirtual
	for i := range 16 {
		rows = append(rows, g.Load(Mem{Base: src, Disp: i * rowBytes}))
	}
	rows = quarters(g, rows) // row 4a + i, part b: column 4b + i of source rows 4a …
	shuffle := func(imm uint8, a, b reg.VecVirtual) reg.VecVirtual {
		v := g.Reg()
		VSHUFI32X4(U8(imm), b, a, v)
		return v
	}
	for i := range 4 {
		lo02 := shuffle(0x88, rows[i], rows[4+i])    // parts 0 and 2 of each
		lo13 := shuffle(0xdd, rows[i], rows[4+i])    // parts 1 and 3
		hi02 := shuffle(0x88, rows[8+i], rows[12+i]) // the same of the lower half
		hi13 := shuffle(0xdd, rows[8+i], rows[12+i])
		for part, v := range []reg.VecVirtual{
			shuffle(0x88, lo02, hi02), shuffle(0x88, lo13, hi13),
			shuffle(0xdd, lo02, hi02), shuffle(0xdd, lo13, hi13),
		} {
			g.Move(v, Mem{Base: dst, Disp: (4*part + i) * rowBytes})
		}
	}
	g.End()
}

// narrowTranspose does four blocks of 8×8.
func narrowTranspose() {
	g := Begin(8, "transposeWords", transposeSignature, transposeDoc)
	dst, src := Pointer("dst"), Pointer("src")
	for block := range 4 {
		top, left := block/2*8, block%2*8
		var rows []reg.VecVirtual
		for i := range 8 {
			rows = append(rows, g.Load(Mem{Base: src, Disp: (top+i)*rowBytes + 4*left}))
		}
		rows = quarters(g, rows)
		for i := range 4 {
			for part, imm := range []uint8{0x20, 0x31} {
				v := g.Reg()
				VPERM2I128(U8(imm), rows[4+i], rows[i], v)
				g.Move(v, Mem{Base: dst, Disp: (left+4*part+i)*rowBytes + 4*top})
			}
		}
	}
	g.End()
}
