package gguf

import (
	_ "embed"
	"math/bits"
)

// In the types "IQ", eight or four numbers at a time are stored as the index of a row in a list of rows (a grid), with signs and scales.
// The grids are constants of the format (ggml-common.h). grids.bin has them one after the other; each number is stored as its index in
// values, in two or four bits, the lowest bits of a byte first. scripts/hf/weights.py writes it.

//go:embed grids.bin
var gridFile []byte

var (
	grid2XXS = &grid{at: 0, width: 8, bits: 2, values: twos}
	grid2XS  = &grid{at: 512, width: 8, bits: 2, values: twos}
	grid2S   = &grid{at: 1536, width: 8, bits: 2, values: twos}
	grid1    = &grid{at: 3584, width: 8, bits: 2, values: []float32{-1, 0, 1, 0}}
	grid3XXS = &grid{at: 7680, width: 4, bits: 4, values: []float32{4, 12, 20, 28, 36, 44, 52, 62}}
	grid3S   = &grid{at: 8192, width: 4, bits: 4, values: []float32{1, 3, 5, 7, 9, 11, 13, 15}}
	twos     = []float32{8, 25, 43, 0}
)

// grid is a list of rows of width numbers. It begins at byte at of gridFile, and each of its numbers is stored as an index of values.
type grid struct {
	at, width, bits int // bits of an index
	values          []float32
}

// row sets y to scale times the numbers of a row. Number i is negated if bit i of signs is 1.
func (g *grid) row(y []float32, row int, scale float32, signs uint8) {
	for i := range g.width {
		y[i] = scale * g.number(row, i)
		if signs>>i&1 == 1 {
			y[i] = -y[i]
		}
	}
}

// number is number i of a row.
func (g *grid) number(row, i int) float32 {
	at := (row*g.width + i) * g.bits
	return g.values[gridFile[g.at+at/8]>>(at%8)&(1<<g.bits-1)]
}

// signs7 returns eight signs from the seven that are stored in the lowest bits of s. The eighth makes the number of negative signs even.
func signs7(s uint32) uint8 {
	s &= 127
	return uint8(s | uint32(bits.OnesCount32(s)&1)<<7)
}

// fourth is the scale for a stored scale s of four bits, where d is the scale of the block: d·(s + 1/2)/4.
func fourth(d float32, s uint8) float32 { return float32(d*(0.5+float32(s))) * 0.25 }

// ternary sets y to scale times the numbers of a row of the ternary grid, each plus 1/8, or minus 1/8 if less is set.
func ternary(y []float32, row int, scale float32, less bool) {
	delta := float32(0.125)
	if less {
		delta = -delta
	}
	for i := range 8 {
		y[i] = scale * (grid1.number(row, i) + delta)
	}
}

// gridTypes are the types "IQ" with grids. A comment lists the fields of a block in the order in which they are stored, as for types.
var gridTypes = map[uint32]tensorType{
	// Scale; for each eighth of the block, four indices of 8 bits, the signs of these rows of 7 bits each, and a scale of 4 bits.
	16: {"IQ2_XXS", 256, 66, func(y []float32, b []byte) {
		d := half(b)
		for j := range 8 {
			rows, rest := b[2+8*j:], le.Uint32(b[6+8*j:])
			for i := range 4 {
				grid2XXS.row(y[32*j+8*i:], int(rows[i]), fourth(d, uint8(rest>>28)), signs7(rest>>(7*i)))
			}
		}
	}, nil, []int{0}},
	// Scale; 32 indices of 9 bits, each with signs of 7 bits; scales of 4 bits, one for two rows.
	17: {"IQ2_XS", 256, 74, func(y []float32, b []byte) {
		d, scales := half(b), b[66:]
		for i := range 32 {
			q := le.Uint16(b[2+2*i:])
			grid2XS.row(y[8*i:], int(q&511), fourth(d, scales[i/4]>>(i/2%2*4)&15), signs7(uint32(q>>9)))
		}
	}, nil, []int{0}},
	// Scale; 64 indices of 8 bits; for each eighth of the block, the signs of 7 bits of each two rows, and a scale of 4 bits.
	18: {"IQ3_XXS", 256, 98, func(y []float32, b []byte) {
		d := half(b)
		for i := range 64 {
			rest := le.Uint32(b[66+i/8*4:])
			scale := float32(d*(0.5+float32(rest>>28))) * 0.5
			grid3XXS.row(y[4*i:], int(b[2+i]), scale, signs7(rest>>(i/2%4*7))>>(i%2*4))
		}
	}, nil, []int{0}},
	// Scale; the lower 8 bits of 32 indices; for each eighth of the block, the upper 3 bits of four indices, a scale of 3 bits, and
	// whether 1/8 is added or subtracted.
	19: {"IQ1_S", 256, 50, func(y []float32, b []byte) {
		d := half(b)
		for i := range 32 {
			rest := le.Uint16(b[34+i/4*2:])
			q := int(b[2+i]) | int(rest>>(i%4*3)&7)<<8
			ternary(y[8*i:], q, d*float32(2*(rest>>12&7)+1), rest>>15 == 1)
		}
	}, nil, []int{0}},
	// Scale; the lower 8 bits of 64 indices; their ninth bits; signs; scales of 4 bits, one for each eighth of the block.
	21: {"IQ3_S", 256, 110, func(y []float32, b []byte) {
		d, low, high, signs, scales := half(b), b[2:66], b[66:74], b[74:106], b[106:]
		for i := range 64 {
			q := int(low[i]) | int(high[i/8]>>(i%8)&1)<<8
			scale := d * float32(1+2*(scales[i/16]>>(i/8%2*4)&15))
			grid3S.row(y[4*i:], q, scale, signs[i/2]>>(i%2*4))
		}
	}, nil, []int{0}},
	// Scale; the lower 8 bits of 32 indices; signs; the upper 2 bits of the indices; scales of 4 bits, one for two rows.
	22: {"IQ2_S", 256, 82, func(y []float32, b []byte) {
		d, low, signs, high, scales := half(b), b[2:34], b[34:66], b[66:74], b[74:]
		for i := range 32 {
			q := int(low[i]) | int(high[i/4]>>(i%4*2)&3)<<8
			grid2S.row(y[8*i:], q, fourth(d, scales[i/4]>>(i/2%2*4)&15), signs[i])
		}
	}, nil, []int{0}},
	// The lower 8 bits of 32 indices; their upper 3 bits, each with the bit that says whether 1/8 is added or subtracted; four words, each
	// with four scales of 3 bits, one for two rows, and above these 4 of the 16 bits of the block's scale.
	29: {"IQ1_M", 256, 56, func(y []float32, b []byte) {
		low, high, scales := b[:32], b[32:48], b[48:]
		var all uint16
		for i := range 4 {
			all |= le.Uint16(scales[2*i:]) >> 12 << (4 * i)
		}
		d := half([]byte{byte(all), byte(all >> 8)})
		for i := range 32 {
			rest := high[i/2] >> (i % 2 * 4)
			s := le.Uint16(scales[i/8*2:]) >> (i / 2 % 4 * 3) & 7
			ternary(y[8*i:], int(low[i])|int(rest&7)<<8, d*float32(2*s+1), rest>>3&1 == 1)
		}
	}, nil, nil},
}
