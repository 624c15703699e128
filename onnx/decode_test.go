package onnx

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// TestDecode reads the same numbers from raw bytes and from typed fields.
func TestDecode(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		dt    graph.DType
		raw   []byte
		field *onnxpb.TensorProto
		want  []float64
	}{
		{graph.Float, le.AppendUint32(le.AppendUint32(nil, math.Float32bits(1.5)), math.Float32bits(-2)), &onnxpb.TensorProto{FloatData: []float32{1.5, -2}}, []float64{1.5, -2}},
		{graph.Double, le.AppendUint64(le.AppendUint64(nil, math.Float64bits(0.25)), math.Float64bits(-2)), &onnxpb.TensorProto{DoubleData: []float64{0.25, -2}}, []float64{0.25, -2}},
		// binary16: 1.5, the smallest subnormal, the largest number, −0.5.
		{graph.Float16, []byte{0, 0x3e, 1, 0, 0xff, 0x7b, 0, 0xb8}, &onnxpb.TensorProto{Int32Data: []int32{0x3e00, 1, 0x7bff, 0xb800}}, []float64{1.5, 0x1p-24, 65504, -0.5}},
		{graph.BFloat16, []byte{0xc0, 0x3f, 0, 0xc0}, &onnxpb.TensorProto{Int32Data: []int32{0x3fc0, 0xc000}}, []float64{1.5, -2}},
		{graph.Int8, []byte{0x80, 127}, &onnxpb.TensorProto{Int32Data: []int32{-128, 127}}, []float64{-128, 127}},
		{graph.Uint8, []byte{0, 255}, &onnxpb.TensorProto{Int32Data: []int32{0, 255}}, []float64{0, 255}},
		{graph.Bool, []byte{0, 1}, &onnxpb.TensorProto{Int32Data: []int32{0, 1}}, []float64{0, 1}},
		{graph.Int16, []byte{0, 0x80, 1, 0}, &onnxpb.TensorProto{Int32Data: []int32{-32768, 1}}, []float64{-32768, 1}},
		{graph.Uint16, []byte{0xff, 0xff, 1, 0}, &onnxpb.TensorProto{Int32Data: []int32{65535, 1}}, []float64{65535, 1}},
		{graph.Int32, []byte{0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0}, &onnxpb.TensorProto{Int32Data: []int32{-1, 1}}, []float64{-1, 1}},
		{graph.Uint32, []byte{0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0}, &onnxpb.TensorProto{Uint64Data: []uint64{1<<32 - 1, 1}}, []float64{1<<32 - 1, 1}},
		{graph.Int64, le.AppendUint64(nil, 1<<63), &onnxpb.TensorProto{Int64Data: []int64{math.MinInt64}}, []float64{-0x1p63}},
		{graph.Uint64, le.AppendUint64(nil, 1<<62), &onnxpb.TensorProto{Uint64Data: []uint64{1 << 62}}, []float64{0x1p62}},
	} {
		dims := []int64{int64(len(c.want))}
		raw := &onnxpb.TensorProto{DataType: int32(c.dt), Dims: dims, RawData: c.raw}
		c.field.DataType, c.field.Dims = int32(c.dt), dims
		for _, p := range []*onnxpb.TensorProto{raw, c.field} {
			got, err := refusal(decodeAlone, p)
			if err != nil {
				t.Errorf("%v: %v", c.dt, err)
			} else if !slices.Equal(got.Float64s(), c.want) || got.DType != c.dt {
				t.Errorf("%v: got %v, want %v", c.dt, got.Float64s(), c.want)
			}
			p.Dims[0]++
			if _, err := refusal(decodeAlone, p); err == nil {
				t.Errorf("%v: accepted one element too few", c.dt)
			}
			p.Dims[0]--
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		p    *onnxpb.TensorProto
		want string
	}{
		"strings":          {&onnxpb.TensorProto{DataType: 8}, "element type 8"},
		"complex":          {&onnxpb.TensorProto{DataType: 14}, "element type 14"},
		"no type":          {&onnxpb.TensorProto{}, "element type 0"},
		"segments":         {&onnxpb.TensorProto{DataType: 1, Segment: &onnxpb.TensorProto_Segment{}}, "segment"},
		"double too large": {&onnxpb.TensorProto{DataType: 11, Dims: []int64{1}, DoubleData: []float64{1e300}}, "beyond the range"},
		"raw double too large": {&onnxpb.TensorProto{DataType: 11, Dims: []int64{1},
			RawData: binary.LittleEndian.AppendUint64(nil, math.Float64bits(-1e300))}, "beyond the range"},
		"bool of 2":          {&onnxpb.TensorProto{DataType: 9, Dims: []int64{1}, RawData: []byte{2}}, "bool"},
		"int8 of 128":        {&onnxpb.TensorProto{DataType: 3, Dims: []int64{1}, Int32Data: []int32{128}}, "range"},
		"uint8 of −1":        {&onnxpb.TensorProto{DataType: 2, Dims: []int64{1}, Int32Data: []int32{-1}}, "range"},
		"uint32 of 2^32":     {&onnxpb.TensorProto{DataType: 12, Dims: []int64{1}, Uint64Data: []uint64{1 << 32}}, "range"},
		"uint64 of 2^63":     {&onnxpb.TensorProto{DataType: 13, Dims: []int64{1}, RawData: []byte{0, 0, 0, 0, 0, 0, 0, 0x80}}, "63 bits"},
		"half of 17 bits":    {&onnxpb.TensorProto{DataType: 10, Dims: []int64{1}, Int32Data: []int32{1 << 16}}, "16-bit"},
		"negative dimension": {&onnxpb.TensorProto{DataType: 1, Dims: []int64{-1}}, "negative"},
	} {
		if _, err := refusal(decodeAlone, c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", name, err, c.want)
		}
	}
}

// decodeAlone is decode without other files.
func decodeAlone(p *onnxpb.TensorProto) *graph.Tensor { return decode(p, (&source{}).external) }
