package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/mapped"
	"github.com/prove-model/prove-model/internal/narrow"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// decode reads a tensor, which may have NaN and infinities. external fetches its bytes
// when another file has them.
func decode(t *onnxpb.TensorProto, external func(*onnxpb.TensorProto) ([]byte, error)) (*graph.Tensor, error) {
	dt := graph.DType(t.GetDataType())
	if !dt.Known() {
		return nil, fmt.Errorf("%v is not a numeric type that can be read", dt)
	}
	if t.Segment != nil {
		return nil, errors.New("segmented tensors are not supported")
	}
	shape, err := graph.CheckShape(t.Dims)
	if err != nil {
		return nil, err
	}
	raw, isRaw := t.RawData, len(t.RawData) > 0
	if t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
		if raw, err = external(t); err != nil {
			return nil, err
		}
		isRaw = true
	}
	out := &graph.Tensor{Shape: shape, DType: dt}
	if isRaw {
		if want := dt.Bytes(graph.Size(shape)); len(raw) != want {
			return nil, fmt.Errorf("%d bytes of data, but %v of type %v needs %d", len(raw), shape, dt, want)
		}
		err = setRaw(out, raw)
	} else {
		err = setFields(out, t)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// setRaw decodes little-endian bytes, whose number fits the shape.
func setRaw(t *graph.Tensor, raw []byte) (err error) {
	n := graph.Size(t.Shape)
	switch {
	case t.DType == graph.Float:
		t.F32 = mapped.Float32s(raw, n)
	case t.DType.IsFloat():
		t.F32, err = elements(n, func(i int) (float32, error) { return floatOf(t.DType, i, bitsOf(raw, i, t.DType.Bits())) })
	default:
		t.I64, err = elements(n, func(i int) (int64, error) { return integerOf(t.DType, i, bitsOf(raw, i, t.DType.Bits())) })
	}
	return err
}

// elements makes a list of n elements.
func elements[T any](n int, element func(i int) (T, error)) ([]T, error) {
	list := make([]T, n)
	for i := range list {
		v, err := element(i)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

// bitsOf returns element i of little-endian elements of so many bits.
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

// floatOf returns the number that the bits of element i stand for.
func floatOf(dt graph.DType, i int, bits uint64) (float32, error) {
	switch dt {
	case graph.Double:
		return narrowed(i, math.Float64frombits(bits))
	case graph.Float16:
		return narrow.Float16(uint16(bits)), nil
	case graph.BFloat16:
		return narrow.BFloat16(uint16(bits)), nil
	}
	return fromSmall(dt, byte(bits)), nil
}

// integerOf returns the integer that the bits of element i stand for.
func integerOf(dt graph.DType, i int, bits uint64) (int64, error) {
	lo, hi := dt.Bounds()
	switch {
	case bits <= uint64(hi):
		return int64(bits), nil
	case lo < 0: // two's complement
		return int64(bits) - int64(1)<<dt.Bits(), nil
	case dt == graph.Bool:
		return 0, fmt.Errorf("element %d of type bool is %d", i, bits)
	}
	return 0, fmt.Errorf("element %d, %d, is beyond 63 bits", i, bits)
}

// narrowed returns element i, a double, as a float32. A finite number that would become
// infinite is an error.
func narrowed(i int, x float64) (float32, error) {
	v := float32(x)
	if math.IsInf(float64(v), 0) && !math.IsInf(x, 0) {
		return 0, fmt.Errorf("element %d, %v, is beyond the range of float", i, x)
	}
	return v, nil
}

// setFields decodes the typed fields, which hold one entry an element, or a byte an entry
// of the smallest types.
func setFields(t *graph.Tensor, p *onnxpb.TensorProto) (err error) {
	n, dt := graph.Size(t.Shape), t.DType
	if dt.Small() || dt.Bits() < 8 {
		if want := dt.Bytes(n); len(p.Int32Data) != want {
			return fmt.Errorf("%d entries of data, but shape %v of type %v has %d", len(p.Int32Data), t.Shape, dt, want)
		}
		return setRaw(t, converted[byte](p.Int32Data))
	}
	switch dt {
	case graph.Float:
		if t.F32 = p.FloatData; t.F32 == nil {
			t.F32 = []float32{}
		}
	case graph.Double:
		t.F32, err = elements(len(p.DoubleData), func(i int) (float32, error) { return narrowed(i, p.DoubleData[i]) })
	case graph.Float16, graph.BFloat16:
		t.F32, err = elements(len(p.Int32Data), func(i int) (float32, error) {
			v := p.Int32Data[i]
			if v < 0 || v > math.MaxUint16 {
				return 0, fmt.Errorf("element %d, %d, is no 16-bit pattern", i, v)
			}
			return floatOf(dt, i, uint64(v))
		})
	case graph.Int64:
		if t.I64 = p.Int64Data; t.I64 == nil {
			t.I64 = []int64{}
		}
	case graph.Uint32, graph.Uint64:
		t.I64, err = elements(len(p.Uint64Data), func(i int) (int64, error) { return within(dt, i, p.Uint64Data[i]) })
	default: // Bool and the integers of up to 32 bits
		t.I64, err = elements(len(p.Int32Data), func(i int) (int64, error) { return within(dt, i, p.Int32Data[i]) })
	}
	if err == nil && t.Len() != n {
		err = fmt.Errorf("%d elements of data, but shape %v has %d", t.Len(), t.Shape, n)
	}
	return err
}

// within returns element i if the type holds it.
func within[T int32 | uint64](dt graph.DType, i int, v T) (int64, error) {
	lo, hi := dt.Bounds()
	if int64(v) < lo || v > 0 && uint64(v) > uint64(hi) {
		return 0, fmt.Errorf("element %d, %d, is out of range for %v", i, v, dt)
	}
	return int64(v), nil
}
