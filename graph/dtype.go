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
)

// dtypes gives name and bytes per element.
var dtypes = map[DType]struct {
	name string
	size int
}{
	Float: {"float", 4}, Uint8: {"uint8", 1}, Int8: {"int8", 1}, Uint16: {"uint16", 2}, Int16: {"int16", 2},
	Int32: {"int32", 4}, Int64: {"int64", 8}, Bool: {"bool", 1}, Float16: {"float16", 2}, Double: {"double", 8},
	Uint32: {"uint32", 4}, Uint64: {"uint64", 8}, BFloat16: {"bfloat16", 2},
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
	return d == Float || d == Double || d == Float16 || d == BFloat16
}

// Known says whether d is one of the types above.
func (d DType) Known() bool { _, ok := dtypes[d]; return ok }

// Bytes returns the size of an element in a file.
func (d DType) Bytes() int { return dtypes[d].size }

// Bounds returns the values that integer type d holds, as far as int64 does.
func (d DType) Bounds() (lo, hi int64) {
	switch d {
	case Bool:
		return 0, 1
	case Uint8, Uint16, Uint32:
		return 0, 1<<(8*d.Bytes()) - 1
	case Uint64:
		return 0, math.MaxInt64
	case Int64:
		return math.MinInt64, math.MaxInt64
	}
	half := int64(1) << (8*d.Bytes() - 1)
	return -half, half - 1
}

// computed is the type of what is computed from values of type d: floats of all
// widths are computed as Float.
func (d DType) computed() DType {
	if d.IsFloat() {
		return Float
	}
	return d
}
