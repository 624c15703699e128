package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// Bounds on tensors. They are far above what can be proved, and low enough
// that products of them do not overflow.
const (
	maxRank     = 16
	maxElements = 1 << 36
)

// checkShape turns dims into a shape whose product is within the limits.
func checkShape(dims []int64) ([]int, error) {
	if len(dims) > maxRank {
		return nil, fmt.Errorf("%d axes, more than %d", len(dims), maxRank)
	}
	shape := make([]int, len(dims))
	n := int64(1)
	for i, d := range dims {
		if d < 0 {
			return nil, fmt.Errorf("negative dimension %d", d)
		}
		// Bounded axis by axis, so that a later zero cannot hide an overflow.
		if d > maxElements || n > maxElements/max(d, 1) {
			return nil, fmt.Errorf("dimensions %v are too large", dims)
		}
		n *= max(d, 1)
		shape[i] = int(d)
	}
	return shape, nil
}

// decode reads a tensor. external fetches its bytes when another file has them.
// Non-finite floats are refused.
func decode(t *onnxpb.TensorProto, external func(*onnxpb.TensorProto) ([]byte, error)) (*Tensor, error) {
	dt := DType(t.GetDataType())
	if !dt.known() {
		return nil, fmt.Errorf("%v is not a numeric type that can be read", dt)
	}
	if t.Segment != nil {
		return nil, errors.New("segmented tensors are not supported")
	}
	shape, err := checkShape(t.Dims)
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
	out := &Tensor{Shape: shape, DType: dt}
	if isRaw {
		if want := size(shape) * dtypes[dt].size; len(raw) != want {
			return nil, fmt.Errorf("%d bytes of data, but %v of type %v needs %d", len(raw), shape, dt, want)
		}
		err = out.setRaw(raw)
	} else {
		err = out.setFields(t)
	}
	if err != nil {
		return nil, err
	}
	if i := firstNonFinite(out.F32); i >= 0 {
		return nil, fmt.Errorf("element %d is %v", i, out.F32[i])
	}
	return out, nil
}

// setRaw decodes little-endian bytes, whose number fits the shape.
func (t *Tensor) setRaw(raw []byte) error {
	n := size(t.Shape)
	le := binary.LittleEndian
	if t.DType == Float {
		t.F32 = float32View(raw, n)
		return nil
	}
	if t.DType.IsFloat() {
		t.F32 = make([]float32, n)
		for i := range t.F32 {
			switch t.DType {
			case Double:
				t.F32[i] = float32(math.Float64frombits(le.Uint64(raw[8*i:])))
			case Float16:
				t.F32[i] = fromFloat16(le.Uint16(raw[2*i:]))
			case BFloat16:
				t.F32[i] = fromBFloat16(le.Uint16(raw[2*i:]))
			}
		}
		return nil
	}
	t.I64 = make([]int64, n)
	for i := range t.I64 {
		switch t.DType {
		case Int8:
			t.I64[i] = int64(int8(raw[i]))
		case Uint8:
			t.I64[i] = int64(raw[i])
		case Bool:
			if raw[i] > 1 {
				return fmt.Errorf("element %d of type bool is %d", i, raw[i])
			}
			t.I64[i] = int64(raw[i])
		case Int16:
			t.I64[i] = int64(int16(le.Uint16(raw[2*i:])))
		case Uint16:
			t.I64[i] = int64(le.Uint16(raw[2*i:]))
		case Int32:
			t.I64[i] = int64(int32(le.Uint32(raw[4*i:])))
		case Uint32:
			t.I64[i] = int64(le.Uint32(raw[4*i:]))
		case Int64:
			t.I64[i] = int64(le.Uint64(raw[8*i:]))
		case Uint64:
			v := le.Uint64(raw[8*i:])
			if v > math.MaxInt64 {
				return fmt.Errorf("element %d, %d, is beyond 63 bits", i, v)
			}
			t.I64[i] = int64(v)
		}
	}
	return nil
}

// setFields decodes the typed fields, which hold one entry an element.
func (t *Tensor) setFields(p *onnxpb.TensorProto) error {
	n := size(t.Shape)
	check := func(have int) error {
		if have != n {
			return fmt.Errorf("%d elements of data, but shape %v has %d", have, t.Shape, n)
		}
		return nil
	}
	switch t.DType {
	case Float:
		t.F32 = p.FloatData
		if t.F32 == nil {
			t.F32 = []float32{}
		}
		return check(len(p.FloatData))
	case Double:
		if err := check(len(p.DoubleData)); err != nil {
			return err
		}
		t.F32 = make([]float32, n)
		for i, v := range p.DoubleData {
			t.F32[i] = float32(v)
		}
	case Float16, BFloat16:
		if err := check(len(p.Int32Data)); err != nil {
			return err
		}
		t.F32 = make([]float32, n)
		for i, v := range p.Int32Data {
			if v < 0 || v > math.MaxUint16 {
				return fmt.Errorf("element %d, %d, is no 16-bit pattern", i, v)
			}
			if t.DType == Float16 {
				t.F32[i] = fromFloat16(uint16(v))
			} else {
				t.F32[i] = fromBFloat16(uint16(v))
			}
		}
	case Int64:
		t.I64 = p.Int64Data
		if t.I64 == nil {
			t.I64 = []int64{}
		}
		return check(len(p.Int64Data))
	case Uint32, Uint64:
		if err := check(len(p.Uint64Data)); err != nil {
			return err
		}
		t.I64 = make([]int64, n)
		for i, v := range p.Uint64Data {
			if v > math.MaxInt64 || t.DType == Uint32 && v > math.MaxUint32 {
				return fmt.Errorf("element %d, %d, is out of range for %v", i, v, t.DType)
			}
			t.I64[i] = int64(v)
		}
	default: // Bool and the integers of up to 32 bits
		if err := check(len(p.Int32Data)); err != nil {
			return err
		}
		lo, hi := intRange(t.DType)
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

// intRange returns the values that integer type d holds, as far as int64 does.
func intRange(d DType) (lo, hi int64) {
	switch d {
	case Bool:
		return 0, 1
	case Uint8, Uint16, Uint32:
		return 0, 1<<(8*dtypes[d].size) - 1
	case Uint64:
		return 0, math.MaxInt64
	case Int64:
		return math.MinInt64, math.MaxInt64
	}
	half := int64(1) << (8*dtypes[d].size - 1)
	return -half, half - 1
}

// littleEndian says whether floats in memory have the byte order of the format.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// float32View returns n little-endian floats, without a copy where the bytes
// are aligned.
func float32View(raw []byte, n int) []float32 {
	if n == 0 {
		return []float32{}
	}
	p := unsafe.Pointer(unsafe.SliceData(raw))
	if littleEndian && uintptr(p)%unsafe.Alignof(float32(0)) == 0 {
		return unsafe.Slice((*float32)(p), n)
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

// firstNonFinite returns the index of the first NaN or infinity, or −1.
func firstNonFinite(v []float32) int {
	for i, x := range v {
		if x-x != 0 { // 0 for finite x, NaN otherwise
			return i
		}
	}
	return -1
}

// fromBFloat16 widens a bfloat16 bit pattern.
func fromBFloat16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// fromFloat16 widens an IEEE 754 binary16 bit pattern.
func fromFloat16(b uint16) float32 {
	sign := uint32(b>>15) << 31
	exp, frac := uint32(b>>10)&31, uint32(b)&1023
	switch exp {
	case 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	case 0: // zero or subnormal: frac · 2^−24
		v := float32(frac) / (1 << 24)
		if sign != 0 {
			v = -v
		}
		return v
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
