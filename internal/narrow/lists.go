package narrow

import (
	"encoding/binary"
	"math"
	"unsafe"
)

var (
	le = binary.LittleEndian
	// littleEndian says whether numbers in memory have the byte order of the formats.
	littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
)

// BFloat16s sets dst to the first len(dst) bfloat16 numbers of src, which has 2 bytes for
// each, little-endian.
func BFloat16s(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	if n := len(dst) &^ 3; littleEndian && n > 0 {
		// Four numbers of 16 bits at a time become two words of two float32 each: every number moves to the upper half of its float32.
		words := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), 4*n)
		for from := src[:2*n]; len(from) >= 8 && len(words) >= 16; from, words = from[8:], words[16:] {
			v := le.Uint64(from)
			le.PutUint64(words, v<<16&0xffff_0000|v<<32&(0xffff<<48))
			le.PutUint64(words[8:], v>>16&0xffff_0000|v&(0xffff<<48))
		}
		dst, src = dst[n:], src[2*n:]
	}
	for i := range dst {
		dst[i] = BFloat16(le.Uint16(src[2*i:]))
	}
}

// Float16s sets dst to the first len(dst) binary16 numbers of src, which has 2 bytes for
// each, little-endian.
func Float16s(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := range dst {
		b := le.Uint16(src[2*i:])
		if b&0x7c00 == 0x7c00 {
			dst[i] = Float16(b)
			continue
		}
		// The exponent and fraction of a binary16, moved into their places in a float32, are
		// the number times 2^−112, as the biases of the exponents are 15 and 127. Multiplying
		// by 2^112 is exact, also for subnormal numbers.
		dst[i] = math.Float32frombits(uint32(b&0x7fff)<<13) * (1 << 112)
		dst[i] = math.Float32frombits(math.Float32bits(dst[i]) | uint32(b>>15)<<31)
	}
}

// FiniteBFloat16s reports whether all bfloat16 numbers in src are finite.
func FiniteBFloat16s(src []byte) bool { return finite(src, 0x7f80) }

// FiniteFloat16s reports whether all binary16 numbers in src are finite.
func FiniteFloat16s(src []byte) bool { return finite(src, 0x7c00) }

// finite reports whether no number of 16 bits in src has all bits of the exponent set, as
// infinities and NaN have. Adding the lowest bit of the exponent to the exponent carries
// into the sign bit exactly if all are set; this is done for four numbers at a time.
func finite(src []byte, exponent uint16) bool {
	const each = 0x0001_0001_0001_0001
	mask, one := uint64(exponent)*each, uint64(exponent&-exponent)*each
	const block = 1 << 12
	for len(src) >= 8 {
		n := min(len(src)&^7, block)
		any := uint64(0)
		for part := src[:n]; len(part) >= 8; part = part[8:] {
			any |= le.Uint64(part)&mask + one
		}
		if any&(0x8000*each) != 0 {
			return false
		}
		src = src[n:]
	}
	for ; len(src) >= 2; src = src[2:] {
		if le.Uint16(src)&exponent == exponent {
			return false
		}
	}
	return true
}
