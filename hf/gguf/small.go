package gguf

import "math"

// Types of four bits a number and less: those of the types with "K" that have two and three, those whose numbers are
// places in a list, and ternary ones.

// iq4Values are the numbers of IQ4_NL and IQ4_XS (kvalues_iq4nl of ggml).
var iq4Values = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// fp4Values are twice the numbers of OCP's E2M1 (Microscaling Formats v1.0, section 5.3.3).
var fp4Values = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

var smallTypes = map[uint32]tensorType{
	// Sixteen scales and leasts of 4 bits; 2 bits; two scales of these. Sixteenths come in eights that share bytes.
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
	// 256 third bits, where 0 is less 4; the lower 2; sixteen scales of 6 bits less 32, whose upper 2 come last; the scale of these.
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
	// Scale; places of 4 bits.
	20: {"IQ4_NL", 32, 18, func(y []float32, b []byte) {
		d := half(b)
		nibbles(b[2:], func(i int, q uint8) { y[i] = d * iq4Values[q] })
	}, nil, []int{0}},
	// Scale of the scales; eight scales of 6 bits less 32, the upper 2 first; places of 4 bits.
	23: {"IQ4_XS", 256, 136, func(y []float32, b []byte) {
		d, high, low := half(b), le.Uint16(b[2:]), b[4:8]
		for j := range 8 {
			s := int(low[j/2]>>(j%2*4)&15) | int(high>>(2*j)&3)<<4
			scale, part := d*float32(s-32), y[j*32:]
			nibbles(b[8+16*j:], func(i int, q uint8) { part[i] = scale * iq4Values[q] })
		}
	}, nil, []int{0}},
	// 240 ternary numbers, five to a byte, which is their part of 3^5 in units of 2^−8, first those of 32 bytes and then of 16; 16
	// more, four to a byte; scale. Each is less 1.
	34: {"TQ1_0", 256, 54, func(y []float32, b []byte) {
		d := half(b[52:])
		part := func(bytes []byte, each int) {
			for n := range each {
				for i, q := range bytes {
					for range n { // the next digit: what is left of the product is the part that is behind it
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
	// 2 bits less 1, halves of the block in turn; scale.
	35: {"TQ2_0", 256, 66, func(y []float32, b []byte) {
		d := half(b[64:])
		for i := range y {
			y[i] = d * float32(int(b[i/128*32+i%32]>>(i%128/32*2)&3)-1)
		}
	}, nil, []int{64}},
	// Exponent of the scale, a power of two, of which half is taken; places of 4 bits. All are finite but those of scales near
	// the end of float32.
	39: {"MXFP4", 32, 17, func(y []float32, b []byte) {
		d := float32(math.Ldexp(1, int(b[0])-128))
		nibbles(b[1:], func(i int, q uint8) { y[i] = d * fp4Values[q] })
	}, nil, nil},
}
