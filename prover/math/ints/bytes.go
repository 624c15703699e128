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
	switch v := v.(type) {
	case Int8s:
		return view[byte](v)
	case Int16s:
		if littleEndian {
			return view[byte](v)
		}
		return encoded(v, func(b []byte, x int16) []byte { return binary.LittleEndian.AppendUint16(b, uint16(x)) })
	default:
		w := v.(Int32s)
		if littleEndian {
			return view[byte](w)
		}
		return encoded(w, func(b []byte, x int32) []byte { return binary.LittleEndian.AppendUint32(b, uint32(x)) })
	}
}

// Shortest returns what Bytes does of a list of the same entries in the narrowest type that holds them.
func Shortest(v Ints) []byte {
	if v.Width() == 1 {
		return Bytes(v)
	}
	values := All(v)
	switch width := WidthOf(values); {
	case width == v.Width():
		return Bytes(v)
	case width == 1:
		return encoded(values, func(b []byte, x int32) []byte { return append(b, byte(x)) })
	default:
		return encoded(values, func(b []byte, x int32) []byte { return binary.LittleEndian.AppendUint16(b, uint16(x)) })
	}
}

// FromBytes is the inverse of Bytes for a width of 1, 2 or 4 bytes: the list has b's
// memory where the machine allows, so that b must not be changed any more. It returns
// nil if there is no such list.
func FromBytes(b []byte, width int) Ints {
	if width != 1 && width != 2 && width != 4 || len(b)%width != 0 {
		return nil
	}
	n := len(b) / width
	aligned := littleEndian && uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(width) == 0
	switch {
	case width == 1:
		return Int8s(view[int8](b))
	case width == 2 && aligned:
		return Int16s(view[int16](b))
	case width == 2:
		v := make(Int16s, n)
		for i := range v {
			v[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
		}
		return v
	case aligned:
		return Int32s(view[int32](b))
	}
	v := make(Int32s, n)
	for i := range v {
		v[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// view is the memory of a list as one of another type.
func view[To, From any](v []From) []To {
	var to To
	var from From
	return unsafe.Slice((*To)(unsafe.Pointer(unsafe.SliceData(v))), uintptr(len(v))*unsafe.Sizeof(from)/unsafe.Sizeof(to))
}

func encoded[T Integer](v []T, add func([]byte, T) []byte) []byte {
	var b []byte
	for _, x := range v {
		b = add(b, x)
	}
	return b
}
