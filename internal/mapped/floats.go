package mapped

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// littleEndian says whether floats in memory have the byte order of the formats.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Float32s returns the n little-endian floats that raw begins with, without a copy
// where the bytes are aligned.
func Float32s(raw []byte, n int) []float32 {
	if n == 0 {
		return []float32{}
	}
	p := unsafe.Pointer(unsafe.SliceData(raw))
	if littleEndian && uintptr(p)%unsafe.Alignof(float32(0)) == 0 {
		return unsafe.Slice((*float32)(p), n)
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}
