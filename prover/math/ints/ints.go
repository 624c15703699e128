package ints

import (
	"unsafe"

	"github.com/prove-model/prove-model/internal/simd"
)

// level is the instruction set in use; tests lower it.
var level = simd.Best()

// prefix returns how many of n entries the assembly handles: a multiple of 16, which may be 0. It returns 0 if there is no assembly. The
// assembly must not be called with 0 entries.
func prefix(n int) int {
	if level == simd.None {
		return 0
	}
	return n &^ 15
}

// Integer is the set of types of entries.
type Integer interface{ int8 | int16 | int32 }

// Ints is a list of integers: an [Int8s], an [Int16s] or an [Int32s]. Its memory may be
// that of a mapped file. It must not be changed, so any number of
// goroutines may read it at once.
type Ints interface {
	// Len returns the number of entries.
	Len() int
	// Width returns the bytes that an entry takes: 1, 2 or 4.
	Width() int
	// Read sets dst to the entries from the given one on.
	Read(dst []int32, from int)
	// Slice returns the list of the entries [from, to), which shares the memory.
	Slice(from, to int) Ints

	memory() []byte
}

// List implements Ints.
type List[T Integer] []T

// The types of lists.
type (
	Int8s  = List[int8]
	Int16s = List[int16]
	Int32s = List[int32]
)

// Len implements Ints.
func (v List[T]) Len() int { return len(v) }

// Width implements Ints.
func (List[T]) Width() int { return int(unsafe.Sizeof(T(0))) }

// Read implements Ints.
func (v List[T]) Read(dst []int32, from int) { Widen(dst, v[from:from+len(dst)]) }

// Slice implements Ints.
func (v List[T]) Slice(from, to int) Ints { return v[from:to:to] }

func (v List[T]) memory() []byte { return view[byte](v) }

// All returns all entries as 32-bit integers: the list's own memory if it is an Int32s, else a copy.
// As it may copy everything it is for small lists.
func All(v Ints) []int32 {
	if w, ok := v.(Int32s); ok {
		return w
	}
	dst := make([]int32, v.Len())
	v.Read(dst, 0)
	return dst
}

// Widen sets dst to the entries of src. dst must not be shorter than src.
func Widen[T Integer](dst []int32, src []T) {
	dst = dst[:len(src)]
	n := prefix(len(src))
	if n > 0 {
		switch src := any(src).(type) {
		case []int8:
			widen8(&dst[0], &src[0], uint64(n))
		case []int16:
			widen16(&dst[0], &src[0], uint64(n))
		case []int32:
			n = copy(dst, src)
		}
	}
	for i := n; i < len(src); i++ {
		dst[i] = int32(src[i])
	}
}

// Part returns the entries [from, to) as 32-bit integers: the list's own memory if it is an Int32s, else a copy
// in *buf, which it replaces if it is too short.
func Part(v Ints, from, to int, buf *[]int32) []int32 {
	if w, ok := v.(Int32s); ok {
		return w[from:to]
	}
	if cap(*buf) < to-from {
		*buf = make([]int32, to-from)
	}
	part := (*buf)[:to-from]
	v.Read(part, from)
	return part
}
