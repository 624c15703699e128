package onnx

import "fmt"

// DType is an element type, numbered as TensorProto.DataType in the ONNX
// specification.
type DType int

// The element types that can be read.
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

// String returns the type's name in the ONNX specification, in lower case.
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

// known says whether tensors of type d can be read.
func (d DType) known() bool { _, ok := dtypes[d]; return ok }

// Tensor is a constant, row-major. Exactly one of F32 and I64 is set: F32 for
// float types (a double is rounded), I64 for integers and bool (0 and 1).
type Tensor struct {
	Shape []int
	DType DType
	F32   []float32 // may be a read-only view of the model file
	I64   []int64
}

// Len returns the number of elements.
func (t *Tensor) Len() int {
	if t.I64 != nil {
		return len(t.I64)
	}
	return len(t.F32)
}

// At returns element i, in row-major order.
func (t *Tensor) At(i int) float64 {
	if t.I64 != nil {
		return float64(t.I64[i])
	}
	return float64(t.F32[i])
}

// Float64s returns a copy of the elements.
func (t *Tensor) Float64s() []float64 {
	out := make([]float64, t.Len())
	if t.I64 != nil {
		for i, v := range t.I64 {
			out[i] = float64(v)
		}
		return out
	}
	for i, v := range t.F32 {
		out[i] = float64(v)
	}
	return out
}

// size returns the product of the dimensions of a shape that is known to be
// within the limits.
func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
