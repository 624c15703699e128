package gguf

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"

	"github.com/prove-model/prove-model/internal/narrow"
)

// tensorType says how the elements of a type are stored: in blocks of elems numbers,
// where a block has bytes bytes. Decoding computes in float32 as the
// format's reference implementation does. The conversions after products keep the
// compiler from fusing a product with a sum.
type tensorType struct {
	name         string
	elems, bytes int
	decode       func(dst []float32, src []byte) // decodes one block, or, if elems is 1, any number of elements; nil for float32
	whole        func(src []byte) int64          // set for integer types only: reads one number
	// halves are the offsets of the binary16 numbers of a block. The block is finite if
	// these are, since its other numbers are integers of at most eight bits.
	halves []int
}

var le = binary.LittleEndian

// half is the binary16 number that b begins with.
func half(b []byte) float32 { return narrow.Float16(le.Uint16(b)) }

func init() {
	maps.Copy(types, smallTypes)
	maps.Copy(types, gridTypes)
}

// types are the types that tensors may have, by their number in the format. A comment lists the fields of a block in the order in which
// they are stored. "Scale" and "least" are binary16 numbers d and m: a stored integer q stands for d·q, or d·q + m. In types with "K" these
// multiply smaller integers, the scale and the least of a part of the block, and the least is subtracted.
var types = map[uint32]tensorType{
	0: {name: "F32", elems: 1, bytes: 4},
	1: {"F16", 1, 2, narrow.Float16s, nil, []int{0}},
	// Scale; 32 integers of 4 bits, from which 8 is subtracted.
	2: {"Q4_0", 32, 18, func(y []float32, b []byte) {
		d := half(b)
		nibbles(b[2:], func(i int, q uint8) { y[i] = d * float32(int(q)-8) })
	}, nil, []int{0}},
	// Scale and least; 32 integers of 4 bits.
	3: {"Q4_1", 32, 20, func(y []float32, b []byte) {
		d, m := half(b), half(b[2:])
		nibbles(b[4:], func(i int, q uint8) { y[i] = float32(d*float32(q)) + m })
	}, nil, []int{0, 2}},
	// Scale; the upper bits of 32 integers of 5 bits; their lower 4 bits. 16 is subtracted.
	6: {"Q5_0", 32, 22, func(y []float32, b []byte) {
		d, high := half(b), le.Uint32(b[2:])
		nibbles(b[6:], func(i int, q uint8) { y[i] = d * float32(int(q)+int(high>>i&1)<<4-16) })
	}, nil, []int{0}},
	// Scale and least; the upper bits of 32 integers of 5 bits; their lower 4 bits.
	7: {"Q5_1", 32, 24, func(y []float32, b []byte) {
		d, m, high := half(b), half(b[2:]), le.Uint32(b[4:])
		nibbles(b[8:], func(i int, q uint8) { y[i] = float32(d*float32(int(q)+int(high>>i&1)<<4)) + m })
	}, nil, []int{0, 2}},
	// Scale; 32 signed integers of 8 bits.
	8: {"Q8_0", 32, 34, func(y []float32, b []byte) {
		d := half(b)
		for i := range y {
			y[i] = d * float32(int8(b[2+i]))
		}
	}, nil, []int{0}},
	// Scale and least; a scale and a least of 6 bits for each eighth of the block (scale6); 256
	// integers of 4 bits. Two eighths share bytes, which have one in their lower and the other
	// in their upper halves.
	12: {"Q4_K", 256, 144, func(y []float32, b []byte) {
		d, least := half(b), half(b[2:])
		scales, qs := b[4:16], b[16:]
		for j := range 8 {
			s, m := scale6(j, scales)
			s, m = d*s, least*m
			for i := range 32 {
				q := qs[j/2*32+i] >> (j % 2 * 4) & 15
				y[j*32+i] = float32(s*float32(q)) - m
			}
		}
	}, nil, []int{0, 2}},
	// As Q4_K, with the upper bits of 256 integers of 5 bits before their lower 4 bits.
	13: {"Q5_K", 256, 176, func(y []float32, b []byte) {
		d, least := half(b), half(b[2:])
		scales, high, qs := b[4:16], b[16:48], b[48:]
		for j := range 8 {
			s, m := scale6(j, scales)
			s, m = d*s, least*m
			for i := range 32 {
				q := qs[j/2*32+i]>>(j%2*4)&15 | high[i]>>j&1<<4
				y[j*32+i] = float32(s*float32(q)) - m
			}
		}
	}, nil, []int{0, 2}},
	// The lower 4 bits of 256 integers of 6 bits; their upper 2 bits; a scale of 8 bits for each
	// sixteenth of the block; the scale that multiplies these. 32 is subtracted.
	14: {"Q6_K", 256, 210, func(y []float32, b []byte) {
		low, high, scales, d := b[:128], b[128:192], b[192:208], half(b[208:])
		for n := range 2 { // halves
			for j := range 4 { // quarters of a half
				for i := range 32 {
					q := low[n*64+j%2*32+i] >> (j / 2 * 4) & 15
					q |= high[n*32+i] >> (2 * j) & 3 << 4
					s := d * float32(int8(scales[n*8+j*2+i/16]))
					y[n*128+j*32+i] = s * float32(int(q)-32)
				}
			}
		}
	}, nil, []int{208}},
	24: {"I8", 1, 1, nil, func(b []byte) int64 { return int64(int8(b[0])) }, nil},
	25: {"I16", 1, 2, nil, func(b []byte) int64 { return int64(int16(le.Uint16(b))) }, nil},
	26: {"I32", 1, 4, nil, func(b []byte) int64 { return int64(int32(le.Uint32(b))) }, nil},
	27: {"I64", 1, 8, nil, func(b []byte) int64 { return int64(le.Uint64(b)) }, nil},
	28: {"F64", 1, 8, func(y []float32, b []byte) {
		for i := range y {
			y[i] = float32(math.Float64frombits(le.Uint64(b[8*i:])))
		}
	}, nil, nil},
	30: {"BF16", 1, 2, narrow.BFloat16s, nil, nil},
}

