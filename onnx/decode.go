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
func setRaw(t *graph.Tensor, raw []byte) error {
	n := graph.Size(t.Shape)
	le := binary.LittleEndian
	if t.DType == graph.Float {
		t.F32 = mapped.Float32s(raw, n)
		return nil
	}
	if t.DType.IsFloat() {
		t.F32 = make([]float32, n)
		for i := range t.F32 {
			switch t.DType {
			case graph.Double:
				v, err := narrowed(i, math.Float64frombits(le.Uint64(raw[8*i:])))
				if err != nil {
					return err
				}
				t.F32[i] = v
			case graph.Float16:
				t.F32[i] = narrow.Float16(le.Uint16(raw[2*i:]))
			case graph.BFloat16:
				t.F32[i] = narrow.BFloat16(le.Uint16(raw[2*i:]))
			default:
				t.F32[i] = fromSmall(t.DType, pattern(raw, i, t.DType.Bits()))
			}
		}
		return nil
	}
	t.I64 = make([]int64, n)
	for i := range t.I64 {
		switch t.DType {
		case graph.Int8:
			t.I64[i] = int64(int8(raw[i]))
		case graph.Uint8:
			t.I64[i] = int64(raw[i])
		case graph.Uint4, graph.Int4, graph.Uint2, graph.Int2:
			t.I64[i] = signed(t.DType, pattern(raw, i, t.DType.Bits()))
		case graph.Bool:
			if raw[i] > 1 {
				return fmt.Errorf("element %d of type bool is %d", i, raw[i])
			}
			t.I64[i] = int64(raw[i])
		case graph.Int16:
			t.I64[i] = int64(int16(le.Uint16(raw[2*i:])))
		case graph.Uint16:
			t.I64[i] = int64(le.Uint16(raw[2*i:]))
		case graph.Int32:
			t.I64[i] = int64(int32(le.Uint32(raw[4*i:])))
		case graph.Uint32:
			t.I64[i] = int64(le.Uint32(raw[4*i:]))
		case graph.Int64:
			t.I64[i] = int64(le.Uint64(raw[8*i:]))
		case graph.Uint64:
			v := le.Uint64(raw[8*i:])
			if v > math.MaxInt64 {
				return fmt.Errorf("element %d, %d, is beyond 63 bits", i, v)
			}
			t.I64[i] = int64(v)
		}
	}
	return nil
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

// setFields decodes the typed fields, which hold one entry an element.
func setFields(t *graph.Tensor, p *onnxpb.TensorProto) error {
	n := graph.Size(t.Shape)
	check := func(have int) error {
		if have != n {
			return fmt.Errorf("%d elements of data, but shape %v has %d", have, t.Shape, n)
		}
		return nil
	}
	switch t.DType {
	case graph.Float:
		t.F32 = p.FloatData
		if t.F32 == nil {
			t.F32 = []float32{}
		}
		return check(len(p.FloatData))
	case graph.Double:
		if err := check(len(p.DoubleData)); err != nil {
			return err
		}
		t.F32 = make([]float32, n)
		for i, x := range p.DoubleData {
			v, err := narrowed(i, x)
			if err != nil {
				return err
			}
			t.F32[i] = v
		}
	case graph.Float16, graph.BFloat16:
		if err := check(len(p.Int32Data)); err != nil {
			return err
		}
		t.F32 = make([]float32, n)
		for i, v := range p.Int32Data {
			if v < 0 || v > math.MaxUint16 {
				return fmt.Errorf("element %d, %d, is no 16-bit pattern", i, v)
			}
			if t.DType == graph.Float16 {
				t.F32[i] = narrow.Float16(uint16(v))
			} else {
				t.F32[i] = narrow.BFloat16(uint16(v))
			}
		}
	case graph.Int64:
		t.I64 = p.Int64Data
		if t.I64 == nil {
			t.I64 = []int64{}
		}
		return check(len(p.Int64Data))
	case graph.Uint32, graph.Uint64:
		if err := check(len(p.Uint64Data)); err != nil {
			return err
		}
		t.I64 = make([]int64, n)
		for i, v := range p.Uint64Data {
			if v > math.MaxInt64 || t.DType == graph.Uint32 && v > math.MaxUint32 {
				return fmt.Errorf("element %d, %d, is out of range for %v", i, v, t.DType)
			}
			t.I64[i] = int64(v)
		}
	case graph.Uint4, graph.Int4, graph.Uint2, graph.Int2, graph.Float8E4M3FN, graph.Float8E4M3FNUZ, graph.Float8E5M2,
		graph.Float8E5M2FNUZ, graph.Float8E8M0, graph.Float4E2M1:
		// A byte an entry, and several elements a byte where they are smaller.
		if want := t.DType.Bytes(n); len(p.Int32Data) != want {
			return fmt.Errorf("%d entries of data, but shape %v of type %v has %d", len(p.Int32Data), t.Shape, t.DType, want)
		}
		raw := make([]byte, len(p.Int32Data))
		for i, v := range p.Int32Data {
			raw[i] = byte(v)
		}
		return setRaw(t, raw)
	default: // Bool and the integers of up to 32 bits
		if err := check(len(p.Int32Data)); err != nil {
			return err
		}
		lo, hi := t.DType.Bounds()
		t.I64 = make([]int64, n)
		for i, v := range p.Int32Data {
			if int64(v) < lo || int64(v) > hi {
				return fmt.Errorf("element %d, %d, is out of range for %v", i, v, t.DType)
			}
			t.I64[i] = int64(v)
		}
	}
	return nil
}
