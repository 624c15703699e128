package onnx

import (
	"encoding/binary"
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/mapped"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/narrow"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// decode reads a tensor, which may have NaN and infinities. external returns its bytes if
// they are in another file.
func decode(t *onnxpb.TensorProto, external func(*onnxpb.TensorProto) []byte) *graph.Tensor {
	dt := graph.DType(t.GetDataType())
	refuse.If(!dt.Known(), "%v is not a numeric type that can be read", dt)
	refuse.If(t.Segment != nil, "segmented tensors are not supported")
	out := &graph.Tensor{Shape: must.Get(graph.CheckShape(t.Dims)), DType: dt}
	switch {
	case t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL:
		setRaw(out, external(t))
	case len(t.RawData) > 0:
		setRaw(out, t.RawData)
	default:
		setFields(out, t)
	}
	return out
}

// setRaw sets the elements of t from little-endian bytes.
func setRaw(t *graph.Tensor, raw []byte) {
	n, dt := graph.Size(t.Shape), t.DType
	want := dt.Bytes(n)
	refuse.If(len(raw) != want, "%d bytes of data, but %v of type %v needs %d", len(raw), t.Shape, dt, want)
	switch {
	case dt == graph.Float:
		t.F32 = mapped.Float32s(raw, n)
	case dt.IsFloat():
		t.F32 = filled(n, func(i int) float32 { return floatOf(dt, i, bitsOf(raw, i, dt.Bits())) })
	default:
		t.I64 = filled(n, func(i int) int64 { return integerOf(dt, i, bitsOf(raw, i, dt.Bits())) })
	}
}

// bitsOf returns the bits of element i of little-endian elements of the given number of
// bits.
func bitsOf(raw []byte, i, bits int) uint64 {
	switch bits {
	case 64:
		return binary.LittleEndian.Uint64(raw[8*i:])
	case 32:
		return uint64(binary.LittleEndian.Uint32(raw[4*i:]))
	case 16:
		return uint64(binary.LittleEndian.Uint16(raw[2*i:]))
	}
	return uint64(pattern(raw, i, bits))
}

// pattern returns the bits of element i of packed elements of 2, 4 or 8 bits.
func pattern(raw []byte, i, bits int) byte {
	at := i * bits
	return raw[at/8] >> (at % 8) & (1<<bits - 1)
}

// floatOf returns the number of floating-point type dt with these bits. i is the index of
// the element, for errors.
func floatOf(dt graph.DType, i int, bits uint64) float32 {
	switch dt {
	case graph.Double:
		return narrowed(i, math.Float64frombits(bits))
	case graph.Float16:
		return narrow.Float16(uint16(bits))
	case graph.BFloat16:
		return narrow.BFloat16(uint16(bits))
	}
	return dt.Number(byte(bits))
}

// integerOf returns the integer of type dt with these bits. i is the index of the
// element, for errors.
func integerOf(dt graph.DType, i int, bits uint64) int64 {
	lo, hi := dt.Bounds()
	switch {
	case bits <= uint64(hi):
		return int64(bits)
	case lo < 0: // two's complement
		return int64(bits) - int64(1)<<dt.Bits()
	case dt == graph.Bool:
		refuse.With("element %d of type bool is %d", i, bits)
	}
	refuse.With("element %d, %d, is beyond 63 bits", i, bits)
	return 0
}

// narrowed returns element i, a double, as a float32. A finite number that would become
// infinite is an error.
func narrowed(i int, x float64) float32 {
	v := float32(x)
	if math.IsInf(float64(v), 0) && !math.IsInf(x, 0) {
		refuse.With("element %d, %v, is beyond the range of float", i, x)
	}
	return v
}

// setFields sets the elements of t from the typed fields of p. These have one entry for
// each element; for types of 8 bits or fewer, other than integers of 8 bits and bool,
// each entry is one byte of the packed elements.
func setFields(t *graph.Tensor, p *onnxpb.TensorProto) {
	n, dt := graph.Size(t.Shape), t.DType
	if dt.Small() || dt.Bits() < 8 {
		if want := dt.Bytes(n); len(p.Int32Data) != want {
			refuse.With("%d entries of data, but shape %v of type %v has %d", len(p.Int32Data), t.Shape, dt, want)
		}
		setRaw(t, converted[byte](p.Int32Data))
		return
	}
	switch dt {
	case graph.Float:
		if t.F32 = p.FloatData; t.F32 == nil {
			t.F32 = []float32{}
		}
	case graph.Double:
		t.F32 = filled(len(p.DoubleData), func(i int) float32 { return narrowed(i, p.DoubleData[i]) })
	case graph.Float16, graph.BFloat16:
		t.F32 = filled(len(p.Int32Data), func(i int) float32 {
			v := p.Int32Data[i]
			if v < 0 || v > math.MaxUint16 {
				refuse.With("element %d, %d, is no 16-bit pattern", i, v)
			}
			return floatOf(dt, i, uint64(v))
		})
	case graph.Int64:
		if t.I64 = p.Int64Data; t.I64 == nil {
			t.I64 = []int64{}
		}
	case graph.Uint32, graph.Uint64:
		t.I64 = filled(len(p.Uint64Data), func(i int) int64 { return within(dt, i, p.Uint64Data[i]) })
	default: // Bool and the integers of up to 32 bits
		t.I64 = filled(len(p.Int32Data), func(i int) int64 { return within(dt, i, p.Int32Data[i]) })
	}
	refuse.If(t.Len() != n, "%d elements of data, but shape %v has %d", t.Len(), t.Shape, n)
}

// within returns v, element i, and refuses it if type dt does not hold it.
func within[T int32 | uint64](dt graph.DType, i int, v T) int64 {
	lo, hi := dt.Bounds()
	if int64(v) < lo || v > 0 && uint64(v) > uint64(hi) {
		refuse.With("element %d, %d, is out of range for %v", i, v, dt)
	}
	return int64(v)
}