// unread are the names of types that are known but not read (ggml's enum ggml_type).
var unread = map[uint32]string{
	9: "Q8_1", 15: "Q8_K", 40: "NVFP4", 41: "Q1_0",
}

// typeName describes a type that is not read, by its number in the format.
func typeName(number uint32) string {
	if name := unread[number]; name != "" {
		return name
	}
	return fmt.Sprintf("with the number %d of the format", number)
}

// blocks returns a function that decodes any number of whole blocks.
func (t tensorType) blocks() func(dst []float32, src []byte) {
	if t.decode == nil || t.elems == 1 {
		return t.decode
	}
	return func(dst []float32, src []byte) {
		for len(src) > 0 {
			t.decode(dst[:t.elems:t.elems], src[:t.bytes:t.bytes])
			dst, src = dst[t.elems:], src[t.bytes:]
		}
	}
}

// finite returns a function that reports whether all numbers of whole blocks are finite, or
// nil if only decoding them can tell.
func (t tensorType) finite() func(src []byte) bool {
	switch {
	case t.halves == nil:
		return nil
	case t.elems == 1:
		return narrow.FiniteFloat16s
	}
	return func(src []byte) bool {
		const exponent = 0x7c00 // of infinities and NaN
		for ; len(src) > 0; src = src[t.bytes:] {
			for _, at := range t.halves {
				if le.Uint16(src[at:])&exponent == exponent {
					return false
				}
			}
		}
		return true
	}
}

// nibbles calls f with the 32 numbers of four bits in 16 bytes. Numbers 0 to 15 are the lower
// halves of the bytes, and numbers 16 to 31 the upper.
func nibbles(qs []byte, f func(i int, q uint8)) {
	for i, q := range qs[:16] {
		f(i, q&15)
		f(i+16, q>>4)
	}
}

// scale6 returns the scale and the least, of six bits each, of eighth j of a block of Q4_K or
// Q5_K. All eight pairs are packed in the 12 bytes s.
func scale6(j int, s []byte) (scale, least float32) {
	if j < 4 {
		return float32(s[j] & 63), float32(s[j+4] & 63)
	}
	return float32(s[j+4]&15 | s[j-4]>>6<<4), float32(s[j+4]>>4 | s[j]>>6<<4)
}
