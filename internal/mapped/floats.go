package mapped

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// littleEndian says whether floats in memory have the byte order of the formats.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Float32s returns the first n little-endian floats of raw. It makes no copy if the bytes
// are aligned and the machine is little-endian.
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
