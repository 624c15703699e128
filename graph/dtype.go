package graph

import (
	"fmt"
	"math"
)

// DType is an element type. The numbers are those of ONNX's
// TensorProto.DataType.
type DType int

// The element types that tensors may have.
const (
	Float    DType = 1
	Uint8    DType = 2
	Int8     DType = 3
	Uint16   DType = 4
	Int16    DType = 5
	Int32    DType = 6
	Int64    DType = 7
	Bool     DType = 9
	Float16  DType = 10
	Double   DType = 11
	Uint32   DType = 12
	Uint64   DType = 13
	BFloat16 DType = 16

	Float8E4M3FN   DType = 17
	Float8E4M3FNUZ DType = 18
	Float8E5M2     DType = 19
	Float8E5M2FNUZ DType = 20
	Uint4          DType = 21
	Int4           DType = 22
	Float4E2M1     DType = 23
	Float8E8M0     DType = 24
	Uint2          DType = 25
	Int2           DType = 26
)

// dtypes gives the name of each type, and the bits per element.
var dtypes = map[DType]struct {
	name string
	bits int
}{
	Float: {"float", 32}, Uint8: {"uint8", 8}, Int8: {"int8", 8}, Uint16: {"uint16", 16}, Int16: {"int16", 16},
	Int32: {"int32", 32}, Int64: {"int64", 64}, Bool: {"bool", 8}, Float16: {"float16", 16}, Double: {"double", 64},
	Uint32: {"uint32", 32}, Uint64: {"uint64", 64}, BFloat16: {"bfloat16", 16},
	Float8E4M3FN: {"float8e4m3fn", 8}, Float8E4M3FNUZ: {"float8e4m3fnuz", 8}, Float8E5M2: {"float8e5m2", 8},
	Float8E5M2FNUZ: {"float8e5m2fnuz", 8}, Float8E8M0: {"float8e8m0", 8}, Float4E2M1: {"float4e2m1", 4},
	Uint4: {"uint4", 4}, Int4: {"int4", 4}, Uint2: {"uint2", 2}, Int2: {"int2", 2},
}

// String returns the type's name.
func (d DType) String() string {
	if t, ok := dtypes[d]; ok {
		return t.name
	}
	return fmt.Sprintf("element type %d", int(d))
}

// IsFloat says whether d is a floating-point type.
func (d DType) IsFloat() bool {
	return d == Float || d == Double || d == Float16 || d == BFloat16 || d.Small()
}

// Small says whether d is a floating-point type of 8 bits or fewer.
func (d DType) Small() bool {
	return d >= Float8E4M3FN && d <= Float8E5M2FNUZ || d == Float4E2M1 || d == Float8E8M0
}

// Known says whether d is one of the types above.
func (d DType) Known() bool { _, ok := dtypes[d]; return ok }

// Bits returns the size of an element in a file, in bits. Elements of less than 8 bits
// are packed, the first in the lowest bits of a byte.
func (d DType) Bits() int { return dtypes[d].bits }

// Bytes returns the size of n elements in a file, in bytes.
func (d DType) Bytes(n int) int { return (n*d.Bits() + 7) / 8 }

// Bounds returns the least and the greatest value of integer type d. For Uint64 hi is the
// greatest int64.
func (d DType) Bounds() (lo, hi int64) {
	switch d {
	case Bool:
		return 0, 1
	case Uint2, Uint4, Uint8, Uint16, Uint32:
		return 0, 1<<d.Bits() - 1
	case Uint64:
		return 0, math.MaxInt64
	case Int64:
		return math.MinInt64, math.MaxInt64
	}
	half := int64(1) << (d.Bits() - 1)
	return -half, half - 1
}

// fits says whether integer type to holds all values of integer type d. For Int32, only
// values within its own range count, since no computed integer has more than 32 bits.
func (d DType) fits(to DType) bool {
	lo, hi := d.Bounds()
	if to == Int32 {
		lo, hi = max(lo, math.MinInt32), min(hi, math.MaxInt32)
	}
	l, h := to.Bounds()
	return l <= lo && hi <= h
}

// computed returns the type of results computed from values of type d: floats of
// all widths are computed as Float.
func (d DType) computed() DType {
	if d.IsFloat() {
		return Float
	}
	return d
}
