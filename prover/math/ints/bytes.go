package ints

import (
	"encoding/binary"
	"unsafe"
)

// littleEndian says whether the machine has integers in memory in the order of bytes that Bytes returns.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Bytes returns the entries as little-endian integers of Width bytes each. On a little-endian
// machine that is the memory of the list, which must not be changed.
func Bytes(v Ints) []byte {
	if littleEndian || v.Width() == 1 {
		return v.memory()
	}
	return encoded(All(v), v.Width())
}

// Shortest returns what Bytes returns for a list of the same entries in the narrowest type that holds them all.
func Shortest(v Ints) []byte {
	if v.Width() == 1 {
		return Bytes(v)
	}
	values := All(v)
	if width := WidthOf(values); width < v.Width() {
		return encoded(values, width)
	}
	return Bytes(v)
}

// FromBytes is the inverse of Bytes. The list may use the memory of b, which must not be
// changed any more. It returns nil if width is not 1, 2 or 4, or if len(b) is not a
// multiple of it.
func FromBytes(b []byte, width int) Ints {
	if len(b)%max(width, 1) != 0 {
		return nil
	}
	switch width {
	case 1:
		return decoded[int8](b, width)
	case 2:
		return decoded[int16](b, width)
	case 4:
		return decoded[int32](b, width)
	}
	return nil
}

// decoded is FromBytes for entries of type T, which has width bytes. It copies if the machine is not little-endian or b is not
// aligned.
func decoded[T Integer](b []byte, width int) Ints {
	if (littleEndian || width == 1) && uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(width) == 0 {
		return List[T](view[T](b))
	}
	v := make(List[T], len(b)/width)
	for i := range v {
		var word [4]byte
		copy(word[:], b[i*width:(i+1)*width])
		v[i] = T(binary.LittleEndian.Uint32(word[:]))
	}
	return v
}

// view returns the memory of v as a slice of another type.
func view[To, From any](v []From) []To {
	var to To
	var from From
	return unsafe.Slice((*To)(unsafe.Pointer(unsafe.SliceData(v))), uintptr(len(v))*unsafe.Sizeof(from)/unsafe.Sizeof(to))
}

// encoded returns the lowest width bytes of each value, little-endian.
func encoded(values []int32, width int) []byte {
	var b []byte
	for _, x := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))[:len(b)+width]
	}
	return b
}
