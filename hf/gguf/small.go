package gguf

import "math"

// Types of four bits a number and less: the types with "K" of two and three bits, types whose numbers are indices of a
// list, and ternary ones.

// iq4Values are the numbers of IQ4_NL and IQ4_XS (kvalues_iq4nl of ggml).
var iq4Values = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// fp4Values are the numbers of OCP's E2M1 (Microscaling Formats v1.0, section 5.3.3), times two.
var fp4Values = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// smallTypes are these types. A comment lists the fields of a block in the order in which they are stored, as for types.
var smallTypes = map[uint32]tensorType{
	// A scale and a least of 4 bits for each sixteenth of the block; 256 integers of 2 bits; the scale and the least that multiply these.
	// Each half of the block has its integers in 32 bytes.
	10: {"Q2_K", 256, 84, func(y []float32, b []byte) {
		scales, qs, d, least := b[:16], b[16:80], half(b[80:]), half(b[82:])
		for j, s := range scales {
			scale, m := d*float32(s&15), least*float32(s>>4)
			for i := range 16 {
				q := qs[j/8*32+j%2*16+i] >> (j % 8 / 2 * 2) & 3
				y[j*16+i] = float32(scale*float32(q)) - m
			}
		}
	}, nil, []int{80, 82}},
	// The upper bits of 256 integers of 3 bits, where 0 means that 4 is subtracted; their lower 2 bits; a scale of 6 bits, from which 32 is
	// subtracted, for each sixteenth of the block, first the lower 4 bits of all and then the upper 2; the scale that multiplies these.
	11: {"Q3_K", 256, 110, func(y []float32, b []byte) {
		high, qs, scales, d := b[:32], b[32:96], b[96:108], half(b[108:])
		for j := range 16 {
			s := scales[j%8]>>(j/8*4)&15 | scales[8+j%4]>>(j/4*2)&3<<4
			scale := d * float32(int(s)-32)
			for i := range 16 {
				at := j%2*16 + i
				q := int(qs[j/8*32+at]>>(j%8/2*2)&3) - 4*int(^high[at]>>(j/2)&1)
				y[j*16+i] = scale * float32(q)
			}
		}
	}, nil, []int{108}},
	// Scale; 32 indices of iq4Values of 4 bits.
	20: {"IQ4_NL", 32, 18, func(y []float32, b []byte) {
		d := half(b)
		nibbles(b[2:], func(i int, q uint8) { y[i] = d * iq4Values[q] })
	}, nil, []int{0}},
	// The scale that multiplies the next ones; a scale of 6 bits, from which 32 is subtracted, for each eighth of the block, first the upper
	// 2 bits of all and then the lower 4; 256 indices of iq4Values of 4 bits.
	23: {"IQ4_XS", 256, 136, func(y []float32, b []byte) {
		d, high, low := half(b), le.Uint16(b[2:]), b[4:8]
		for j := range 8 {
			s := int(low[j/2]>>(j%2*4)&15) | int(high>>(2*j)&3)<<4
			scale, part := d*float32(s-32), y[j*32:]
			nibbles(b[8+16*j:], func(i int, q uint8) { part[i] = scale * iq4Values[q] })
		}
	}, nil, []int{0}},
	// 240 ternary digits, five to a byte, in 32 bytes and then 16; 16 more, four to a byte; scale. A digit stands for itself minus 1. If n
	// < 3^5 has the digits of a byte to the base 3, the byte is about 256·n/3^5. So its first digit is the integer part of 3·byte/256.
	34: {"TQ1_0", 256, 54, func(y []float32, b []byte) {
		d := half(b[52:])
		part := func(bytes []byte, each int) {
			for n := range each {
				for i, q := range bytes {
					for range n { // a product mod 256 drops the first digit
						q *= 3
					}
					y[n*len(bytes)+i] = d * float32(int(uint16(q)*3>>8)-1)
				}
			}
			y = y[each*len(bytes):]
		}
		part(b[:32], 5)
		part(b[32:48], 5)
		part(b[48:52], 4)
	}, nil, []int{52}},
	// 256 integers of 2 bits, from which 1 is subtracted, with 32 bytes for each half of the block; scale.
	35: {"TQ2_0", 256, 66, func(y []float32, b []byte) {
		d := half(b[64:])
		for i := range y {
			y[i] = d * float32(int(b[i/128*32+i%32]>>(i%128/32*2)&3)-1)
		}
	}, nil, []int{64}},
	// The exponent e of the scale 2^(e − 127); 32 indices of fp4Values of 4 bits. As fp4Values are doubled, the numbers are multiplied by
	// half the scale. Only numbers with the largest scales may exceed float32.
	39: {"MXFP4", 32, 17, func(y []float32, b []byte) {
		d := float32(math.Ldexp(1, int(b[0])-128))
		nibbles(b[1:], func(i int, q uint8) { y[i] = d * fp4Values[q] })
	}, nil, nil},
}
