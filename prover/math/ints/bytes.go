package ints

import (
	"encoding/binary"
	"unsafe"
)

// littleEndian says whether lists lie in memory as their bytes are written.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Bytes returns the entries as little-endian bytes, as many each as the width: the
// memory of the list where the machine has them so, which must not be changed.
func Bytes(v Ints) []byte {
	if littleEndian || v.Width() == 1 {
		return v.memory()
	}
	return encoded(All(v), v.Width())
}

// Shortest returns what Bytes does of a list of the same entries in the narrowest type that holds them.
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

// FromBytes is the inverse of Bytes for a width of 1, 2 or 4 bytes: the list has b's
// memory where the machine allows, so that b must not be changed any more. It returns
// nil if there is no such list.
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

// decoded is FromBytes for entries of a type, which take as many bytes as the width.
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

// view is the memory of a list as one of another type.
func view[To, From any](v []From) []To {
	var to To
	var from From
	return unsafe.Slice((*To)(unsafe.Pointer(unsafe.SliceData(v))), uintptr(len(v))*unsafe.Sizeof(from)/unsafe.Sizeof(to))
}

// encoded returns so many of the lowest bytes of values.
func encoded(values []int32, width int) []byte {
	var b []byte
	for _, x := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))[:len(b)+width]
	}
	return b
}
